"""What one Fetch reads, and what of it is told: all that it names, or what is new in its session.

Theory   A context has the `partitions` that are read, in order. When they are read it is asked of each whether the
         client is told (`includes`), in the order of the answer, and at the end for the id of the session and the error
         of the whole (`finish`). A session changes only then, and not at all if the client is throttled.
         A request that waits may be overtaken by the next one of its session, from another connection: it is told so.
Units    milliseconds as clients measure them (`HasNow.client_ms`).
Source   server/.../FetchContext.java @ 4.4.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import mypyc_attr

from fakebroker.core.fetch_sessions.cache import INVALID_SESSION_ID, FetchSessionCache
from fakebroker.core.fetch_sessions.session import CachedPartition, FetchSession, Key
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode

Outcome = tuple[ErrorCode, int]
"""Error and session id of an answer."""

_NONE = ErrorCode.none


@mypyc_attr(allow_interpreted_subclasses=True)
class FetchContext:
    """Of a request outside of all sessions: what it names is read and told."""

    def __init__(self, partitions: list[CachedPartition]) -> None:
        self.partitions = partitions

    def would_include(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        """Whether the answer would have this partition; nothing is told yet."""
        return True

    def includes(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        """Whether the answer has this partition. Said once of each."""
        return True

    def finish(self, now_ms: int) -> Outcome:
        """The error and the session id of the answer."""
        return _NONE, INVALID_SESSION_ID

    def throttled(self) -> Outcome:
        """The same of the empty answer to a client that is throttled."""
        return _NONE, INVALID_SESSION_ID


@final
class SessionErrorContext(FetchContext):
    """Of a request for a session that is not there, or is another."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__([])
        self._error = error

    def finish(self, now_ms: int) -> Outcome:
        return self._error, INVALID_SESSION_ID


@final
class FullFetchContext(FetchContext):
    """Of a request that begins a session, if there is room: with what was told, as it was told."""

    def __init__(
        self, partitions: list[CachedPartition], cache: FetchSessionCache, uses_topic_ids: bool, is_from_follower: bool
    ) -> None:
        super().__init__(partitions)
        self._cache = cache
        self._uses_topic_ids = uses_topic_ids
        self._is_from_follower = is_from_follower
        self._told: dict[Key, CachedPartition] = {}

    def includes(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        partition.note(response)
        self._told[partition.key(self._uses_topic_ids)] = partition
        return True

    def finish(self, now_ms: int) -> Outcome:
        told, self._told = self._told, {}
        shard = self._cache.next_shard()
        return _NONE, shard.maybe_create_session(told, self._is_from_follower, self._uses_topic_ids, now_ms)


@final
class IncrementalFetchContext(FetchContext):
    """Of a request within a session: what the session has is read, and what is new is told."""

    def __init__(self, partitions: list[CachedPartition], session: FetchSession, expected_epoch: int) -> None:
        """`expected_epoch` is that of the session until its next request comes."""
        super().__init__(partitions)
        self._session = session
        self._expected_epoch = expected_epoch

    @property
    def _is_overtaken(self) -> bool:
        return self._session.epoch != self._expected_epoch

    def would_include(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        return not self._is_overtaken and partition.has_news(response)

    def includes(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        if self._is_overtaken or not partition.must_respond(response):
            return False
        if response.records.size > 0:
            self._session.move_to_end(partition)
        return True

    def finish(self, now_ms: int) -> Outcome:
        return self.throttled()

    def throttled(self) -> Outcome:
        code = ErrorCode.invalid_fetch_session_epoch if self._is_overtaken else _NONE
        return code, self._session.session_id
