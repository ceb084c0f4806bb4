"""The JSON of responses, and how it is read out of a cluster. Offsets are -1 where there is none.

Units    milliseconds; of the broker's clock where `mono_ms` or `wall_ms` is in the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from fakebroker.cluster.cluster import Cluster
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.metrics.counts import count_partitions
from fakebroker.core.controller.topics import Topic
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_LINES_OF_A_SLICE = 16


class Problem(BaseModel):
    """`code` is Kafka's name of an error, with its number in `kafka_code`, or a code of ours. `member` is the place of
    a mistake in the body or the query."""

    code: str
    message: str
    kafka_code: int | None = None
    member: str | None = None


class Refusal(BaseModel):
    """The body of every response that is not 2xx."""

    error: Problem

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"error": {"code": "UNKNOWN_TOPIC_OR_PARTITION", "message": "there is no topic 'x'", "kafka_code": 3}}
            ]
        }
    )


class ClockNow(BaseModel):
    """`is_pending`: some event is due later, so there is a next deadline to advance to."""

    kind: str
    elapsed_ms: int
    mono_ms: int
    wall_ms: int
    is_pending: bool


class Advanced(ClockNow):
    """`advanced_ms` is null if there was no deadline to advance to."""

    advanced_ms: int | None


class BrokerNow(BaseModel):
    """`state` is running, stopping, stopped, killed, paused or starting."""

    id: int
    host: str
    port: int
    rack: str | None
    is_running: bool
    state: str
    leads: int
    connections: int


class ListenerNow(BaseModel):
    name: str
    protocol: str
    bootstrap_servers: str


class ClusterNow(BaseModel):
    id: str | None
    cluster_id: str
    bootstrap_servers: str
    listeners: list[ListenerNow]
    brokers: list[BrokerNow]
    clock: ClockNow
    topics: int
    partitions: int
    under_replicated: int
    under_min_isr: int
    offline: int
    waiting: int
    lease_ms: int | None = None


class Replica(BaseModel):
    broker: int
    is_in_sync: bool
    behaviour: str
    log_end_offset: int


class PartitionNow(BaseModel):
    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    adding: list[int]
    removing: list[int]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    followers: list[Replica]


class TopicNow(BaseModel):
    name: str
    topic_id: str
    partitions: list[PartitionNow]
    configs: dict[str, str]


class TopicLine(BaseModel):
    name: str
    topic_id: str
    partitions: int
    replication_factor: int


def clock_now(hosted: HostedCluster) -> ClockNow:
    driver = hosted.driver
    reached = driver.clock.reached()
    return ClockNow(
        kind=hosted.cluster.clock.kind,
        elapsed_ms=driver.elapsed_ms,
        mono_ms=reached.mono_ms,
        wall_ms=reached.wall_ms,
        is_pending=driver.cluster.has_deadlines,
    )


def brokers_now(hosted: HostedCluster, leads: Mapping[int, int]) -> list[BrokerNow]:
    """Return the state of all brokers. `leads` has the number of led partitions by broker."""
    core = hosted.core
    connections: dict[int, int] = {}
    for connection in hosted.driver.transports:
        connections[connection.broker_id] = connections.get(connection.broker_id, 0) + 1
    return [broker_now(core, broker_id, leads, connections) for broker_id in core.registry.broker_ids]


def broker_now(core: Cluster, broker_id: int, leads: Mapping[int, int], connections: dict[int, int]) -> BrokerNow:
    endpoint = core.registry[broker_id].endpoint()
    is_running = core.lives.is_running(broker_id)
    return BrokerNow(
        id=broker_id,
        host=endpoint.host,
        port=endpoint.port,
        rack=core.registry[broker_id].rack,
        is_running=is_running,
        state=core.lives.state_of(broker_id),
        leads=leads.get(broker_id, 0),
        connections=connections.get(broker_id, 0),
    )


async def cluster_now(hosted: HostedCluster, lease_ms: int | None = None) -> ClusterNow:
    core = hosted.core
    counts = await count_partitions(core)
    return ClusterNow(
        id=hosted.cluster_id,
        cluster_id=core.metadata.cluster_id,
        bootstrap_servers=hosted.cluster.bootstrap_servers,
        listeners=[
            ListenerNow(name=name, protocol=protocol, bootstrap_servers=hosted.cluster.bootstrap(name))
            for name, protocol, _ in hosted.cluster.listeners
        ],
        brokers=brokers_now(hosted, counts.led),
        clock=clock_now(hosted),
        topics=len(core.metadata.topics()),
        partitions=counts.partitions,
        under_replicated=counts.under_replicated.total(),
        under_min_isr=counts.under_min_isr.total(),
        offline=counts.offline,
        waiting=len(hosted.told.waits),
        lease_ms=lease_ms,
    )


def topic_text(core: Cluster, name: str) -> Slices[str]:
    """Return a TopicNow as JSON. Each partition is as it is at its turn. Raises KafkaError if there is no such topic,
    or if it is deleted meanwhile."""
    topic = core.controller.existing(name)
    now = TopicNow(name=topic.name, topic_id=str(topic.topic_id), partitions=[], configs=dict(topic.configs))
    partitions: list[str] = []
    for partition in list(topic.partitions):
        partitions.append(partition_now(core, partition).model_dump_json())
        if len(partitions) % _LINES_OF_A_SLICE == 0:
            yield
            if core.metadata.topic(name) is not topic:
                raise KafkaError(ErrorCode.unknown_topic_or_partition, f"topic {name!r} was deleted meanwhile")
    before, _, after = now.model_dump_json().partition('"partitions":[]')
    return f'{before}"partitions":[{",".join(partitions)}]{after}'


def topic_line(topic: Topic) -> TopicLine:
    return TopicLine(
        name=topic.name,
        topic_id=str(topic.topic_id),
        partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
    )


def partition_now(core: Cluster, partition: Partition) -> PartitionNow:
    has_leader = partition.leader_id != NO_LEADER
    return PartitionNow(
        partition=partition.topic_partition.partition,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replicas=partition.replica_ids,
        isr=partition.isr_ids,
        adding=list(partition.adding),
        removing=list(partition.removing),
        log_start_offset=partition.leader_log.log_start_offset if has_leader else -1,
        log_end_offset=partition.leader_log.log_end_offset if has_leader else -1,
        high_watermark=partition.high_watermark if has_leader else -1,
        followers=[
            Replica(
                broker=broker_id,
                is_in_sync=replica.is_in_sync,
                behaviour=str(core.followers.of_broker(partition, broker_id).behaviour),
                log_end_offset=replica.log.log_end_offset,
            )
            for broker_id, replica in partition.replicas.items()
            if broker_id != partition.leader_id
        ],
    )


def named(values: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a NamedTuple."""
    fields: dict[str, Any] = values._asdict()  # type: ignore[attr-defined]
    return fields
