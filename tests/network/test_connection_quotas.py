"""The counts of max.connections and max.connections.per.ip, and the form of the overrides."""

from __future__ import annotations

import pytest

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.ip_overrides import normalized, parse_overrides
from fakebroker.core.errors import ConfigError
from fakebroker.network.connection_quotas import ConnectionQuotas


def test_an_address_has_its_maximum_and_the_broker_its_own() -> None:
    quotas = ConnectionQuotas()
    quotas.configure(4, 2, {"10.0.0.9": 1, "10.0.0.8": 0})
    assert [quotas.inc("10.0.0.1") for _ in range(3)] == [None, None, 2]
    assert [quotas.inc("10.0.0.9") for _ in range(2)] == [None, 1]
    assert quotas.inc("10.0.0.8") == 0
    assert (quotas.get("10.0.0.1"), quotas.get("10.0.0.9"), quotas.get("10.0.0.8"), quotas.total) == (2, 1, 0, 3)
    assert quotas.connection_slot_available()
    assert quotas.inc("10.0.0.2") is None
    assert not quotas.connection_slot_available()
    quotas.dec("10.0.0.1")
    assert quotas.connection_slot_available()
    assert quotas.inc("10.0.0.1") is None
    quotas.check_invariants()
    with pytest.raises(AssertionError, match=r"no connection from 10\.0\.0\.8"):
        quotas.dec("10.0.0.8")


def test_a_restart_keeps_the_rates_of_addresses_and_forgets_the_connections() -> None:
    quotas = ConnectionQuotas(num_samples=2)
    quotas.update_ip_connection_rate_quota("10.0.0.1", 1.0)

    def throttled() -> list[bool]:
        return [quotas.record_ip_connection_maybe_throttle("10.0.0.1", 0) > 0 for _ in range(4)]

    before = throttled()
    quotas.restart()
    assert throttled() == before
    assert (before[0], before[-1]) == (False, True)
    assert quotas.record_connection_and_get_throttle_time_ms(0) == 0


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ("", {}),
        ("127.0.0.1:200", {"127.0.0.1": 200}),
        (" 127.0.0.1:200 , 10.1.1.1:0,", {"127.0.0.1": 200, "10.1.1.1": 0}),
        ("::1:7", {"::1": 7}),
        ("[0:0:0:0:0:0:0:1]:7", {"::1": 7}),
        ("::ffff:10.0.0.1:7", {"10.0.0.1": 7}),
    ],
)
def test_overrides_as_kafka_writes_them(text: str, overrides: dict[str, int]) -> None:
    assert parse_overrides(text) == overrides


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.1:", "127.0.0.1:many", "localhost:3", ":3", "127.0.0.1:-1"])
def test_overrides_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match=r"max\.connections\.per\.ip\.overrides"):
        BrokerConfig().with_text({"max.connections.per.ip.overrides": text})


@pytest.mark.parametrize(
    ("address", "spelling"),
    [("::ffff:127.0.0.1", "127.0.0.1"), ("fe80::1%lo", "fe80::1"), ("0::1", "::1"), ("", ""), ("a socket", "a socket")],
)
def test_one_spelling_for_each_address(address: str, spelling: str) -> None:
    assert normalized(address) == spelling


def test_zero_connections_per_ip_needs_an_override() -> None:
    with pytest.raises(ConfigError, match="0 only if"):
        BrokerConfig().with_text({"max.connections.per.ip": "0"})
    BrokerConfig().with_text({"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "10.0.0.1:1"})


def test_the_settings_have_kafkas_defaults() -> None:
    config = BrokerConfig()
    assert config.max_connections == config.max_connections_per_ip == 2_147_483_647
    assert config.max_connections_per_ip_overrides == ""
    assert config.connections_max_idle_ms == 600_000
    assert (config.quota_window_num, config.quota_window_size_seconds) == (11, 1)


def test_the_settings_have_kafkas_names() -> None:
    config = BrokerConfig().with_text(
        {
            "max.connections": "7",
            "max.connections.per.ip": "6",
            "max.connections.per.ip.overrides": "10.0.0.1:5",
            "connections.max.idle.ms": "-1",
            "quota.window.num": "4",
            "quota.window.size.seconds": "3",
            "fakebroker.request.handler.time.us": "2",
        }
    )
    assert (config.max_connections, config.max_connections_per_ip, config.connections_max_idle_ms) == (7, 6, -1)
    assert (config.quota_window_num, config.quota_window_size_seconds) == (4, 3)
    assert config.fakebroker_request_handler_time_us == 2
