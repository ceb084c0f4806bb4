"""Settings of SASL that the cluster accepts, but that let no client in or have no effect: probably slips of the pen."""

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
_HANDLERS: Final = (
    f"{_PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler",  # before Kafka 4.0
    f"{_PACKAGE}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
    f"{_PACKAGE}.plain.internals.PlainServerCallbackHandler",
)
_NAMES: Final = ", ".join(KNOWN)


def doubtful_settings(config: BrokerConfig) -> Iterator[str]:
    """Return a sentence for each such setting. All login modules have to be readable."""
    if "sasl_enabled_mechanisms" in config.given:
        yield from _not_served(_MECHANISMS, config.sasl_enabled_mechanisms)
    if config.sasl_server_callback_handler_class is not None:
        yield _not_of_mechanism(_HANDLER)
    for name, text in config.listener_texts.items():
        parts = of_listener(name)
        assert parts is not None
        setting, without_mechanism = parts.settings
        if setting == _MECHANISMS:
            yield from _not_served(name, [mechanism.strip() for mechanism in text.split(",") if mechanism.strip()])
        elif setting == _HANDLER:
            yield _not_of_mechanism(name)
        elif without_mechanism == _JAAS:
            yield from _of_login_module(name, setting.partition(".")[0], text)
        elif without_mechanism == _HANDLER and text not in _HANDLERS:
            yield f"{name}: {text} is no handler of Kafka's brokers, and others are not loaded"


def _not_served(setting: str, mechanisms: Iterable[str]) -> Iterator[str]:
    if others := [mechanism for mechanism in mechanisms if mechanism not in KNOWN]:
        yield f"{setting}: {', '.join(others)} is not served, only {_NAMES}"


def _not_of_mechanism(name: str) -> str:
    return f"{name} has no effect: a handler is set by listener.name.LISTENER.MECHANISM.{_HANDLER}"


def _of_login_module(name: str, mechanism: str, text: str) -> Iterator[str]:
    if mechanism.upper() not in KNOWN:
        yield f"{name}: {mechanism} is not served, only {_NAMES.lower()}"
    elif mechanism.upper() == plain.MECHANISM and (module := parse_login_module(text).name) != plain.LOGIN_MODULE:
        yield f"{name}: only the users of {plain.LOGIN_MODULE} can log in, not those of {module}"
