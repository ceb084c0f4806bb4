"""Fetches of one session, request by request (core/fetch_sessions/manager.py)."""

from __future__ import annotations

from random import Random

import pytest

from fakebroker.core.fetch_sessions.cache import EVICTION_MS, SHARDS
from fakebroker.core.fetch_sessions.manager import FetchManager
from fakebroker.core.fetch_sessions.session import CachedPartition
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.fetch.request import NO_TOPIC_ID, FetchPartitionData
from fakebroker.protocol.slices import finish


def begun(manager: FetchManager, now_ms: int) -> int:
    """Begin a session of a consumer with one partition; its id, 0 if there is no room."""
    cached = CachedPartition("t", NO_TOPIC_ID, FetchPartitionData(0, 0, 1, -1, -1))
    context = manager.new_context(12, 0, 0, False, {("t", 0): cached}, [], now_ms)
    assert context.includes(cached, PartitionFetchResponse(0, ErrorCode.none))
    return context.finish(now_ms)[1]


@pytest.mark.parametrize("in_slices", [False, True])
def test_each_fetch_of_a_session_keeps_it_for_two_minutes(in_slices: bool) -> None:
    manager = FetchManager(SHARDS, Random(1))  # with room for one session in each shard
    sessions = [begun(manager, 0) for _ in range(SHARDS)]
    if in_slices:
        finish(manager.new_context_in_slices(12, sessions[0], 1, False, {}, [], EVICTION_MS))
    else:
        manager.new_context(12, sessions[0], 1, False, {}, [], EVICTION_MS)
    later_ms = EVICTION_MS + 1
    assert [begun(manager, later_ms) > 0 for _ in range(SHARDS)] == [False] + [True] * (SHARDS - 1)
