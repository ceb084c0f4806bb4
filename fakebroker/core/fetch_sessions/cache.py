"""The fetch sessions of a broker, and the eviction from a full cache.

Theory   The cache has eight shards, each with an eighth of the slots and of the ids; new sessions go to one after the
         other. In a full shard a new session evicts the least recently used one if its last use was more than two
         minutes ago. Otherwise it evicts the smallest session that it may evict, if it is larger itself. A consumer's
         session may evict those created more than two minutes ago, a follower's session also any of a consumer.
Units    milliseconds as clients measure them (`HasNow.client_ms`).
Source   server/.../FetchSessionCacheShard.java, FetchSession.java FetchSessionCache @ 4.4; BrokerServer.scala for the
         shards; ServerConfigs.java MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS.
Differs  Ids come from the seed of the cluster. Which session is the smallest is found by looking at all of the shard
         when it is full, not kept in trees with each request.
"""

from __future__ import annotations

from random import Random
from typing import Final, final

from fakebroker.core.fetch_sessions.session import CachedPartition, FetchSession, Key
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

INVALID_SESSION_ID: Final = 0
SHARDS: Final = 8
EVICTION_MS: Final = 120_000
ID_RANGE: Final = ((1 << 31) - 1) // SHARDS  # ids of a shard


@final
class FetchSessionCacheShard:
    """A shard of `max_entries` sessions with ids from `number * ID_RANGE` on. The least recently used one is the
    first."""

    def __init__(self, number: int, max_entries: int, random: Random) -> None:
        self._number = number
        self._max_entries = max_entries
        self._random = random
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __bool__(self) -> bool:
        return len(self) > 0

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def remove(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)

    def maybe_create_session(
        self,
        partitions: dict[Key, CachedPartition],
        privileged: bool,
        uses_topic_ids: bool,
        now_ms: int,
    ) -> int:
        """Return the id of a new session; INVALID_SESSION_ID if there is no room."""
        if len(self._sessions) >= self._max_entries and not self._try_evict(privileged, len(partitions), now_ms):
            return INVALID_SESSION_ID
        session = FetchSession(self._new_session_id(), privileged, partitions, uses_topic_ids, now_ms)
        self._sessions[session.session_id] = session
        self.touch(session, now_ms)
        return session.session_id

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """Record a use of the session."""
        session.last_used_ms = now_ms
        session.cached_size = len(session.partitions)
        session.is_evictable_by_all = now_ms - session.creation_ms > EVICTION_MS
        session.is_evictable_by_privileged = session.is_evictable_by_all or not session.privileged
        if self._sessions.pop(session.session_id, None) is not None:
            self._sessions[session.session_id] = session

    def _new_session_id(self) -> int:
        while True:
            session_id = self._random.randrange(max(1, self._number * ID_RANGE), (self._number + 1) * ID_RANGE)
            if session_id not in self._sessions:
                return session_id

    def _try_evict(self, privileged: bool, size: int, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms > EVICTION_MS:
            self.remove(oldest.session_id)
            return True
        evictable = [
            (session.privileged, session.cached_size, session.session_id)
            for session in self._sessions.values()
            if (session.is_evictable_by_privileged if privileged else session.is_evictable_by_all)
        ]
        if not evictable:
            return False
        smallest = min(evictable)
        if (privileged, size, 0) < smallest:
            return False
        self.remove(smallest[2])
        return True

    def check_invariants(self) -> None:
        assert len(self._sessions) <= self._max_entries
        last_ms: int | None = None
        for session_id, session in self._sessions.items():
            assert session_id == session.session_id
            assert max(1, self._number * ID_RANGE) <= session_id < (self._number + 1) * ID_RANGE
            assert last_ms is None or last_ms <= session.last_used_ms
            last_ms = session.last_used_ms


@final
class FetchSessionCache:
    """All sessions of a broker, from its start to its stop."""

    def __init__(self, slots: int, random: Random) -> None:
        self._shards = [FetchSessionCacheShard(number, slots // SHARDS, random) for number in range(SHARDS)]
        self._made = 0

    def __len__(self) -> int:
        return sum(len(shard) for shard in self._shards)

    def __bool__(self) -> bool:
        return len(self) > 0

    def shard_of(self, session_id: int) -> FetchSessionCacheShard:
        """Return the shard of an id. Raise KafkaError for an id without a shard: in Kafka it is an index out of
        bounds."""
        number = session_id // ID_RANGE if session_id >= 0 else -(-session_id // ID_RANGE)
        if not 0 <= number < SHARDS:
            raise KafkaError(ErrorCode.unknown_server_error, f"no shard has fetch sessions with the id {session_id}")
        return self._shards[number]

    def next_shard(self) -> FetchSessionCacheShard:
        """Return the shard of the next session."""
        self._made += 1
        return self._shards[(self._made - 1) % SHARDS]

    def check_invariants(self) -> None:
        for shard in self._shards:
            shard.check_invariants()
