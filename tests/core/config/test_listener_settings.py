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
    assert configs.of_listener(1, "SASL_SSL", "PLAIN").connections_max_reauth_ms == 3


def test_a_listener_keeps_the_settings_of_its_opening() -> None:
    configs = DynamicBrokerConfig(BrokerConfig().with_text({"connections.max.reauth.ms": "1"}).of_cluster(1))
    changes = {"sasl.enabled.mechanisms": "PLAIN", f"{PREFIX}connections.max.reauth.ms": "2"}
    configs.alter(changes, 1)
    before = configs.of_listener(1, "SASL_SSL")
    assert (before.sasl_enabled_mechanisms, before.connections_max_reauth_ms) == (("GSSAPI",), 1)
    assert configs.of_listener_now(1, "SASL_SSL").connections_max_reauth_ms == 2
    configs.open_listener(1, "SASL_SSL")
    after = configs.of_listener(1, "SASL_SSL")
    assert (after.sasl_enabled_mechanisms, after.connections_max_reauth_ms) == (("PLAIN",), 2)
    assert configs.of_listener(1, "OTHER").sasl_enabled_mechanisms == ("GSSAPI",)
    assert configs.of_listener(2, "SASL_SSL").connections_max_reauth_ms == 1
    configs.alter(dict.fromkeys(changes), 1)
    assert configs.of_listener(1, "SASL_SSL") == after
    configs.close_listener(1, "SASL_SSL")
    assert configs.of_listener(1, "SASL_SSL") == before


@pytest.mark.parametrize(
    "name", [name for name in BrokerConfig.SETTINGS if "store." in name or name == "ssl.key.password"]
)
def test_stores_are_those_of_now(name: str) -> None:
    """SslConfigs.RECONFIGURABLE_CONFIGS."""
    start = {f"{PREFIX}{name}": "start"}
    configs = DynamicBrokerConfig(BrokerConfig().with_text(start).of_cluster(1))
    attribute = BrokerConfig.SETTINGS[name].attribute

    def value() -> object:
        return vars(configs.of_listener(1, "SASL_SSL"))[attribute]

    assert value() == "start"
    configs.alter({f"{PREFIX}{name}": "new"}, 1)
    assert value() == "new"
    configs.alter({f"{PREFIX}{name}": None}, 1)
    assert value() == "start"


def test_a_login_module_counts_only_for_its_mechanism() -> None:
    texts = {"sasl.jaas.config": "a", f"{PREFIX}sasl.jaas.config": "b", f"{PREFIX}plain.sasl.jaas.config": "c"}
    configs = DynamicBrokerConfig(BrokerConfig().with_text(texts).of_cluster(1))
    assert configs.of_listener(1, "SASL_SSL").sasl_jaas_config is None
    assert configs.of_listener(1, "SASL_SSL", "OAUTHBEARER").sasl_jaas_config is None
    assert configs.of_listener(1, "SASL_SSL", "PLAIN").sasl_jaas_config == "c"


def test_a_callback_handler_counts_only_for_its_mechanism() -> None:
    """SaslChannelBuilder.createServerCallbackHandlers."""
    name = "sasl.server.callback.handler.class"
    texts = {name: "a", f"{PREFIX}{name}": "b", f"{PREFIX}oauthbearer.{name}": "c"}
    configs = DynamicBrokerConfig(BrokerConfig().with_text(texts).of_cluster(1))
    assert configs.of_listener(1, "SASL_SSL").sasl_server_callback_handler_class is None
    assert configs.of_listener(1, "SASL_SSL", "PLAIN").sasl_server_callback_handler_class is None
    assert configs.of_listener(1, "OTHER", "OAUTHBEARER").sasl_server_callback_handler_class is None
    assert configs.of_listener(1, "SASL_SSL", "OAUTHBEARER").sasl_server_callback_handler_class == "c"


def test_a_listener_with_sasl_asks_for_certificates_only_by_a_setting_of_its_own() -> None:
    """ChannelBuilders.create."""
    texts = {"ssl.client.auth": "required", "listener.name.own.ssl.client.auth": "requested"}
    configs = DynamicBrokerConfig(BrokerConfig().with_text(texts).of_cluster(1))
    assert configs.of_listener(1, "SASL_SSL", has_sasl=True).ssl_client_auth == "none"
    assert configs.of_listener(1, "SSL").ssl_client_auth == "required"
    assert configs.of_listener(1, "OWN", has_sasl=True).ssl_client_auth == "requested"


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
