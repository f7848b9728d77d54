import asyncio
import subprocess

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from worker.settings import Settings, SettingsError
from worker.stream.kafka import kafka_client_options


@pytest.fixture
def certificate(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:hunter2", "-days", "2"),
            *("-subj", "/CN=localhost", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    return cert, key


def test_without_login_and_certificates_only_the_brokers_are_named():
    assert kafka_client_options(Settings(kafka_bootstrap="a:1,b:2")) == {
        "bootstrap_servers": "a:1,b:2",
        "security_protocol": "PLAINTEXT",
    }


def test_every_kind_of_client_takes_the_options():
    login = {"kafka_sasl_mechanism": "SCRAM-SHA-512", "kafka_sasl_username": "ann", "kafka_sasl_password": "hunter2"}
    options = kafka_client_options(Settings(kafka_security_protocol="SASL_SSL", **login))
    assert options["sasl_plain_password"] == "hunter2"

    async def build():
        for kind in (AIOKafkaProducer, AIOKafkaConsumer, AIOKafkaAdminClient):
            kind(**options)

    asyncio.run(build())


def test_brokers_are_verified_by_certificate_and_name():
    context = kafka_client_options(Settings(kafka_security_protocol="SSL"))["ssl_context"]
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"


def test_an_encrypted_key_opens_with_its_password(certificate):
    cert, key = certificate
    files = {"kafka_ssl_ca_file": cert, "kafka_ssl_cert_file": cert, "kafka_ssl_key_file": key}
    kafka_client_options(Settings(kafka_security_protocol="SSL", kafka_ssl_key_password="hunter2", **files))
    with pytest.raises(SettingsError, match="RATINGS_KAFKA_SSL_KEY_PASSWORD"):
        kafka_client_options(Settings(kafka_security_protocol="SSL", **files))


def test_a_file_without_certificates_is_named(tmp_path):
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(SettingsError, match="RATINGS_KAFKA_SSL_CA_FILE is"):
        kafka_client_options(Settings(kafka_security_protocol="SSL", kafka_ssl_ca_file=tmp_path / "ca.pem"))
