"""The choice of the session of a Fetch.

Theory   Epoch 0 and -1 are those of a full fetch: its session ends, and 0 begins another. Every other epoch is that of
         an incremental fetch. It names the partitions to add, to change and to forget, and must have the epoch after
         that of the request before. A session without partitions left ends.
Units    milliseconds as clients measure them (`HasNow.client_ms`).
Source   server/.../FetchManager.java newContext @ 4.4; clients/.../requests/FetchMetadata.java.
Differs  A long request changes its session in slices. The session has its next epoch before the first of them: a second
         request of the same epoch is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, final

from fakebroker.core.fetch_sessions.cache import INVALID_SESSION_ID, FetchSessionCache, FetchSessionCacheShard
from fakebroker.core.fetch_sessions.context import (
    FetchContext,
    FullFetchContext,
    IncrementalFetchContext,
    SessionErrorContext,
)
from fakebroker.core.fetch_sessions.session import CachedPartition, FetchSession, Key, next_epoch
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices, finish

FIRST_VERSION_WITH_IDS: Final = 13

_INITIAL_EPOCH: Final = 0
_FINAL_EPOCH: Final = -1
_PARTITIONS_OF_A_SLICE: Final = 256
_NONE: Final = ErrorCode.none


@final
class FetchManager:
    """The sessions of one broker, from its start to its stop."""

    def __init__(self, slots: int, random: Random) -> None:
        self.cache = FetchSessionCache(slots, random)

    def new_context(
        self,
        version: int,
        session_id: int,
        epoch: int,
        is_from_follower: bool,
        wanted: dict[Key, CachedPartition],
        forgotten: Sequence[Key],
        now_ms: int,
    ) -> FetchContext:
        """Return the context of a request. `wanted` are its partitions. Raise KafkaError for an impossible session
        id."""
        if _is_full(epoch):
            return self._full(version, session_id, epoch, is_from_follower, wanted)
        shard = self.cache.shard_of(session_id)
        session = shard.get(session_id)
        error = _session_error(session, version, epoch)
        if session is None or error is not _NONE:
            return SessionErrorContext(error)
        session.epoch = next_epoch(epoch)
        if wanted or forgotten:
            finish(_update(session, wanted, forgotten))
        return _context_of(session, next_epoch(epoch), shard, wanted, now_ms)

    def new_context_in_slices(
        self,
        version: int,
        session_id: int,
        epoch: int,
        is_from_follower: bool,
        wanted: dict[Key, CachedPartition],
        forgotten: Sequence[Key],
        now_ms: int,
    ) -> Slices[FetchContext]:
        """Do the work of `new_context` for a request with very many partitions."""
        if _is_full(epoch):
            return self._full(version, session_id, epoch, is_from_follower, wanted)
        shard = self.cache.shard_of(session_id)
        session = shard.get(session_id)
        error = _session_error(session, version, epoch)
        if session is None or error is not _NONE:
            return SessionErrorContext(error)
        session.epoch = next_epoch(epoch)
        yield from _update(session, wanted, forgotten)
        return _context_of(session, next_epoch(epoch), shard, wanted, now_ms)

    def _full(
        self, version: int, session_id: int, epoch: int, is_from_follower: bool, wanted: dict[Key, CachedPartition]
    ) -> FetchContext:
        if session_id != INVALID_SESSION_ID:
            self.cache.shard_of(session_id).remove(session_id)
        partitions = list(wanted.values())
        if epoch == _FINAL_EPOCH:
            return FetchContext(partitions)
        return FullFetchContext(partitions, self.cache, version >= FIRST_VERSION_WITH_IDS, is_from_follower)


def _is_full(epoch: int) -> bool:
    return epoch in (_INITIAL_EPOCH, _FINAL_EPOCH)


def _session_error(session: FetchSession | None, version: int, epoch: int) -> ErrorCode:
    """Return the reason why the request is not of this session, or NONE."""
    if session is None:
        return ErrorCode.fetch_session_id_not_found
    if session.epoch != epoch:
        return ErrorCode.invalid_fetch_session_epoch
    if session.uses_topic_ids != (version >= FIRST_VERSION_WITH_IDS):
        return ErrorCode.fetch_session_topic_id_error
    return _NONE


def _context_of(
    session: FetchSession,
    expected_epoch: int,
    shard: FetchSessionCacheShard,
    wanted: dict[Key, CachedPartition],
    now_ms: int,
) -> FetchContext:
    if not session.partitions:
        shard.remove(session.session_id)
        return FetchContext(list(wanted.values()))
    shard.touch(session, now_ms)
    return IncrementalFetchContext(list(session.partitions.values()), session, expected_epoch)


def _update(session: FetchSession, wanted: dict[Key, CachedPartition], forgotten: Sequence[Key]) -> Slices[None]:
    partitions = session.partitions
    done = 0
    for key, partition in wanted.items():
        cached = partitions.get(key)
        if cached is None:
            partitions[key] = partition
        else:
            cached.asked = partition.asked
        done += 1
        if done % _PARTITIONS_OF_A_SLICE == 0:
            yield
    for key in forgotten:
        partitions.pop(key, None)
        done += 1
        if done % _PARTITIONS_OF_A_SLICE == 0:
            yield
