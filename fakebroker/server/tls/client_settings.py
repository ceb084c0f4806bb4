"""The settings with which a client of some library connects to a listener: `kafka.client_settings("confluent", "SSL")`.

Theory   Each library has its own names for the same facts. Those in Python get what their constructors take. For the
         others the settings are values of JSON: of kafkajs those of its constructor, of Java and librdkafka properties,
         of the Go libraries, which are configured in code, the facts by plain names.
Source   the reference of each library's settings.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from fakebroker.core.security.identity import Listener
from fakebroker.server.tls.certificates import PASSWORD, ClientCertificate
from fakebroker.server.tls.in_hand import Tls

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
_LOGIN_MODULES: Final = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_SCRAM_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Login(NamedTuple):
    """The authentication of a client: by a mechanism of SASL with a user and a password, by a certificate, or not at
    all."""

    mechanism: str = PLAIN
    user: str | None = None
    password: str | None = None
    certificate: ClientCertificate | None = None


class _Facts(NamedTuple):
    servers: str
    listener: Listener
    tls: Tls | None  # None without TLS
    login: Login

    @property
    def has_login(self) -> bool:
        return self.listener.has_sasl and self.login.user is not None


def client_settings(library: str, servers: str, listener: Listener, tls: Tls, login: Login) -> dict[str, Any]:
    """Return the settings for a library of `LIBRARIES`. Raises ValueError for another one, or without a user or
    password where the listener asks for them."""
    settings_of = LIBRARIES.get(library)
    if settings_of is None:
        raise ValueError(f"settings are known for {', '.join(LIBRARIES)}, not for {library!r}")
    if login.mechanism not in MECHANISMS:
        raise ValueError(f"a mechanism is {', '.join(MECHANISMS)}, not {login.mechanism!r}")
    if listener.has_sasl and None in (login.user, login.password) and login.mechanism != OAUTHBEARER:
        raise ValueError(f"the listener {listener.name} has SASL: give user and password")
    return settings_of(_Facts(servers, listener, tls if listener.has_tls else None, login))


def _java(facts: _Facts) -> dict[str, Any]:
    settings = {"bootstrap.servers": facts.servers, "security.protocol": facts.listener.security_protocol}
    if facts.tls is not None:
        settings["ssl.truststore.type"] = "PKCS12"
        settings["ssl.truststore.location"] = str(facts.tls.truststore)
        settings["ssl.truststore.password"] = PASSWORD
    if facts.tls is not None and (certificate := facts.login.certificate) is not None:
        settings["ssl.keystore.type"] = "PKCS12"
        settings["ssl.keystore.location"] = str(certificate.keystore)
        settings["ssl.keystore.password"] = PASSWORD
    if facts.listener.has_sasl:
        settings["sasl.mechanism"] = facts.login.mechanism
    if facts.has_login:
        module = _LOGIN_MODULES.get(facts.login.mechanism, _SCRAM_LOGIN_MODULE)
        user, password = _quoted(facts.login.user), _quoted(facts.login.password)
        settings["sasl.jaas.config"] = f"{module} required username={user} password={password};"
    return settings


def _quoted(text: str | None) -> str:
    escaped = (text or "").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _librdkafka(facts: _Facts) -> dict[str, Any]:
    settings = {"bootstrap.servers": facts.servers, "security.protocol": facts.listener.security_protocol}
    if facts.tls is not None:
        settings["ssl.ca.location"] = str(facts.tls.ca)
    if facts.tls is not None and (certificate := facts.login.certificate) is not None:
        settings["ssl.certificate.location"] = str(certificate.certificate)
        settings["ssl.key.location"] = str(certificate.key)
    if facts.listener.has_sasl:
        settings["sasl.mechanisms"] = facts.login.mechanism
    if facts.has_login:
        settings |= {"sasl.username": facts.login.user or "", "sasl.password": facts.login.password or ""}
    return settings


def _kafka_python(facts: _Facts) -> dict[str, Any]:
    settings: dict[str, Any] = _python(facts)
    if facts.tls is not None:
        settings["ssl_cafile"] = str(facts.tls.ca)
    if facts.tls is not None and (certificate := facts.login.certificate) is not None:
        settings |= {"ssl_certfile": str(certificate.certificate), "ssl_keyfile": str(certificate.key)}
    return settings


def _aiokafka(facts: _Facts) -> dict[str, Any]:
    settings = _python(facts)
    if facts.tls is not None:
        context = ssl.create_default_context(cafile=facts.tls.ca)
        if (certificate := facts.login.certificate) is not None:
            context.load_cert_chain(certificate.certificate, certificate.key)
        settings["ssl_context"] = context
    return settings


def _python(facts: _Facts) -> dict[str, Any]:
    settings = {"bootstrap_servers": facts.servers, "security_protocol": facts.listener.security_protocol}
    if facts.listener.has_sasl:
        settings["sasl_mechanism"] = facts.login.mechanism
    if facts.has_login:
        settings |= {
            "sasl_plain_username": facts.login.user or "",
            "sasl_plain_password": facts.login.password or "",
        }
    return settings


def _kafkajs(facts: _Facts) -> dict[str, Any]:
    settings: dict[str, Any] = {"brokers": facts.servers.split(",")}
    if facts.tls is not None:
        settings["ssl"] = {"ca": [facts.tls.ca.read_text()]}
        if (certificate := facts.login.certificate) is not None:
            settings["ssl"] |= {"cert": certificate.certificate.read_text(), "key": certificate.key.read_text()}
    if facts.has_login:
        login = facts.login
        mechanism = login.mechanism.lower()
        settings["sasl"] = {"mechanism": mechanism, "username": login.user, "password": login.password}
    return settings


def _go(facts: _Facts) -> dict[str, Any]:
    settings: dict[str, Any] = {"brokers": facts.servers.split(",")}
    if facts.tls is not None:
        settings["tls"] = {"ca_file": str(facts.tls.ca)}
        if (certificate := facts.login.certificate) is not None:
            settings["tls"] |= {"cert_file": str(certificate.certificate), "key_file": str(certificate.key)}
    if facts.has_login:
        login = facts.login
        settings["sasl"] = {"mechanism": login.mechanism, "username": login.user, "password": login.password}
    return settings


LIBRARIES: Final[Mapping[str, Callable[[_Facts], dict[str, Any]]]] = {
    "java": _java,
    "librdkafka": _librdkafka,
    "confluent": _librdkafka,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
    "kafkajs": _kafkajs,
    "franz-go": _go,
    "sarama": _go,
    "kafka-go": _go,
}
