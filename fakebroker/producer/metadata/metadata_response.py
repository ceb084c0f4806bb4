"""The Metadata request and response of a client, as far as a producer uses them.

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
    """A request for topics by name; a producer never requests all. `request_version` tells whether topics were added
    since. A partial response says nothing about other topics (KIP-526)."""

    topics: list[str]
    request_version: int = 0
    is_partial_update: bool = False


class PartitionMetadata(NamedTuple):
    """A partition. `leader` may be a broker that the response does not name."""

    partition: int
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    error: int = ErrorCode.none


class TopicMetadata(NamedTuple):
    """A topic. `topic_id` is any text that differs if the topic was created again; NO_TOPIC_ID if there is none."""

    name: str
    partitions: list[PartitionMetadata] = []  # noqa: RUF012  (in a tuple, and never changed)
    error: int = ErrorCode.none
    topic_id: str = NO_TOPIC_ID


class MetadataResponse(NamedTuple):
    """A response. `version` is that of the request. `error` is the top-level error (KIP-1102). `cluster_id` is None if
    it was not sent."""

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
        """Return the error codes of the topics that have one."""
        return {topic.name: topic.error for topic in self.topics if topic.error != ErrorCode.none}
