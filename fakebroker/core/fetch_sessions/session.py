"""One fetch session: the partitions that a client reads, and the state of each that the client knows.

Theory   The partitions are in the order in which they are read. A partition with records in the response goes to the
         end. So all have their turn even if max_bytes is enough for the first of them only. Topics have names up to v12
         and ids from v13 on, and a session keeps to one of both.
Units    offsets count records; times are milliseconds as clients measure them (`HasNow.client_ms`).
Source   server/.../FetchSession.java @ 4.4: CachedPartition, maybeUpdateResponseData, update.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import mypyc_attr

from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.fetch.request import FetchPartitionData

Key = tuple[str | bytes, int]
"""A session's key of a partition: the topic's name, or its id from v13 on, and the index."""

_MAX_EPOCH: Final = (1 << 31) - 1


def next_epoch(epoch: int) -> int:
    """Return the epoch after this one, which is not negative."""
    return 1 if epoch == _MAX_EPOCH else epoch + 1


@mypyc_attr(acyclic=True)
@final
class CachedPartition:
    """A partition that a client reads: `asked` is its part of the last request that named it. `name` is None as long as
    the topic id is unknown. `high_watermark` and `log_start_offset` are the client's last ones."""

    __slots__ = ("asked", "high_watermark", "index", "log_start_offset", "name", "topic_id")

    def __init__(self, name: str | None, topic_id: bytes, asked: FetchPartitionData) -> None:
        self.name = name
        self.topic_id = topic_id
        self.index = asked.index
        self.asked = asked
        self.high_watermark = -1
        self.log_start_offset = -1

    def key(self, by_id: bool) -> Key:
        if by_id or self.name is None:
            return self.topic_id, self.index
        return self.name, self.index

    def note(self, response: PartitionFetchResponse) -> None:
        """Record the values of the first response."""
        self.high_watermark = response.high_watermark
        self.log_start_offset = response.log_start_offset

    def has_news(self, response: PartitionFetchResponse) -> bool:
        """Return True if the response has anything that the client does not know."""
        return (
            response.records.size > 0
            or response.preferred_read_replica >= 0
            or response.diverging_epoch is not None
            or self.high_watermark != response.high_watermark
            or self.log_start_offset != response.log_start_offset
            or response.error_code != 0
        )

    def must_respond(self, response: PartitionFetchResponse) -> bool:
        """Return the result of `has_news`, and record the response as sent."""
        is_news = self.has_news(response)
        # An error is reported again when it is gone.
        self.high_watermark = -1 if response.error_code != 0 else response.high_watermark
        self.log_start_offset = response.log_start_offset
        return is_news


@final
class FetchSession:
    """A fetch session; that of a follower is `privileged`. `epoch` is that of the next request.

    cached_size        the number of partitions at its last use
    is_evictable_by_all, is_evictable_by_privileged
                       the sessions that may evict it from a full cache, as of its last use
    """

    __slots__ = (
        "cached_size", "creation_ms", "epoch", "is_evictable_by_all", "is_evictable_by_privileged", "last_used_ms",
        "partitions", "privileged", "session_id", "uses_topic_ids",
    )  # fmt: skip

    def __init__(
        self,
        session_id: int,
        privileged: bool,
        partitions: dict[Key, CachedPartition],
        uses_topic_ids: bool,
        now_ms: int,
    ) -> None:
        self.session_id = session_id
        self.privileged = privileged
        self.partitions = partitions
        self.uses_topic_ids = uses_topic_ids
        self.creation_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = 1
        self.cached_size = 0
        self.is_evictable_by_all = False
        self.is_evictable_by_privileged = False

    def move_to_end(self, partition: CachedPartition) -> None:
        """Move a partition with records in the response to the end: others come first next time."""
        key = partition.key(self.uses_topic_ids)
        cached = self.partitions.pop(key, None)
        if cached is not None:
            self.partitions[key] = cached
