"""A Fetch request of any version.

Units    offsets count records, sizes are bytes, `_ms` is milliseconds.
Source   clients/src/main/resources/common/message/FetchRequest.json @ 4.4
Differs  A follower's log start, directory and high watermark are not read.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

NO_TOPIC_ID: Final = bytes(16)


@mypyc_attr(acyclic=True, free_list_len=1)
class FetchPartitionData:
    """The offset to read in one partition, and the maximum of bytes. An epoch below 0 means none."""

    __slots__ = ("current_leader_epoch", "fetch_offset", "index", "last_fetched_epoch", "max_bytes")

    def __init__(
        self, index: int, fetch_offset: int, max_bytes: int, current_leader_epoch: int, last_fetched_epoch: int
    ) -> None:
        self.index = index
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch


@mypyc_attr(acyclic=True, free_list_len=1)
class FetchTopicData:
    """Partitions of a topic. It has a name up to v12, and from v13 on an id of sixteen bytes."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: list[FetchPartitionData]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


@mypyc_attr(acyclic=True)
class ForgottenTopic:
    """Partitions to remove from the session."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: list[int]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


@mypyc_attr(acyclic=True, free_list_len=1)
class FetchRequest:
    """The body of a Fetch request. `replica_id` is -1 for a consumer. Fields that its version lacks have the value for
    none."""

    __slots__ = (
        "forgotten", "isolation_level", "max_bytes", "max_wait_ms", "min_bytes", "rack_id", "replica_epoch",
        "replica_id", "session_epoch", "session_id", "topics",
    )  # fmt: skip

    def __init__(
        self,
        replica_id: int,
        replica_epoch: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        isolation_level: int,
        session_id: int,
        session_epoch: int,
        topics: list[FetchTopicData],
        forgotten: list[ForgottenTopic],
        rack_id: str,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = topics
        self.forgotten = forgotten
        self.rack_id = rack_id
