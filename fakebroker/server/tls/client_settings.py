"""The settings with which a client of some library connects to a listener: `kafka.client_settings("confluent", "SSL")`.

Theory   Each library has its own names for the same facts. Those in Python get what their constructors take. For the
         others the settings are values of JSON: of kafkajs those of its constructor, of Java and librdkafka properties,
         of the Go libraries, which are configured in code, the facts by plain names.
Source   the reference of each library's settings.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from fakebroker.core.security.identity import Listener
from fakebroker.server.tls.certificates import PASSWORD, ClientCertificate
from fakebroker.server.tls.in_hand import Tls

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
AWS_MSK_IAM: Final = "AWS_MSK_IAM"
MECHANISMS: Final = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, AWS_MSK_IAM)
_LOGIN_MODULES: Final = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
_SCRAM_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_TOKEN_HANDLER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
# What a library calls for its tokens: a function or an object, which the user writes.
_PROVIDERS: Final = {
    "confluent": "oauth_cb",
    "librdkafka": "its callback for tokens",
    "kafka-python": "sasl_oauth_token_provider",
    "aiokafka": "sasl_oauth_token_provider",
}


class ClientLogin(NamedTuple):
    """The authentication of a client: by a mechanism of SASL with a user and a password, or a token, by a certificate,
    or not at all."""

    mechanism: str = PLAIN
    user: str | None = None
    password: str | None = None
    certificate: ClientCertificate | None = None
    token: str | None = None


class _Facts(NamedTuple):
    servers: str
    listener: Listener
    tls: Tls | None  # None without TLS
    login: ClientLogin
    token_file: Callable[[str], Path]

    @property
    def has_login(self) -> bool:
        return self.listener.has_sasl and self.login.user is not None


def client_settings(library: str, servers: str, listener: Listener, tls: Tls, login: ClientLogin) -> dict[str, Any]:
    """Return the settings for a library of `LIBRARIES`. Raises ValueError for another one, and without a user or
    password where the listener asks for them. Raises it also for a token that the library does not take as a
    setting."""
    settings_of = LIBRARIES.get(library)
    if settings_of is None:
        raise ValueError(f"settings are known for {', '.join(LIBRARIES)}, not for {library!r}")
    if login.mechanism not in MECHANISMS:
        raise ValueError(f"a mechanism is {', '.join(MECHANISMS)}, not {login.mechanism!r}")
    if login.mechanism == AWS_MSK_IAM and library != "franz-go":
        raise ValueError(f"{library} does not take access keys as settings: give them to its signer for {AWS_MSK_IAM}")
    if login.token is not None:
        _check_token(library, listener, login)
    if listener.has_sasl and None in (login.user, login.password) and login.mechanism != OAUTHBEARER:
        missing = "give user and password"
        if login.user is not None and login.mechanism != AWS_MSK_IAM:
            missing = f"{login.user!r} is no user with a known password, so give password"
        raise ValueError(f"the listener {listener.name} has SASL: {missing}")
    if not listener.has_sasl and (login.user, login.password) != (None, None):
        raise ValueError(f"user and password are for a listener with SASL, not for the listener {listener.name}")
    _check_certificate(listener, login.certificate)
    return settings_of(_Facts(servers, listener, tls if listener.has_tls else None, login, tls.token_file))


def _check_token(library: str, listener: Listener, login: ClientLogin) -> None:
    if login.mechanism != OAUTHBEARER or not listener.has_sasl:
        where = f"{login.mechanism} at the listener {listener.name}"
        raise ValueError(f"a token is for OAUTHBEARER at a listener with SASL, not for {where}")
    if library == "kafka-go":
        raise ValueError("kafka-go has no OAUTHBEARER: it takes a sasl.Mechanism of your own")
    if (setting := _PROVIDERS.get(library)) is not None:
        raise ValueError(f"{library} does not take a token as a setting: leave it out, and set {setting}")


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
    if facts.listener.has_sasl and facts.login.mechanism == OAUTHBEARER:
        settings |= _java_token(facts)
    elif facts.has_login:
        module = _LOGIN_MODULES.get(facts.login.mechanism, _SCRAM_LOGIN_MODULE)
        user, password = _quoted(facts.login.user), _quoted(facts.login.password)
        settings["sasl.jaas.config"] = f"{module} required username={user} password={password};"
    return settings


def _java_token(facts: _Facts) -> dict[str, Any]:
    """Java reads a token from a file, at a URL that the property `org.apache.kafka.sasl.oauthbearer.allowed.urls` of
    its JVM has to allow, since Kafka 4.0. For a user without a token it makes an unsecured one by itself."""
    login, module = facts.login, _LOGIN_MODULES[OAUTHBEARER]
    if login.token is not None:
        return {
            "sasl.jaas.config": f"{module} required;",
            "sasl.login.callback.handler.class": _TOKEN_HANDLER,
            "sasl.oauthbearer.token.endpoint.url": facts.token_file(login.token).as_uri(),
        }
    claim = "" if login.user is None else f" unsecuredLoginStringClaim_sub={_quoted(login.user)}"
    return {"sasl.jaas.config": f"{module} required{claim};"}


def _check_certificate(listener: Listener, certificate: object) -> None:
    if certificate is None:
        return
    if not isinstance(certificate, ClientCertificate):
        raise TypeError(f'certificate must be one of kafka.tls.client("alice"), not {certificate!r}')
    if not listener.has_tls:
        raise ValueError(f"a certificate is for a listener with TLS, not for the listener {listener.name}")


def _quoted(text: str | None) -> str:
    """Return the text in quotes, as Java's StreamTokenizer reads it back: on one line."""
    escaped = (text or "").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
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
    if (sasl := _sasl(facts.login)) and facts.listener.has_sasl:
        settings["sasl"] = sasl | {"mechanism": facts.login.mechanism.lower()}
    return settings


def _go(facts: _Facts) -> dict[str, Any]:
    settings: dict[str, Any] = {"brokers": facts.servers.split(",")}
    if facts.tls is not None:
        settings["tls"] = {"ca_file": str(facts.tls.ca)}
        if (certificate := facts.login.certificate) is not None:
            settings["tls"] |= {"cert_file": str(certificate.certificate), "key_file": str(certificate.key)}
    if (sasl := _sasl(facts.login)) and facts.listener.has_sasl:
        settings["sasl"] = sasl
    return settings


def _sasl(login: ClientLogin) -> dict[str, Any]:
    """Return mechanism and user, or mechanism and token; nothing without either."""
    if login.token is not None:
        return {"mechanism": login.mechanism, "token": login.token}
    if login.user is None:
        return {}
    return {"mechanism": login.mechanism, "username": login.user, "password": login.password}


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
