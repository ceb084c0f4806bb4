"""Settings of one listener, `listener.name.NAME.SETTING` (core/config/listener_names.py, broker_config.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.listener_names import of_listener, prefixes_of
from fakebroker.core.errors import ConfigError

PREFIX = "listener.name.sasl_ssl."


def test_a_name_has_a_listener_and_what_it_may_hide() -> None:
    assert of_listener("max.connections") is None
    setting = of_listener(f"{PREFIX}plain.sasl.jaas.config")
    assert setting is not None
    assert (setting.listener, setting.settings[1]) == ("sasl_ssl", "sasl.jaas.config")
    assert prefixes_of("SASL_SSL", "SCRAM-SHA-256") == [PREFIX, f"{PREFIX}scram-sha-256."]


def test_the_nearest_setting_counts() -> None:
    configs = DynamicBrokerConfig(
        BrokerConfig()
        .with_text(
            {
                "connections.max.reauth.ms": "1",
                f"{PREFIX}connections.max.reauth.ms": "2",
                f"{PREFIX}plain.connections.max.reauth.ms": "3",
            }
        )
        .of_cluster(1)
    )
    assert configs.of_listener(1, "OTHER").connections_max_reauth_ms == 1
    assert configs.of_listener(1, "SASL_SSL").connections_max_reauth_ms == 2
    assert configs.of_listener(1, "SASL_SSL", "OAUTHBEARER").connections_max_reauth_ms == 2
    assert configs.of_listener(1, "SASL_SSL", "PLAIN").connections_max_reauth_ms == 3
    configs.alter({"sasl.enabled.mechanisms": "PLAIN"}, 1)
    assert configs.of_listener(1, "SASL_SSL").sasl_enabled_mechanisms == ("PLAIN",)


def test_a_login_module_counts_only_for_its_mechanism() -> None:
    texts = {"sasl.jaas.config": "a", f"{PREFIX}sasl.jaas.config": "b", f"{PREFIX}plain.sasl.jaas.config": "c"}
    configs = DynamicBrokerConfig(BrokerConfig().with_text(texts).of_cluster(1))
    assert configs.of_listener(1, "SASL_SSL").sasl_jaas_config is None
    assert configs.of_listener(1, "SASL_SSL", "OAUTHBEARER").sasl_jaas_config is None
    assert configs.of_listener(1, "SASL_SSL", "PLAIN").sasl_jaas_config == "c"


@pytest.mark.parametrize("name", ["listener.name.x.no.such.setting", "listener.name.x.", "listener.name."])
def test_an_unknown_setting_of_a_listener_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="Unknown configuration"):
        BrokerConfig().with_text({name: "1"})


def test_an_invalid_setting_of_a_listener_is_refused() -> None:
    with pytest.raises(ConfigError, match="Not a number"):
        BrokerConfig().with_text({f"{PREFIX}plain.connections.max.reauth.ms": "soon"})


def test_a_setting_of_a_listener_without_effect_is_told() -> None:
    without = f"{PREFIX}num.network.threads"
    read = ("sasl.enabled.mechanisms", "ssl.keystore.type", "ssl.principal.mapping.rules")
    texts = {without: "3", f"{PREFIX}ssl.client.auth": "required"} | {f"{PREFIX}{name}": "PEM" for name in read}
    assert BrokerConfig().with_text(texts).without_effect == [without]
