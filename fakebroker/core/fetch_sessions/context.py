"""The partitions that one Fetch reads, and those in its response: all, or the changed ones of its session.

Theory   A context has the `partitions` to read, in order. After the read, `includes` decides for each whether the
         response has it, in the order of the response. At the end `finish` returns the id of the session and the error
         of the whole. A session changes only then, and not at all if the client is throttled. A parked request may be
         overtaken by the next one of its session, from another connection: it then gets an error.
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
"""Error and session id of a response."""

_NONE = ErrorCode.none


@mypyc_attr(allow_interpreted_subclasses=True)
class FetchContext:
    """The context of a request outside of all sessions: all its partitions are read and in the response."""

    def __init__(self, partitions: list[CachedPartition]) -> None:
        self.partitions = partitions

    def would_include(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        """Return True if the response would have this partition; nothing is recorded yet."""
        return True

    def includes(self, partition: CachedPartition, response: PartitionFetchResponse) -> bool:
        """Return True if the response has this partition. Called once for each."""
        return True

    def finish(self, now_ms: int) -> Outcome:
        """Return the error and the session id of the response."""
        return _NONE, INVALID_SESSION_ID

    def throttled(self) -> Outcome:
        """Return the error and the session id of the empty response to a throttled client."""
        return _NONE, INVALID_SESSION_ID


@final
class SessionErrorContext(FetchContext):
    """The context of a request with an invalid session or epoch."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__([])
        self._error = error

    def finish(self, now_ms: int) -> Outcome:
        return self._error, INVALID_SESSION_ID


@final
class FullFetchContext(FetchContext):
    """The context of a request that begins a session, if there is room. The session has the partitions of the
    response."""

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
        partitions, self._told = self._told, {}
        shard = self._cache.next_shard()
        return _NONE, shard.maybe_create_session(partitions, self._is_from_follower, self._uses_topic_ids, now_ms)


@final
class IncrementalFetchContext(FetchContext):
    """The context of a request within a session: its partitions are read, and the changed ones are in the response."""

    def __init__(self, partitions: list[CachedPartition], session: FetchSession, expected_epoch: int) -> None:
        """Create the context. `expected_epoch` is that of the session until its next request comes."""
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
