"""Settings of SASL that let no client in are told at the start (cluster/sasl/doubtful_settings.py)."""

from __future__ import annotations

import pytest
from support.simulation import Simulation

from fakebroker.core.errors import ConfigError

_OF = "listener.name.sasl_plaintext"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_SERVED = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA256", f"SCRAM-SHA256 is not served, only {_SERVED}"),
        (f"{_OF}.sasl.enabled.mechanisms", "PLAIN, plain ", f"plain is not served, only {_SERVED}"),
        (f"{_OF}.plian.sasl.jaas.config", f"{_PLAIN} required;", f"plian is not served, only {_SERVED.lower()}"),
        (
            f"{_OF}.plain.sasl.jaas.config",
            'my.PlianLoginModule required user_a="b";',
            f"only the users of {_PLAIN} can log in, not those of my.PlianLoginModule",
        ),
        (
            f"{_OF}.oauthbearer.sasl.server.callback.handler.class",
            "org.foo.Bar",
            "org.foo.Bar is no handler of Kafka's brokers, and others are not loaded",
        ),
    ],
)
def test_a_slip_is_told(name: str, value: str, sentence: str) -> None:
    simulation = Simulation(brokers=1, config={name: value})
    simulation.settle()
    assert simulation.warnings == [f"{name}: {sentence}"]


@pytest.mark.parametrize("prefix", ["", f"{_OF}."])
def test_a_handler_of_no_mechanism_is_told(prefix: str) -> None:
    name = f"{prefix}sasl.server.callback.handler.class"
    simulation = Simulation(brokers=1, config={name: "my.Handler"})
    simulation.settle()
    form = "listener.name.LISTENER.MECHANISM.sasl.server.callback.handler.class"
    assert simulation.warnings == [f"{name} has no effect: a handler is set by {form}"]


def test_right_settings_are_not_told() -> None:
    config = {
        "sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-256, AWS_MSK_IAM",
        f"{_OF}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{_OF}.plain.sasl.jaas.config": f'{_PLAIN} required user_a="b";',
        f"{_OF}.oauthbearer.sasl.server.callback.handler.class": _HANDLER,
    }
    simulation = Simulation(brokers=1, config=config)
    simulation.settle()
    assert simulation.warnings == []


def test_a_login_module_that_cannot_be_read_is_told_with_its_setting() -> None:
    name = f"{_OF}.plain.sasl.jaas.config"
    with pytest.raises(ConfigError, match=f"{name}: JAAS config entry not terminated by semi-colon"):
        Simulation(brokers=1, config={name: f"{_PLAIN} required"})
