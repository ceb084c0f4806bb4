"""What a broker says of the cluster, and what it is asked.

Source   clients/.../common/requests/{MetadataRequest,MetadataResponse}.java.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fakebroker.producer.metadata_snapshot import NO_EPOCH, NO_LEADER, Node
from fakebroker.protocol.error_code import ErrorCode

NO_TOPIC_ID: Final = ""
REBOOTSTRAP_REQUIRED: Final = 129  # KIP-1102
_FIRST_RELIABLE_EPOCHS: Final = 9  # before 2.4 they were wrong while partitions moved


class MetadataRequest(NamedTuple):
    """The topics that are asked for; a producer never wants all. `request_version` tells whether more were added since;
    the answer to a partial one says nothing of the rest (KIP-526)."""

    topics: list[str]
    request_version: int = 0
    is_partial_update: bool = False


class PartitionMetadata(NamedTuple):
    """`leader` may be a broker that the response does not name."""

    partition: int
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    error: int = ErrorCode.none


class TopicMetadata(NamedTuple):
    """`topic_id` is any text that tells one topic from a later one of its name; NO_TOPIC_ID if none was given."""

    name: str
    partitions: list[PartitionMetadata] = []  # noqa: RUF012  (of a tuple, and nobody appends)
    error: int = ErrorCode.none
    topic_id: str = NO_TOPIC_ID


class MetadataResponse(NamedTuple):
    """`version` is that of the request. `error`: of the whole (KIP-1102). `cluster_id`: None if it was not told."""

    brokers: list[Node]
    topics: list[TopicMetadata]
    version: int
    throttle_time_ms: int = 0
    error: int = ErrorCode.none
    cluster_id: str | None = None

    @property
    def has_reliable_leader_epochs(self) -> bool:
        return self.version >= _FIRST_RELIABLE_EPOCHS

    def errors(self) -> dict[str, int]:
        """Of the topics of which it says nothing else."""
        return {topic.name: topic.error for topic in self.topics if topic.error != ErrorCode.none}
