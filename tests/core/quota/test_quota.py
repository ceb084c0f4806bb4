"""Quotas of a client: the one that applies, the clients that share its sum, and the duration of a violation."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rate_model import event_lists, model

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.core.quota.client_quotas import ClientQuotas
from fakebroker.core.quota.quota import DEFAULT, ClientQuotaManager, QuotaEntity, QuotaManagers
from fakebroker.protocol.error_code import ErrorCode

# Section 9.2, first match wins.
PRECEDENCE = [
    QuotaEntity("u", "c"),
    QuotaEntity("u", DEFAULT),
    QuotaEntity("u", None),
    QuotaEntity(DEFAULT, "c"),
    QuotaEntity(DEFAULT, DEFAULT),
    QuotaEntity(DEFAULT, None),
    QuotaEntity(None, "c"),
    QuotaEntity(None, DEFAULT),
]


def manager_with(bounds: dict[QuotaEntity, float], cap_ms: int | None = None) -> ClientQuotaManager:
    manager = ClientQuotaManager(11, 1000, cap_ms)
    for entity, bound in bounds.items():
        manager.update_quota(entity, bound)
    return manager


def record(manager: ClientQuotaManager, value: float, at_ms: int = 0, user: str = "u", client_id: str = "c") -> int:
    return manager.maybe_record_and_get_throttle_time_ms(user, client_id, value, 5_000_000 + at_ms)


@pytest.mark.parametrize("present", list(product([False, True], repeat=8)))
def test_the_first_entity_that_has_a_quota_decides(present: tuple[bool, ...]) -> None:
    manager = manager_with({entity: rank + 1.0 for rank, entity in enumerate(PRECEDENCE) if present[rank]})
    expected = next((rank + 1.0 for rank in range(8) if present[rank]), None)
    assert manager.quota("u", "c") == expected


@pytest.mark.parametrize("removed", range(8))
def test_what_is_removed_leaves_the_next(removed: int) -> None:
    manager = manager_with({entity: rank + 1.0 for rank, entity in enumerate(PRECEDENCE)})
    for entity in PRECEDENCE[: removed + 1]:
        manager.update_quota(entity, None)
    assert manager.quota("u", "c") == (removed + 2.0 if removed < 7 else None)
    assert manager.quotas_enabled


# (entity, does another client of the same user share the sum, does the same client id of another user)
SHARING = [
    (QuotaEntity("u", "c"), False, False),
    (QuotaEntity("u", DEFAULT), False, False),
    (QuotaEntity("u", None), True, False),
    (QuotaEntity(DEFAULT, DEFAULT), False, False),
    (QuotaEntity(DEFAULT, None), True, False),
    (QuotaEntity(None, "c"), False, True),
    (QuotaEntity(None, DEFAULT), False, True),
]


@pytest.mark.parametrize(("entity", "by_user", "by_client_id"), SHARING)
def test_which_clients_share_a_quota(entity: QuotaEntity, by_user: bool, by_client_id: bool) -> None:
    """10 000 bytes of another client, and then 5000 of ours with 1000 bytes per second. Alone, ours are below the
    quota."""
    others: tuple[tuple[dict[str, Any], bool], ...] = (
        ({"client_id": "other"}, by_user),
        ({"user": "other"}, by_client_id),
    )
    for other, shared in others:
        manager = manager_with({entity: 1_000.0})
        record(manager, 10_000, **other)
        assert (record(manager, 5_000) > 0) == shared


def test_an_empty_client_id_has_no_quota_of_its_own_not_even_the_default() -> None:
    manager = manager_with({QuotaEntity(None, DEFAULT): 1.0})
    assert manager.quota("u", "other") == 1.0
    assert manager.quota("u", "") is None
    manager.update_quota(QuotaEntity("u", DEFAULT), 2.0)
    assert manager.quota("u", "") is None
    manager.update_quota(QuotaEntity("u", DEFAULT), None)
    manager.update_quota(QuotaEntity("u", None), 3.0)
    assert manager.quota("u", "") == 3.0


@pytest.mark.parametrize(
    ("somebody_else", "mine"),
    [
        (QuotaEntity("other", None), QuotaEntity("u", None)),
        (QuotaEntity("u", "other"), QuotaEntity("u", "c")),
        (QuotaEntity(None, "other"), QuotaEntity(None, "c")),
    ],
)
def test_while_there_is_one_kind_of_quota_use_counts_by_that_kind_also_without_a_bound(
    somebody_else: QuotaEntity, mine: QuotaEntity
) -> None:
    manager = manager_with({somebody_else: 1.0})
    assert record(manager, 10_000) == 0
    manager.update_quota(mine, 1_000.0)
    assert record(manager, 5_000) == 5_000


# Bound in bytes per second, (at ms, bytes), throttle time of the last: by hand.
THROTTLED = [
    (100, [(0, 1_000)], 0),  # 100/s, not above
    (100, [(0, 1_001)], 10),  # 100.1/s: 0.1 / 100 x 10 000 ms
    (100, [(0, 1_500)], 5_000),  # 150/s: 50 / 100 x 10 000
    (100, [(0, 1_500), (5_000, 1_500)], 20_000),  # 3000 in 5 + 5 windows: 300/s
    (100, [(0, 1_500), (500, 0)], 4_500),  # 1500 / 10.5 s = 142.857/s: 0.42857 x 10 500
    (100, [(0, 1_500), (5_000, 0)], 5_000),  # the window is 10 s again
    (100, [(0, 1_500), (11_000, 0)], 0),
    (1_000, [(0, 10_000), (999, 1_000)], 1),  # 11 000 / 10.999 s = 1000.09/s
    (3, [(0, 31)], 333),  # 3.1/s: 0.0333.. x 10 000 = 333.3
    (3, [(0, 32)], 667),  # 666.7 rounds up
    (20_000, [(0, 200_009)], 0),  # 0.45 ms rounds down: violated, not throttled
    (20_000, [(0, 200_010)], 1),  # 0.5 ms rounds up
]


@pytest.mark.parametrize(("bound", "events", "expected_ms"), THROTTLED)
def test_throttle_times_by_hand(bound: float, events: list[tuple[int, float]], expected_ms: int) -> None:
    manager = manager_with({QuotaEntity(None, "c"): bound})
    assert [record(manager, value, at_ms) for at_ms, value in events][-1] == expected_ms


def test_a_throttle_time_of_more_than_25_days_wraps_as_kafkas_to_int_does() -> None:
    manager = manager_with({QuotaEntity(None, "c"): 1.0})
    assert record(manager, 3_000_000) == 2_999_990_000 - 2**32  # negative: not throttled
    manager = manager_with({QuotaEntity(None, "c"): 5e-324})
    assert record(manager, 1e9) == -1  # Math.round stops at Long.MAX_VALUE


def test_the_request_quota_is_capped_at_one_window() -> None:
    manager = manager_with({QuotaEntity(None, "c"): 5.0}, cap_ms=1000)
    assert record(manager, 52.5) == 500
    assert record(manager, 50.0) == 1000


def test_nothing_is_recorded_before_the_first_quota() -> None:
    manager = ClientQuotaManager(11, 1000)
    record(manager, 10**9)
    assert not manager.quotas_enabled
    manager.update_quota(QuotaEntity(None, "c"), 100)
    assert record(manager, 1_000, 1) == 0


def test_a_changed_quota_holds_for_what_was_recorded_before() -> None:
    manager = manager_with({QuotaEntity(None, "c"): 1_000.0})
    assert record(manager, 1_500) == 0
    manager.update_quota(QuotaEntity(None, "c"), 100.0)
    assert record(manager, 0) == 5_000
    manager.update_quota(QuotaEntity(None, "c"), None)
    assert record(manager, 10**9) == 0


def test_clients_that_come_once_are_forgotten_after_an_hour() -> None:
    manager = manager_with({QuotaEntity(None, DEFAULT): 100.0})
    for number in range(1_024):
        record(manager, 1, 0, client_id=f"early {number}")
    record(manager, 1, 3_600_001, client_id="late")
    assert len(manager._sensors) == 1


@given(event_lists, st.floats(0.5, 1e9), st.integers(1, 12), st.sampled_from([1000, 3000]))
def test_the_throttle_time_is_kafkas_formula(
    moves: list[tuple[int, float]], bound: float, samples: int, window_ms: int
) -> None:
    manager = ClientQuotaManager(samples, window_ms)
    manager.update_quota(QuotaEntity(None, "c"), bound)
    now_ms, events, last = 0, [], 0
    for step_ms, value in moves:
        now_ms += step_ms
        events.append((now_ms, value))
        last = record(manager, value, now_ms)
    rate, size_ms = model(events, samples, window_ms)
    expected = 0 if rate <= bound else int((rate - bound) / bound * size_ms + 0.5)
    assert last == (expected if expected < 2**31 else (expected + 2**31) % 2**32 - 2**31)


def test_both_quotas_of_a_broker_are_recorded_and_the_longer_time_counts() -> None:
    brokers = QuotaManagers(BrokerConfig(fakebroker_request_handler_time_us=525_000))  # 52.5 % of a second
    quotas = ClientQuotas(lambda: [brokers], BrokerConfig())
    quotas.alter(QuotaEntity(None, "c"), {"request_percentage": 5.0})
    assert brokers.record_and_get_throttle_time_ms("ANONYMOUS", "c", 1_010, None, True, 0) == 500
    quotas.alter(QuotaEntity(None, "d"), {"request_percentage": 5.0, "producer_byte_rate": 100})
    assert brokers.record_and_get_throttle_time_ms("ANONYMOUS", "d", 1_010, None, True, 0) == 500
    quotas.alter(QuotaEntity(None, "e"), {"request_percentage": 5.0, "producer_byte_rate": 100})
    assert brokers.record_and_get_throttle_time_ms("ANONYMOUS", "e", 1_100, None, True, 0) == 1_000
    quotas.alter(QuotaEntity(None, "f"), {"request_percentage": 5.0, "producer_byte_rate": 100})
    assert brokers.record_and_get_throttle_time_ms("ANONYMOUS", "f", 1_010, None, False, 0) == 100
    assert brokers.record_and_get_throttle_time_ms("ANONYMOUS", "f", None, None, False, 0) == 0


ALL = QuotaEntity("ANONYMOUS", None)
REFUSED: list[tuple[QuotaEntity, dict[str, float | None], str]] = [
    (QuotaEntity(None, None), {"producer_byte_rate": 1}, "Invalid empty client quota entity"),
    (ALL, {"consumer_byte_rat": 1}, "Invalid configuration key consumer_byte_rat"),
    (ALL, {"producer_byte_rate": 0}, "Quota producer_byte_rate must be greater than 0"),
    (ALL, {"request_percentage": -0.1}, "Quota request_percentage must be greater than 0"),
    (ALL, {"request_percentage": float("nan")}, "Quota request_percentage must be a finite number"),
    (ALL, {"producer_byte_rate": 1.5}, "producer_byte_rate cannot be a fractional value"),
    (ALL, {"producer_byte_rate": 2**64}, "too large for a LONG"),
    (ALL, {"consumer_byte_rate": 2**64}, "too large for a LONG"),
    (ALL, {"request_percentage": 5, "producer_byte_rate": -1}, "producer_byte_rate must be greater than 0"),
]


@pytest.mark.parametrize(("entity", "alterations", "message"), REFUSED)
def test_what_kafkas_controller_refuses(
    entity: QuotaEntity, alterations: dict[str, float | None], message: str
) -> None:
    brokers = QuotaManagers(BrokerConfig())
    quotas = ClientQuotas(lambda: [brokers], BrokerConfig())
    with pytest.raises(KafkaError, match=message) as caught:
        quotas.alter(entity, alterations)
    assert caught.value.code is ErrorCode.invalid_request
    assert not list(quotas.image)
    assert not brokers.enabled


def test_removing_by_name_and_altogether() -> None:
    brokers = QuotaManagers(BrokerConfig())
    quotas = ClientQuotas(lambda: [brokers], BrokerConfig())
    quotas.alter(ALL, None)
    quotas.alter(ALL, {"producer_byte_rate": None})
    assert not brokers.enabled
    assert not brokers.produce.quotas_enabled
    assert not list(quotas.image)
    quotas.alter(ALL, {"request_percentage": 0.5, "producer_byte_rate": 7})
    quotas.alter(ALL, {"request_percentage": None})
    assert [entry.quotas for entry in quotas.image] == [{"producer_byte_rate": 7}]
    assert brokers.produce.quota("ANONYMOUS", "x") == 7.0
    assert brokers.request.quota("ANONYMOUS", "x") is None
    quotas.alter(ALL, None)
    assert not list(quotas.image)
    assert brokers.produce.quota("ANONYMOUS", "x") is None


@pytest.mark.parametrize("name", ["quota.window.num", "quota.window.size.seconds"])
def test_a_window_is_at_least_one(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        BrokerConfig().with_text({name: "0"})


@pytest.mark.parametrize(
    ("bound", "throttle_ms"),
    [
        (1e-300, -1),  # the lower half of 2^63 - 1: does not throttle
        (5e-324, -1),
        (1e308, 0),
    ],
)
def test_extreme_bounds(bound: float, throttle_ms: int) -> None:
    entity = QuotaEntity("u", "c")
    assert record(manager_with({entity: bound}), 1e9) == throttle_ms
    assert record(manager_with({entity: bound}, 1_000), 1e9) == (1_000 if throttle_ms else 0)
    assert manager_with({entity: bound}).max_value_in_quota_window("u", "c") == bound * 10
