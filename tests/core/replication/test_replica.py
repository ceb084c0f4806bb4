"""The leader's state of a follower after its fetches: the rule of two fetches (Replica.updateFetchStateOrThrow)."""

from __future__ import annotations

import pytest

from fakebroker.core.broker_registry import RegisteredBroker
from fakebroker.core.replication.replica import NEVER_MS, UNKNOWN_OFFSET, Replica

Fetch = tuple[int, int, int]  # at this time, from this offset, while the leader's log ended there


@pytest.mark.parametrize(
    ("name", "fetches", "caught_up_ms"),
    [
        ("it reads up to the end: now", [(100, 5, 5)], 100),
        ("it is behind, and nothing is known of before", [(100, 3, 5)], NEVER_MS),
        ("it has what there was at the fetch before: then", [(100, 0, 5), (200, 5, 9)], 100),
        ("always one fetch behind a busy leader", [(100, 0, 5), (200, 5, 9), (300, 9, 14)], 200),
        ("it reads a part of what there was: nothing new", [(100, 0, 5), (200, 4, 9)], NEVER_MS),
        ("it stands still", [(100, 5, 5), (200, 5, 9), (300, 5, 9)], 100),
        ("it stood still, then had it all", [(100, 5, 5), (200, 5, 9), (300, 9, 9)], 300),
    ],
)
def test_when_a_follower_was_caught_up(name: str, fetches: list[Fetch], caught_up_ms: int) -> None:
    replica = Replica(RegisteredBroker(2))
    replica.reset(now_ms=0)
    replica.last_fetch_leader_log_end_offset = 1  # as after an earlier fetch that read nothing
    for now_ms, fetch_offset, leader_end_offset in fetches:
        replica.update_fetch_state_over_wire(fetch_offset, leader_end_offset, now_ms, -1)
    assert replica.last_caught_up_time_ms == caught_up_ms
    assert replica.log_end_offset == fetches[-1][1]


@pytest.mark.parametrize(("is_in_sync", "caught_up_ms"), [(True, 700), (False, NEVER_MS)])
def test_a_new_leader_knows_only_the_in_sync_replicas(is_in_sync: bool, caught_up_ms: int) -> None:
    replica = Replica(RegisteredBroker(2))
    replica.update_fetch_state_over_wire(5, 5, 600, 4)
    replica.is_in_sync = is_in_sync
    replica.reset(now_ms=700)
    assert (replica.log_end_offset, replica.last_caught_up_time_ms, replica.broker_epoch) == (
        UNKNOWN_OFFSET,
        caught_up_ms,
        None,
    )


@pytest.mark.parametrize(
    ("end_offset", "now_ms", "caught_up"),
    [(10, 1_000_000, True), (9, 600, True), (9, 601, False)],
)
def test_caught_up_is_at_the_end_or_lately_there(end_offset: int, now_ms: int, caught_up: bool) -> None:
    replica = Replica(RegisteredBroker(2))
    replica.update_fetch_state(end_offset, caught_up_time_ms=100)
    assert replica.is_caught_up(leader_end_offset=10, now_ms=now_ms, replica_lag_time_max_ms=500) is caught_up
