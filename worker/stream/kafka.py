"""How every client of ours reaches the Kafka cluster."""

import ssl
from typing import Any

from aiokafka.helpers import create_ssl_context

from worker.settings import Settings, SettingsError


def kafka_client_options(settings: Settings) -> dict[str, Any]:
    """Return the keyword arguments that any aiokafka producer, consumer or admin client needs to reach the brokers.

    Raises SettingsError where the certificate files do not hold what they should.
    """
    options: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap,
        "security_protocol": settings.kafka_security_protocol,
    }
    if settings.kafka_security_protocol in ("SSL", "SASL_SSL"):
        options["ssl_context"] = _ssl_context(settings)
    if settings.kafka_sasl_mechanism and settings.kafka_sasl_password:
        options["sasl_mechanism"] = settings.kafka_sasl_mechanism
        options["sasl_plain_username"] = settings.kafka_sasl_username
        options["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return options


def _ssl_context(settings: Settings) -> ssl.SSLContext:
    secret = settings.kafka_ssl_key_password
    # An empty password, because with none OpenSSL would ask on the terminal for that of an encrypted key.
    password = secret.get_secret_value() if secret else ""
    ca, cert, key = settings.kafka_ssl_ca_file, settings.kafka_ssl_cert_file, settings.kafka_ssl_key_file
    try:
        context: ssl.SSLContext = create_ssl_context(cafile=str(ca) if ca else None)
    except OSError as error:
        raise SettingsError(f"RATINGS_KAFKA_SSL_CA_FILE is '{ca}', but must hold PEM certificates ({error}).") from None
    if cert:
        try:
            context.load_cert_chain(cert, key, password)
        except OSError as error:
            raise SettingsError(
                f"RATINGS_KAFKA_SSL_CERT_FILE is '{cert}', but must hold a PEM certificate whose key is in "
                f"RATINGS_KAFKA_SSL_KEY_FILE, opened by RATINGS_KAFKA_SSL_KEY_PASSWORD ({error})."
            ) from None
    return context
