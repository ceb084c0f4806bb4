"""The fetch sessions that are kept when there are too many (core/fetch_sessions/cache.py)."""

from __future__ import annotations

from random import Random

import pytest

from fakebroker.core.fetch_sessions.cache import (
    EVICTION_MS,
    ID_RANGE,
    SHARDS,
    FetchSessionCache,
    FetchSessionCacheShard,
)
from fakebroker.core.fetch_sessions.session import CachedPartition, Key
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.fetch.request import NO_TOPIC_ID, FetchPartitionData


def partitions(count: int) -> dict[Key, CachedPartition]:
    return {
        ("t", index): CachedPartition("t", NO_TOPIC_ID, FetchPartitionData(index, 0, 1, -1, -1))
        for index in range(count)
    }


def shard(slots: int = 2) -> FetchSessionCacheShard:
    return FetchSessionCacheShard(0, slots, Random(1))


def made(cache: FetchSessionCacheShard, size: int, now_ms: int, privileged: bool = False) -> int:
    session_id = cache.maybe_create_session(partitions(size), privileged, False, now_ms)
    cache.check_invariants()
    return session_id


def touched(cache: FetchSessionCacheShard, session_id: int, now_ms: int) -> None:
    session = cache.get(session_id)
    assert session is not None
    cache.touch(session, now_ms)
    cache.check_invariants()


def test_with_free_slots_each_fetch_gets_a_session() -> None:
    cache = shard()
    first, second = made(cache, 1, 0), made(cache, 1, 0)
    assert first != second
    assert len(cache) == 2


def test_a_session_younger_than_two_minutes_is_not_evicted_for_a_consumer() -> None:
    cache = shard(1)
    kept = made(cache, 1, 0)
    assert made(cache, 100, EVICTION_MS) == 0
    assert cache.get(kept) is not None


def test_a_session_unused_for_more_than_two_minutes_is_evicted() -> None:
    cache = shard()
    gone, kept = made(cache, 100, 0), made(cache, 1, 10)
    assert made(cache, 1, EVICTION_MS + 1) != 0
    assert cache.get(gone) is None
    assert cache.get(kept) is not None


def test_a_larger_session_evicts_the_smallest_old_one() -> None:
    cache = shard()
    large, small = made(cache, 5, 0), made(cache, 3, 0)
    for session_id in (large, small):
        touched(cache, session_id, EVICTION_MS + 1)
    assert made(cache, 3, EVICTION_MS + 2) == 0
    assert made(cache, 4, EVICTION_MS + 2) != 0
    assert cache.get(small) is None
    assert cache.get(large) is not None


def test_how_old_a_session_is_counts_as_of_its_last_use() -> None:
    cache = shard(1)
    kept = made(cache, 1, 0)
    touched(cache, kept, EVICTION_MS)
    assert made(cache, 9, EVICTION_MS + 50_000) == 0
    touched(cache, kept, EVICTION_MS + 50_000)
    assert made(cache, 9, EVICTION_MS + 50_001) != 0


def test_followers_drive_out_any_consumer_but_no_young_follower() -> None:
    cache = shard()
    consumer, follower = made(cache, 50, 0), made(cache, 1, 0, privileged=True)
    assert made(cache, 2, 1, privileged=True) != 0
    assert cache.get(consumer) is None
    assert cache.get(follower) is not None
    assert made(cache, 9, 2, privileged=True) == 0
    assert made(cache, 9, 2) == 0


def test_an_old_follower_in_use_goes_after_all_consumers() -> None:
    cache = shard()
    follower, consumer = made(cache, 1, 0, privileged=True), made(cache, 50, 0)
    for session_id in (follower, consumer):
        touched(cache, session_id, EVICTION_MS + 1)
    assert made(cache, 2, EVICTION_MS + 2, privileged=True) != 0
    assert cache.get(consumer) is None
    assert made(cache, 2, EVICTION_MS + 2, privileged=True) != 0
    assert cache.get(follower) is None


def test_a_session_that_was_driven_out_stays_out() -> None:
    cache = shard(1)
    gone = cache.get(made(cache, 1, 0))
    assert gone is not None
    made(cache, 1, EVICTION_MS + 1)
    cache.touch(gone, EVICTION_MS + 2)
    cache.check_invariants()
    assert cache.get(gone.session_id) is None


def test_no_slots_no_sessions() -> None:
    cache = FetchSessionCache(SHARDS - 1, Random(1))
    assert cache.next_shard().maybe_create_session(partitions(1), False, False, 0) == 0


def test_sessions_go_round_the_shards() -> None:
    cache = FetchSessionCache(2 * SHARDS, Random(1))
    ids = [cache.next_shard().maybe_create_session(partitions(1), False, False, 0) for _ in range(2 * SHARDS)]
    cache.check_invariants()
    assert [session_id // ID_RANGE for session_id in ids] == [*range(SHARDS), *range(SHARDS)]
    assert all(cache.shard_of(session_id).get(session_id) is not None for session_id in ids)
    assert len(cache) == 2 * SHARDS


@pytest.mark.parametrize("session_id", [-ID_RANGE, -(1 << 31), SHARDS * ID_RANGE, (1 << 31) - 1])
def test_an_id_of_no_shard_is_an_error(session_id: int) -> None:
    with pytest.raises(KafkaError) as caught:
        FetchSessionCache(1000, Random(1)).shard_of(session_id)
    assert caught.value.code is ErrorCode.unknown_server_error


@pytest.mark.parametrize("session_id", [0, -1, 1 - ID_RANGE, SHARDS * ID_RANGE - 1])
def test_other_ids_have_a_shard(session_id: int) -> None:
    assert FetchSessionCache(1000, Random(1)).shard_of(session_id).get(session_id) is None
