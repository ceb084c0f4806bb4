"""What cases run against: Apache Kafka in a box, fakebroker on sockets. Both are driven over the wire where Kafka has
a request for it, so that the same bytes set both up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from conformance import frames
from conformance.scenario import Topic
from conformance.targets.boxes import BOXES, Box
from conformance.targets.kafka_box import KafkaBox, kafka_version
from conformance.targets.wire import Connection, SocketConnection
from fakebroker import FakeCluster, __version__
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import api_name, decode_response

METADATA, CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 3, 19, 20, 22, 23
ELECT_LEADERS, INCREMENTAL_ALTER_CONFIGS, ALTER_PARTITION_REASSIGNMENTS, ALTER_CLIENT_QUOTAS = 43, 44, 45, 49
API_VERSIONS, DESCRIBE_QUORUM = 18, 55
_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 20.0


class Target(Protocol):
    """A running cluster, with what the steps of a case need."""

    version: str

    def now_s(self) -> float: ...
    def connect(self, broker: int) -> Connection: ...
    def pause(self, ms: int) -> None: ...
    def create_topics(self, topics: Sequence[Topic]) -> None: ...
    def topic_ids(self, names: Sequence[str]) -> dict[str, UUID]: ...
    def isr(self, topic: str, partition: int) -> set[int]: ...
    def freeze(self, broker: int) -> None: ...
    def play(self, broker: int) -> None: ...
    def thaw(self, broker: int) -> None: ...
    def move_leader(self, topic: str, partition: int, broker: int) -> None: ...
    def stop_broker(self, broker: int) -> None: ...
    def start_broker(self, broker: int) -> None: ...
    def delete_topic(self, topic: str) -> None: ...
    def catch_up(self, broker: int) -> None: ...
    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None: ...


def ask(connection: Connection, target: Target, api_key: int, version: int, frame: bytes) -> Any:
    """One request on a connection of its own, and its answer. Raises RuntimeError if none comes."""
    seen = len(connection.arrivals)
    connection.send(frame)
    connection.wait(seen, target.now_s() + _ANSWER_LIMIT_S)
    if len(connection.arrivals) == seen:
        raise RuntimeError(f"{api_name(api_key)} v{version} was not answered")
    return decode_response(api_key, version, connection.arrivals[seen].frame)[1]


class Admin:
    """Requests to a cluster that the harness itself sends. Raises RuntimeError for an error code."""

    def __init__(self, connect: Callable[[int], Connection], now_s: Callable[[], float]) -> None:
        self._connect = connect
        self._now_s = now_s
        self._connections: dict[int, Connection] = {}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def ask(self, api_key: int, version: int, frame: bytes, broker: int = 1) -> Any:
        connection = self._connections.get(broker)
        if connection is None or connection.closed:
            connection = self._connections[broker] = self._connect(broker)
        seen = len(connection.arrivals)
        connection.send(frame)
        connection.wait(seen, self._now_s() + _LIMIT_S)
        if len(connection.arrivals) == seen:
            raise RuntimeError(f"API {api_key} v{version} was not answered")
        return decode_response(api_key, version, connection.arrivals[seen].frame)[1]

    def request(self, api_key: int, version: int, values: Mapping[str, Any]) -> Any:
        return self.ask(api_key, version, frames.request(api_key, version, values))

    def create_topics(self, topics: Sequence[Topic]) -> None:
        answer = self.ask(CREATE_TOPICS, 7, frames.create_topics([_creation(topic) for topic in topics]))
        for each in answer.topics:
            _check(each.error_code, f"creating {each.name}: {each.error_message}")
        for topic in topics:
            for partition in {0, topic.partitions - 1}:
                self._await_leader(topic.name, partition, 1)

    def _await_leader(self, topic: str, partition: int, broker: int) -> None:
        """Until the broker itself says that it leads."""
        frame = frames.end_offset(topic, partition)
        limit = self._now_s() + _LIMIT_S
        while self._now_s() < limit:
            answer = self.ask(OFFSET_FOR_LEADER_EPOCH, 4, frame, broker)
            if answer.topics[0].partitions[0].error_code is ErrorCode.none:
                return
            time.sleep(0.005)
        raise RuntimeError(f"broker {broker} does not lead {topic}-{partition}")

    def metadata(self, names: Sequence[str]) -> Any:
        return self.ask(METADATA, 12, frames.metadata(list(names))).topics

    def delete_topic(self, name: str) -> None:
        answer = self.ask(DELETE_TOPICS, 5, frames.delete_topics([name]))
        _check(answer.responses[0].error_code, f"deleting {name}")

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Make the broker the preferred leader, then elect it."""
        [found] = self.metadata([topic])
        replicas = next(list(p.replica_nodes) for p in found.partitions if p.partition_index == partition)
        order = [broker] + [replica for replica in replicas if replica != broker]
        part = {"partition_index": partition, "replicas": order}
        answer = self.request(
            ALTER_PARTITION_REASSIGNMENTS,
            0,
            {"timeout": timedelta(seconds=30), "topics": [{"name": topic, "partitions": [part]}]},
        )
        _check(answer.error_code, f"reassigning {topic}")
        answer = self.request(
            ELECT_LEADERS,
            2,
            {
                "election_type": 0,
                "topic_partitions": [{"topic": topic, "partitions": [partition]}],
                "timeout": timedelta(seconds=30),
            },
        )
        _check(answer.error_code, f"electing {broker} for {topic}")
        self._await_leader(topic, partition, broker)

    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None:
        ops = [{"key": name, "value": value, "remove": False} for name, value in quotas.items()]
        entry = {"entity": [{"entity_type": "client-id", "entity_name": client_id}], "ops": ops}
        answer = self.request(ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})
        _check(answer.entries[0].error_code, f"quota of {client_id}")


