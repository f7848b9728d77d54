"""Every setting of the program, from environment variables that begin with RATINGS_."""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from worker.tables.url import ConnectionUrlError, parse_url

PREFIX = "RATINGS_"
_FROM_FILE = ("redis_url", "redis_password", "kafka_sasl_password", "kafka_ssl_key_password")
_SERVICE = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_[0-9]+_(TCP|UDP)")
_BROKER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


class SettingsError(Exception):
    """A setting is wrong: one sentence that names the variable, what it is (never a secret) and what it must be."""


def _brokers(text: str) -> str:
    brokers = [part.strip() for part in text.split(",")]
    for broker in brokers:
        match = _BROKER.fullmatch(broker)
        if not match or not 1 <= int(match[2]) <= 65535:
            raise ValueError(broker)
    return ",".join(brokers)


def _readable(path: Path) -> Path:
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ValueError(path)
    return path


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


_File = Annotated[Path, AfterValidator(_readable)]


class Settings(BaseSettings):
    """All settings, checked; the description of each says what it must be. An empty variable counts as unset."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    kafka_bootstrap: Annotated[str, AfterValidator(_brokers)] = Field(
        "127.0.0.1:9092", description="host:port of a broker, or several separated by commas"
    )
    kafka_security_protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT"], BeforeValidator(_upper)
    ] = Field("PLAINTEXT", description="PLAINTEXT, SSL, SASL_SSL or SASL_PLAINTEXT")
    kafka_sasl_mechanism: (
        Annotated[Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], BeforeValidator(_upper)] | None
    ) = Field(None, description="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
    kafka_sasl_username: str | None = Field(None, description="the user's name")
    kafka_sasl_password: SecretStr | None = Field(None, description="the user's password")
    kafka_ssl_ca_file: _File | None = Field(None, description="a file that can be read, with PEM certificates to trust")
    kafka_ssl_cert_file: _File | None = Field(None, description="a file that can be read, with our PEM certificate")
    kafka_ssl_key_file: _File | None = Field(
        None, description="a file that can be read, with our certificate's PEM key"
    )
    kafka_ssl_key_password: SecretStr | None = Field(None, description="the password of our certificate's key")

    redis_url: SecretStr = Field(
        SecretStr("redis://127.0.0.1:6379/0"),
        description="redis://host:port/db, redis+sentinel://host:port,…/service or redis+cluster://host:port,…",
    )
    redis_password: SecretStr | None = Field(None, description="the password, where it is not in the URL")
    require_aof: bool = Field(False, description="1 to refuse a Redis without an append-only file, or 0")
    redis_namespace: str = Field(
        "ratings", pattern=r"^[a-z0-9-]{1,64}\z", description="1 to 64 of a-z, 0-9 and -, the prefix of every Redis key"
    )

    pools_file: _File | None = Field(None, description="a pools file that can be read")
    topics_file: _File | None = Field(None, description="a topics file that can be read")
    topic_prefix: str = Field(
        "", pattern=r"^[A-Za-z0-9._-]{0,100}\z", description="up to 100 of a-z, A-Z, 0-9, . _ and -"
    )
    partitions: int | None = Field(None, ge=1, le=10_000, description="a number of partitions from 1 to 10000")
    replication: int | None = Field(None, ge=1, le=100, description="a number of replicas from 1 to 100")
    group: str = Field(
        "gammon-ratings", pattern=r"^[A-Za-z0-9._-]{1,249}\z", description="1 to 249 of a-z, A-Z, 0-9, . _ and -"
    )

    web_host: str = Field("127.0.0.1", pattern=r"^\S+\z", description="an address to listen on")
    web_port: int = Field(8080, ge=0, le=65535, description="a port from 1 to 65535, or 0 for no web server")
    batch_max: int = Field(1000, ge=1, le=100_000, description="a number of events from 1 to 100000")
    retry_s: float = Field(
        300, gt=0, le=86_400, allow_inf_nan=False, description="seconds, more than 0 and at most 86400"
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = Field(
        "info", description="debug, info, warning or error"
    )
    log_format: Annotated[Literal["json", "console"], BeforeValidator(_lower)] = Field(
        "json", description="json or console"
    )

    def topic(self, name: str) -> str:
        """Return the real name of a topic of the contract, e.g. `match-finished`."""
        return self.topic_prefix + name

    @property
    def redis_secret(self) -> str | None:
        """The password that is kept outside the URL, for `connect`."""
        return self.redis_password.get_secret_value() if self.redis_password else None

    @model_validator(mode="before")
    @classmethod
    def _read_secrets(cls, values: dict[str, Any]) -> dict[str, Any]:
        values = dict(values)
        for name in _FROM_FILE:
            path = os.environ.get(_variable(f"{name}_file"))
            if not path:
                continue
            if values.get(name):
                raise _wrong(f"{_variable(name)} and {_variable(name)}_FILE are both set: keep one of them.")
            try:
                values[name] = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, ValueError):
                raise _wrong(f"{_variable(name)}_FILE is '{path}', but must be a text file that can be read.") from None
        return values

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_redis(self)
        _check_sasl(self)
        _check_tls(self)
        return self


def load_settings() -> Settings:
    """Return the settings that the environment gives; raise SettingsError on the first that is wrong."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError(_sentence(error.errors()[0])) from None


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each RATINGS_ variable that looks like a misspelt setting.

    Others are left alone, for Kubernetes sets such variables for every Service named ratings-….
    """
    known = [_variable(name) for name in (*Settings.model_fields, *(f"{name}_file" for name in _FROM_FILE))]
    sentences = []
    for variable, value in sorted(environment.items()):
        of_a_service = _SERVICE.search(variable) or value.startswith(("tcp://", "udp://"))
        if variable.upper().startswith(PREFIX) and variable.upper() not in known and not of_a_service:
            near = difflib.get_close_matches(variable.upper(), known, n=1, cutoff=0.85)
            sentences += [f"{variable} is not a setting; did you mean {name}?" for name in near]
    return sentences


def _check_redis(settings: Settings) -> None:
    try:
        target = parse_url(settings.redis_url.get_secret_value())
    except ConnectionUrlError as error:
        raise _wrong(f"RATINGS_REDIS_URL is wrong: {error}.") from None
    if target.password and settings.redis_password:
        raise _wrong("RATINGS_REDIS_PASSWORD is set, but RATINGS_REDIS_URL holds a password too: keep one of them.")


def _check_sasl(settings: Settings) -> None:
    protocol = settings.kafka_security_protocol
    parts = ("kafka_sasl_mechanism", "kafka_sasl_username", "kafka_sasl_password")
    given = [name for name in parts if getattr(settings, name)]
    if protocol.startswith("SASL_"):
        missing = [name for name in parts if name not in given]
        if missing:
            raise _wrong(f"{_names(missing)} must be set too, for RATINGS_KAFKA_SECURITY_PROTOCOL is {protocol}.")
    elif given:
        raise _wrong(
            f"{_names(given)} must not be set while RATINGS_KAFKA_SECURITY_PROTOCOL is {protocol}: "
            "set that to SASL_SSL, or, to send the login unencrypted, to SASL_PLAINTEXT."
        )


def _check_tls(settings: Settings) -> None:
    protocol = settings.kafka_security_protocol
    files = ("kafka_ssl_ca_file", "kafka_ssl_cert_file", "kafka_ssl_key_file", "kafka_ssl_key_password")
    given = [name for name in files if getattr(settings, name)]
    if given and protocol not in ("SSL", "SASL_SSL"):
        raise _wrong(
            f"{_names(given)} must not be set while RATINGS_KAFKA_SECURITY_PROTOCOL is {protocol}: "
            "set that to SSL or SASL_SSL."
        )
    if settings.kafka_ssl_key_file and not settings.kafka_ssl_cert_file:
        raise _wrong("RATINGS_KAFKA_SSL_CERT_FILE must be set too, for RATINGS_KAFKA_SSL_KEY_FILE is.")


def _wrong(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{sentence}", {"sentence": sentence})


def _sentence(error: ErrorDetails) -> str:
    if error["type"] == "setting":
        return error["msg"]
    name = str(error["loc"][0])
    field = Settings.model_fields[name]
    given = error["input"]
    secret = "SecretStr" in str(field.annotation)
    shown = "" if secret else f" is {given!r}, but"
    hint = ""
    if isinstance(given, str) and given.startswith("tcp://"):
        hint = " (Kubernetes sets it so for a Service of that name: set enableServiceLinks: false)"
    return f"{_variable(name)}{shown} must be {field.description}{hint}."


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _names(names: Iterable[str]) -> str:
    return " and ".join(_variable(name) for name in names)
