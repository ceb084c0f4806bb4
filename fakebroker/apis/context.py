"""What a handler may see and do: the request's context.

The core implements these; the handlers import nothing from it. A handler answers by calling exactly one of
`respond`, `respond_frame`, `respond_nothing` and `close`, at once or later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from mypy_extensions import mypyc_attr

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint, PartitionProduceResponse
from fakebroker.protocol.topic_partition import TopicPartition

# A decoded request, or a response: a kio dataclass of the version at hand. Its fields differ between versions, and the
# registry's tests cover each, so handlers read it untyped.
Message = Any

ProduceResults = dict[TopicPartition, PartitionProduceResponse]
ProduceCallback = Callable[[ProduceResults], None]


CONSUMER_REPLICA_ID = -1
DEBUGGING_REPLICA_ID = -2


class FetchParams(NamedTuple):
    """What a Fetch says of all its partitions. `replica_id` is -1 for a consumer, else the broker id of a follower;
    `replica_epoch` is -1 if the follower does not tell. Times are milliseconds, sizes bytes."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    replica_id: int = CONSUMER_REPLICA_ID
    replica_epoch: int = -1
    read_committed: bool = False
    has_client_metadata: bool = False

    @property
    def is_from_follower(self) -> bool:
        return self.replica_id >= 0

    @property
    def fetch_only_leader(self) -> bool:
        """Consumers may read from any replica since they tell where they are (v11, KIP-392)."""
        return self.is_from_follower or (self.replica_id == CONSUMER_REPLICA_ID and not self.has_client_metadata)


class FetchPartition(NamedTuple):
    """Where to read one partition, and how much at most. An epoch of -1 is not told."""

    topic_partition: TopicPartition
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1


class FetchResult(NamedTuple):
    """What a read gave. On an error the offsets are -1 and the records empty. `diverging_epoch` is (epoch, its end
    offset) for a reader whose log is not the leader's."""

    topic_partition: TopicPartition
    error_code: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: bytes = b""
    diverging_epoch: tuple[int, int] | None = None


class OffsetQuery(NamedTuple):
    """What ListOffsets asks of one partition. `timestamp_ms` may be one of the special negative ones."""

    topic_partition: TopicPartition
    timestamp_ms: int
    current_leader_epoch: int = -1
    replica_id: int = CONSUMER_REPLICA_ID
    read_committed: bool = False


class TimestampAndOffset(NamedTuple):
    """What ListOffsets answers. -1 is "none"."""

    timestamp_ms: int = -1
    offset: int = -1
    leader_epoch: int = -1


FetchCallback = Callable[[Sequence[FetchResult]], None]


class PartitionView(Protocol):
    """A partition as the metadata shows it."""

    @property
    def leader_id(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def replica_ids(self) -> Sequence[int]: ...
    @property
    def isr_ids(self) -> Sequence[int]: ...
    @property
    def offline_ids(self) -> Sequence[int]: ...


class ConfigEntry(NamedTuple):
    """A setting of a topic: its value as text, and the number of Kafka's ConfigSource that it comes from."""

    name: str
    value: str
    source: int


class TopicView(Protocol):
    """A topic as the metadata shows it; partition i is `partitions[i]`. `effective_configs` are sorted by name."""

    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sequence[PartitionView]: ...
    @property
    def effective_configs(self) -> Sequence[ConfigEntry]: ...


class NewTopic(NamedTuple):
    """A topic to be made. -1 means the broker's default; `assignments` are pairs of partition and broker ids."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Collection[tuple[int, Sequence[int]]] = ()
    configs: Mapping[str, str | None] = {}


class ClusterView(Protocol):
    """The metadata that every broker has."""

    @property
    def cluster_id(self) -> str: ...
    @property
    def controller_id(self) -> int: ...
    @property
    def auto_create_topics_enable(self) -> bool: ...
    def brokers(self) -> Sequence[NodeEndpoint]: ...
    def topic_names(self) -> Sequence[str]: ...
    def topic(self, name: str) -> TopicView | None: ...
    def topic_by_id(self, topic_id: UUID) -> TopicView | None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class RequestContext:
    """One request in the hands of one broker; `cluster/dispatcher.py` has the one that works.

    broker_id      who was asked
    peer           who asks, for logs
    client_id      as the request has it; empty if it has none
    cluster        the metadata that every broker has
    """

    __slots__ = ("api_version", "broker_id", "client_id", "cluster", "correlation_id", "peer")

    def __init__(
        self, broker_id: int, peer: str, api_version: int, client_id: str, correlation_id: int, cluster: ClusterView
    ) -> None:
        self.broker_id = broker_id
        self.peer = peer
        self.api_version = api_version
        self.client_id = client_id
        self.correlation_id = correlation_id
        self.cluster = cluster

    def find_partition(self, topic: str, index: int) -> TopicPartition | None:
        """The name of a partition that exists."""
        raise NotImplementedError

    def throttle(self, *, produced: bool = False, uses_request_time: bool = True) -> int:
        """Record what the request used against its client's quotas: its bytes if it `produced`, its time unless it is
        exempt. If that violates a quota, the connection is muted from now on for the milliseconds returned, which the
        answer tells; else 0. Recorded once: later calls return the same."""
        raise NotImplementedError

    def respond(self, response: Message, *, exempt: bool = False) -> None:
        """Answer with a kio message, throttled if the request quota says so and it is not `exempt`."""
        raise NotImplementedError

    def respond_frame(self, frame: bytes) -> None:
        """Answer with a frame that is already encoded; call `throttle` before."""
        raise NotImplementedError

    def respond_nothing(self) -> None:
        """The request is done and its protocol has no answer (acks=0)."""
        raise NotImplementedError

    def close(self, reason: str) -> None:
        """Close the connection instead of answering."""
        raise NotImplementedError

    def create_topics(
        self, topics: Sequence[NewTopic], validate_only: bool = False
    ) -> Sequence[TopicView | KafkaError]:
        """Make topics, or see whether they could be made: what became of each, in order. Raises KafkaError, with
        Kafka's code and text, if all of them are refused together."""
        raise NotImplementedError

    def new_producer_id(self) -> int:
        """A producer id that nobody else has."""
        raise NotImplementedError

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: dict[TopicPartition, bytes],
        callback: ProduceCallback,
    ) -> None:
        """ReplicaManager.append_records on this broker, now."""
        raise NotImplementedError

    def delete_topic(self, name: str) -> None:
        """Delete a topic; raises KafkaError with Kafka's code."""
        raise NotImplementedError

    def fetch_messages(
        self, params: FetchParams, partitions: Sequence[FetchPartition], callback: FetchCallback
    ) -> None:
        """ReplicaManager.fetch_messages on this broker, now."""
        raise NotImplementedError

    def fetch_offset(self, query: OffsetQuery) -> TimestampAndOffset:
        """ReplicaManager.fetch_offset on this broker; raises KafkaError with Kafka's code."""
        raise NotImplementedError

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, current_leader_epoch: int, leader_epoch: int
    ) -> tuple[int, int]:
        """ReplicaManager.last_offset_for_leader_epoch on this broker; raises KafkaError with Kafka's code."""
        raise NotImplementedError