class _OverTheWire:
    """What both targets do by requests."""

    endpoints: Mapping[int, tuple[str, int]]

    def __init__(self) -> None:
        self.admin = Admin(self.connect, self.now_s)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.endpoints.values())

    def now_s(self) -> float:
        return time.monotonic()

    def connect(self, broker: int) -> Connection:
        return SocketConnection(self.endpoints[broker])

    def pause(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def create_topics(self, topics: Sequence[Topic]) -> None:
        self.admin.create_topics(topics)

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        self.create_topics([Topic(name, partitions, replication_factor, dict(configs or {}))])

    def topic_ids(self, names: Sequence[str]) -> dict[str, UUID]:
        return {topic.name: topic.topic_id for topic in self.admin.metadata(names)} if names else {}

    def isr(self, topic: str, partition: int) -> set[int]:
        [found] = self.admin.metadata([topic])
        return next(set(p.isr_nodes) for p in found.partitions if p.partition_index == partition)

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topic(topic)


class KafkaTarget(_OverTheWire):
    """Apache Kafka."""

    def __init__(self, box: Box) -> None:
        self.version = kafka_version()
        self._box = KafkaBox(box.brokers, box.config | box.kafka_only, box.features, box.racks)
        self.endpoints = self._box.endpoints
        super().__init__()

    def start(self) -> None:
        self._box.start()
        # Until its first block of producer ids has come a broker answers COORDINATOR_LOAD_IN_PROGRESS.
        limit = self.now_s() + _LIMIT_S
        for broker in self.endpoints:
            while (code := self.admin.ask(INIT_PRODUCER_ID, 4, frames.init_producer_id(), broker).error_code) and (
                self.now_s() < limit
            ):
                time.sleep(0.01)
            _check(code, f"asking broker {broker} for a producer id")

    def stop(self) -> None:
        self.admin.close()
        self._box.stop()

    def freeze(self, broker: int) -> None:
        self._box.freeze(broker)

    def play(self, broker: int) -> None:
        self._box.freeze(broker)

    def thaw(self, broker: int) -> None:
        self._box.thaw(broker)

    def catch_up(self, broker: int) -> None:
        """Until the broker's metadata are those of the controller: it tells their offset as the epoch of features."""
        asked = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
        decided = self.admin.request(DESCRIBE_QUORUM, 1, {"topics": asked}).topics[0].partitions[0].high_watermark
        frame = frames.api_versions(3)
        limit = self.now_s() + _LIMIT_S
        while self.admin.ask(API_VERSIONS, 3, frame, broker).finalized_features_epoch < decided - 1:
            if self.now_s() > limit:
                raise RuntimeError(f"broker {broker} does not catch up with the controller")
            time.sleep(0.005)

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        self.admin.move_leader(topic, partition, broker)

    def stop_broker(self, broker: int) -> None:
        self._box.stop_broker(broker)

    def start_broker(self, broker: int) -> None:
        self._box.start_broker(broker)
        self._box.await_start(broker)

    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None:
        self.admin.set_quota(client_id, quotas)


class FakeTarget(_OverTheWire):
    """fakebroker, on real sockets."""

    def __init__(self, box: Box) -> None:
        self.version = __version__
        self._cluster = FakeCluster(box.brokers, config=box.config, racks=box.racks)
        super().__init__()

    def start(self) -> None:
        self._cluster.start()
        self.endpoints = {node.node_id: (node.host, node.port) for node in self._cluster.endpoints}

    def stop(self) -> None:
        self.admin.close()
        self._cluster.stop()

    def freeze(self, broker: int) -> None:
        self._cluster.followers.freeze(broker=broker)

    def play(self, broker: int) -> None:
        self._cluster.followers.external(broker=broker)

    def thaw(self, broker: int) -> None:
        with suppress(KafkaError):  # the case may have deleted all that followed there
            self._cluster.followers.instant(broker=broker)

    def catch_up(self, broker: int) -> None:
        """All brokers know everything at once."""

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        self._cluster.move_leader(topic, partition, broker)

    def stop_broker(self, broker: int) -> None:
        self._cluster.brokers[broker].stop()

    def start_broker(self, broker: int) -> None:
        self._cluster.brokers[broker].start()

    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None:
        whole = ("producer_byte_rate", "consumer_byte_rate")
        given: Any = {name: int(value) if name in whole else value for name, value in quotas.items()}
        self._cluster.quotas.set(client_id=client_id, **given)


T = TypeVar("T", KafkaTarget, FakeTarget)


class Targets(Generic[T]):
    """The boxes of one side, each started when it is first asked for."""

    def __init__(self, kind: type[T]) -> None:
        self._kind: type[T] = kind
        self._stack = ExitStack()
        self._running: dict[str, T] = {}

    def __getitem__(self, box: str) -> T:
        if box not in self._running:
            target = self._kind(BOXES[box])
            self._stack.callback(target.stop)
            target.start()
            self._running[box] = target
        return self._running[box]

    def stop(self) -> None:
        """Stop every box that runs."""
        self._running.clear()
        self._stack.close()


def _creation(topic: Topic) -> dict[str, Any]:
    replicas = list(range(1, topic.replicas + 1))
    return {
        "name": topic.name,
        "assignments": [{"partition_index": i, "broker_ids": replicas} for i in range(topic.partitions)],
        "configs": [{"name": name, "value": value} for name, value in topic.configs.items()],
    }


def _check(code: ErrorCode, what: str) -> None:
    if code is not ErrorCode.none:
        raise RuntimeError(f"{what} failed with {kafka_name(code)}")
