"""How every client of ours reaches the Kafka cluster, and asks it for topics."""

import ssl
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.helpers import create_ssl_context
from aiokafka.protocol.metadata import MetadataRequest

from worker.settings import Settings, SettingsError


def _creating_nothing(build: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(build)
    def built(request: Any, version: Any) -> Any:
        request._allow_auto_topic_creation = False
        return build(request, version)

    return built


# A broker with auto.create.topics.enable makes a topic of whatever a client asks for by name, and every producer,
# consumer and admin client of aiokafka asks, also by itself and again and again. They have no option for it, but all
# of them ask with this request; tests/contract/test_asking.py fails if one does not.
MetadataRequest.build = _creating_nothing(MetadataRequest.build)

_ANSWER_WITHIN_MS: Final = 5_000


class KafkaAwayError(KafkaConnectionError):  # type: ignore[misc]
    """No broker answers, or none lets us in; the sentence names the settings to look at."""

    def __str__(self) -> str:
        return str(self.args[0])


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


async def reach(settings: Settings) -> None:
    """See that a Kafka broker answers at one of the addresses, within seconds for each.

    Clients of aiokafka wait for an answer as long as for that to any request, so that another server at the address is
    a long silence. Raises KafkaAwayError with what happened at each address.
    """
    options = kafka_client_options(settings)
    failures = []
    for host, port, _ in collect_hosts(options.pop("bootstrap_servers")):
        try:
            connection = await create_conn(host, port, **options, request_timeout_ms=_ANSWER_WITHIN_MS)
        except TimeoutError:
            failures.append(f"{host}:{port} (no answer as Kafka gives it within {_ANSWER_WITHIN_MS // 1000} s)")
        except (OSError, KafkaError) as error:
            failures.append(f"{host}:{port} ({error})")
        else:
            await connection.close()
            return
    raise KafkaAwayError(
        f"No Kafka broker can be reached at {', '.join(failures)}: start it, or see to "
        "RATINGS_KAFKA_BOOTSTRAP and RATINGS_KAFKA_SECURITY_PROTOCOL."
    )


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
