"""Warnings about SASL settings that the cluster accepts, although they let no client in or have no effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from fakebroker.cluster.sasl.mechanisms import KNOWN
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.listener_names import of_listener
from fakebroker.core.security.sasl import plain
from fakebroker.core.security.sasl.jaas_config import parse_login_module

_MECHANISMS: Final = "sasl.enabled.mechanisms"
_JAAS: Final = "sasl.jaas.config"
_HANDLER: Final = "sasl.server.callback.handler.class"
_PACKAGE: Final = "org.apache.kafka.common.security"
_HANDLERS_OF_KAFKA: Final = (
    f"{_PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",  # before Kafka 4.0
    f"{_PACKAGE}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
    f"{_PACKAGE}.plain.internals.PlainServerCallbackHandler",
)
_KNOWN_NAMES: Final = ", ".join(KNOWN)


def doubtful_settings(config: BrokerConfig) -> Iterator[str]:
    """Yield a sentence for each such setting: it is probably a mistake. Every sasl.jaas.config must be valid."""
    if "sasl_enabled_mechanisms" in config.given:
        yield from _not_served(_MECHANISMS, config.sasl_enabled_mechanisms)
    if config.sasl_server_callback_handler_class is not None:
        yield _handler_without_mechanism(_HANDLER)
    for name, text in config.listener_texts.items():
        parts = of_listener(name)
        assert parts is not None
        setting, without_mechanism = parts.settings
        if setting == _MECHANISMS:
            yield from _not_served(name, [mechanism.strip() for mechanism in text.split(",") if mechanism.strip()])
        elif setting == _HANDLER:
            yield _handler_without_mechanism(name)
        elif without_mechanism == _JAAS:
            yield from _useless_login_module(name, setting.partition(".")[0], text)
        elif without_mechanism == _HANDLER and text not in _HANDLERS_OF_KAFKA:
            yield f"{name}: {text} is no handler of Kafka's brokers, and others are not loaded"


def _not_served(setting: str, mechanisms: Iterable[str]) -> Iterator[str]:
    if unknown := [mechanism for mechanism in mechanisms if mechanism not in KNOWN]:
        yield f"{setting}: {', '.join(unknown)} is not served, only {_KNOWN_NAMES}"


def _handler_without_mechanism(name: str) -> str:
    return f"{name} has no effect: a handler is set by listener.name.LISTENER.MECHANISM.{_HANDLER}"


def _useless_login_module(name: str, mechanism: str, text: str) -> Iterator[str]:
    if mechanism.upper() not in KNOWN:
        yield f"{name}: {mechanism} is not served, only {_KNOWN_NAMES.lower()}"
    elif mechanism.upper() == plain.MECHANISM and (module := parse_login_module(text).name) != plain.LOGIN_MODULE:
        yield f"{name}: only the users of {plain.LOGIN_MODULE} can log in, not those of {module}"
