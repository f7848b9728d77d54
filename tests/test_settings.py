import os

import pytest
from pydantic import ValidationError

from worker.settings import Settings, SettingsError, load_settings, unknown_variables

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith("RATINGS_"):
            monkeypatch.delenv(name)


@pytest.fixture
def given(monkeypatch):
    def set_variables(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(f"RATINGS_{name}", str(value))

    return set_variables


def refusal() -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings()
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert SECRET not in sentence
    return sentence


def test_without_any_variable_everything_is_local():
    settings = load_settings()
    assert settings.kafka_bootstrap == "127.0.0.1:9092"
    assert settings.redis_url.get_secret_value() == "redis://127.0.0.1:6379/0"
    assert settings.kafka_security_protocol == "PLAINTEXT"
    assert (settings.group, settings.redis_namespace) == ("gammon-ratings", "ratings")
    assert (settings.batch_max, settings.retry_s) == (1000, 300)


def test_an_empty_variable_counts_as_unset(given):
    given(GROUP="", PARTITIONS="", POOLS_FILE="")
    assert load_settings() == Settings()


def test_a_topic_has_the_prefix_before_its_name(given):
    given(TOPIC_PREFIX="staging.")
    assert load_settings().topic("match-finished") == "staging.match-finished"


def test_settings_do_not_change():
    with pytest.raises(ValidationError):
        load_settings().group = "other"


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("KAFKA_BOOTSTRAP", "broker", "host:port"),
        ("KAFKA_BOOTSTRAP", "broker:9092,other:0", "host:port"),
        ("KAFKA_SECURITY_PROTOCOL", "TLS", "SASL_SSL"),
        ("KAFKA_SASL_MECHANISM", "GSSAPI", "SCRAM-SHA-512"),
        ("REDIS_NAMESPACE", "Ratings:", "a-z"),
        ("REDIS_NAMESPACE", "ratings\n", "a-z"),
        ("TOPIC_PREFIX", "a/b", "a-z"),
        ("GROUP", "my group", "a-z"),
        ("WEB_PORT", "70000", "port"),
        ("WEB_PORT", "tcp://10.0.0.7:8080", "enableServiceLinks: false"),
        ("PARTITIONS", "0", "1 to 10000"),
        ("REPLICATION", "three", "replicas"),
        ("BATCH_MAX", "0", "1 to 100000"),
        ("RETRY_S", "nan", "seconds"),
        ("RETRY_S", "-1", "seconds"),
        ("LOG_LEVEL", "loud", "warning"),
        ("LOG_FORMAT", "xml", "console"),
        ("POOLS_FILE", "/does/not/exist.toml", "can be read"),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_given_and_what_is_expected(given, variable, value, expected):
    given(**{variable: value})
    sentence = refusal()
    assert f"RATINGS_{variable} is {value!r}" in sentence
    assert expected in sentence


def test_upper_and_lower_case_do_not_matter_where_a_word_is_chosen(given):
    given(LOG_LEVEL="WARNING", KAFKA_SECURITY_PROTOCOL="ssl")
    settings = load_settings()
    assert (settings.log_level, settings.kafka_security_protocol) == ("warning", "SSL")


def test_a_wrong_redis_url_is_refused_without_showing_its_password(given):
    given(REDIS_URL=f"redis://:{SECRET}/x@cache:6379")
    assert refusal().startswith("RATINGS_REDIS_URL is wrong: ")


def test_two_redis_passwords_are_one_too_many(given):
    given(REDIS_URL=f"redis://:{SECRET}@cache:6379", REDIS_PASSWORD=SECRET)
    assert "RATINGS_REDIS_PASSWORD" in refusal()


def test_secrets_never_show_when_settings_are_printed(given):
    given(REDIS_URL=f"redis://:{SECRET}@cache:6379")
    assert SECRET not in repr(load_settings())


class TestSecretsInFiles:
    def test_a_secret_is_read_from_its_file_without_the_last_line_end(self, given, tmp_path):
        (tmp_path / "password").write_text(f"{SECRET}\n")
        given(REDIS_PASSWORD_FILE=tmp_path / "password")
        assert load_settings().redis_secret == SECRET

    def test_a_secret_may_not_be_given_twice(self, given, tmp_path):
        (tmp_path / "password").write_text(SECRET)
        given(REDIS_PASSWORD_FILE=tmp_path / "password", REDIS_PASSWORD=SECRET)
        assert "RATINGS_REDIS_PASSWORD_FILE" in refusal()

    def test_a_missing_file_is_named(self, given, tmp_path):
        given(KAFKA_SASL_PASSWORD_FILE=tmp_path / "gone")
        assert str(tmp_path / "gone") in refusal()


LOGIN = {"KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SASL_USERNAME": "ann", "KAFKA_SASL_PASSWORD": SECRET}


class TestKafkaLogin:
    def test_is_never_sent_unencrypted_unless_that_is_asked_for_by_name(self, given):
        given(**LOGIN)
        assert "SASL_PLAINTEXT" in refusal()

    def test_may_be_sent_unencrypted_on_demand(self, given):
        given(**LOGIN, KAFKA_SECURITY_PROTOCOL="SASL_PLAINTEXT")
        assert load_settings().kafka_sasl_username == "ann"

    @pytest.mark.parametrize("missing", LOGIN)
    def test_must_be_complete(self, given, missing):
        given(**{name: value for name, value in LOGIN.items() if name != missing})
        given(KAFKA_SECURITY_PROTOCOL="SASL_SSL")
        assert refusal().startswith(f"RATINGS_{missing} must be set too")

    @pytest.mark.parametrize("present", LOGIN)
    def test_means_nothing_without_a_protocol_that_uses_it(self, given, present):
        given(**{present: LOGIN[present]}, KAFKA_SECURITY_PROTOCOL="SSL")
        assert f"RATINGS_{present} must not be set" in refusal()


class TestKafkaCertificates:
    def test_are_refused_on_a_plaintext_connection(self, given, tmp_path):
        (tmp_path / "ca.pem").write_text("")
        given(KAFKA_SSL_CA_FILE=tmp_path / "ca.pem")
        assert "RATINGS_KAFKA_SSL_CA_FILE must not be set" in refusal()

    def test_a_key_needs_its_certificate(self, given, tmp_path):
        (tmp_path / "key.pem").write_text("")
        given(KAFKA_SSL_KEY_FILE=tmp_path / "key.pem", KAFKA_SECURITY_PROTOCOL="SSL")
        assert "RATINGS_KAFKA_SSL_CERT_FILE" in refusal()


class TestUnknownVariables:
    def test_a_misspelt_one_is_told_with_what_was_probably_meant(self):
        assert unknown_variables({"RATINGS_REDIS_ULR": "x"}) == [
            "RATINGS_REDIS_ULR is not a setting; did you mean RATINGS_REDIS_URL?"
        ]

    def test_what_kubernetes_sets_for_services_is_left_alone(self):
        services = ("RATINGS_WORKER_PORT", "RATINGS_WORKER_SERVICE_HOST", "RATINGS_WORKER_PORT_8080_TCP_ADDR")
        assert unknown_variables(dict.fromkeys(services, "tcp://10.0.0.7:8080")) == []

    def test_settings_and_files_of_secrets_are_known(self):
        assert unknown_variables({"RATINGS_REDIS_URL": "", "RATINGS_REDIS_PASSWORD_FILE": "", "PATH": ""}) == []
