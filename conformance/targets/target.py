"""Targets of cases: Apache Kafka in a box, fakebroker on sockets. Both are driven over the wire where Kafka has a
request for it, so that the same bytes set both up."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from conformance import frames
from conformance.scenario import ADDED, LOOPBACK, Topic
from conformance.targets.admin import LIMIT_S, Admin, check
from conformance.targets.boxes import BOXES, Box
from conformance.targets.kafka_box import KafkaBox, kafka_version
from conformance.targets.wire import Connection, SocketConnection
from fakebroker import FakeCluster, __version__
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import api_name, decode_response
from fakebroker.server.arising.from_threads import StateFaultInHand

API_VERSIONS, INIT_PRODUCER_ID, DESCRIBE_QUORUM = 18, 22, 55
PLAINTEXT = "PLAINTEXT"
_ANSWER_LIMIT_S = 20.0


class Target(Protocol):
    """A running cluster, with what the steps of a case need."""

    version: str

    def now_s(self) -> float: ...
    def connect(self, broker: int, host: str = LOOPBACK, listener: str = PLAINTEXT) -> Connection: ...
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
    def kill_broker(self, broker: int) -> None: ...
    def pause_broker(self, broker: int) -> None: ...
    def resume_broker(self, broker: int) -> None: ...
    def cut_off(self, broker: int) -> None: ...
    def join(self, broker: int) -> None: ...
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


class _OverTheWire:
    """Operations that both targets do by requests."""

    endpoints: Mapping[int, tuple[str, int]]
    others: dict[tuple[str, int], tuple[str, int]]  # of listeners other than PLAINTEXT
    ca: Path | None = None  # the certificate that clients of listeners with TLS trust

    def __init__(self) -> None:
        self.admin = Admin(self.connect, self.now_s)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.endpoints.values())

    def now_s(self) -> float:
        return time.monotonic()

    def connect(self, broker: int, host: str = LOOPBACK, listener: str = PLAINTEXT) -> Connection:
        if listener in ADDED:
            return self._connect_once_open(ADDED[listener], host)
        endpoint = self.endpoints[broker] if listener == PLAINTEXT else self.others[listener, broker]
        return SocketConnection(endpoint, host, self.ca if listener.endswith("SSL") else None)

    def _connect_once_open(self, endpoint: tuple[str, int], host: str) -> Connection:
        """Connect to a listener that was added just now: a broker of Kafka opens it some time after its response."""
        limit = self.now_s() + LIMIT_S
        while True:
            try:
                return SocketConnection(endpoint, host)
            except ConnectionRefusedError:
                if self.now_s() > limit:
                    raise
                time.sleep(0.02)

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
        [topic_metadata] = self.admin.metadata([topic])
        return next(set(p.isr_nodes) for p in topic_metadata.partitions if p.partition_index == partition)

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topic(topic)


class KafkaTarget(_OverTheWire):
    """Apache Kafka."""

    def __init__(self, box: Box) -> None:
        self.version = kafka_version()
        config = box.placed | box.kafka_only
        apart = box.controller_apart
        self._box = KafkaBox(
            box.brokers,
            config,
            box.features,
            box.racks,
            controller_apart=apart,
            has_cuts=box.has_cuts,
            listeners=box.listeners,
            java_options=[box.place(option) for option in box.java_options],
        )
        self.endpoints, self.others, self.ca = self._box.endpoints, self._box.others, self._box.ca
        super().__init__()

    def start(self) -> None:
        self._box.start()
        for broker in self.endpoints:
            self._await_producer_ids(broker)

    def _await_producer_ids(self, broker: int) -> None:
        """Wait until a broker has its first block of producer ids. Before, it returns COORDINATOR_LOAD_IN_PROGRESS."""
        limit = self.now_s() + LIMIT_S
        while (code := self.admin.ask(INIT_PRODUCER_ID, 4, frames.init_producer_id(), broker).error_code) and (
            self.now_s() < limit
        ):
            time.sleep(0.01)
        check(code, f"asking broker {broker} for a producer id")

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
        """Wait until the broker's metadata are those of the controller: it reports their offset as the epoch of
        features."""
        topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
        decided = self.admin.request(DESCRIBE_QUORUM, 1, {"topics": topics}).topics[0].partitions[0].high_watermark
        frame = frames.api_versions(3)
        limit = self.now_s() + LIMIT_S
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
        self._await_producer_ids(broker)

    def kill_broker(self, broker: int) -> None:
        self._box.kill_broker(broker)

    def pause_broker(self, broker: int) -> None:
        self._box.freeze(broker)

    def resume_broker(self, broker: int) -> None:
        self._box.thaw(broker)

    def cut_off(self, broker: int) -> None:
        self._box.cut_off(broker)

    def join(self, broker: int) -> None:
        self._box.join(broker)

    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None:
        self.admin.set_quota(client_id, quotas)


class FakeTarget(_OverTheWire):
    """fakebroker, on real sockets."""

    def __init__(self, box: Box) -> None:
        self.version = __version__
        listeners = [PLAINTEXT, *box.listeners]
        self._cluster = FakeCluster(box.brokers, config=box.placed, racks=box.racks, life="first", listeners=listeners)
        self._listeners = box.listeners
        self._features = box.features
        self._cuts: dict[int, StateFaultInHand] = {}
        super().__init__()

    def start(self) -> None:
        self._cluster.start()
        self.endpoints = {node.node_id: (node.host, node.port) for node in self._cluster.endpoints}
        self.others = {}
        if any(listener.endswith("SSL") for listener in self._listeners):
            self.ca = self._cluster.tls.ca
        for listener in self._listeners:
            for broker_id, place in zip(self.endpoints, self._cluster.bootstrap(listener).split(","), strict=True):
                host, _, port = place.rpartition(":")
                self.others[listener, broker_id] = host, int(port)
        self.admin.lower_features(self._features)

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
        limit = self.now_s() + LIMIT_S
        while self._cluster.brokers[broker].state != "stopped" and self.now_s() < limit:
            time.sleep(0.02)

    def start_broker(self, broker: int) -> None:
        self._cluster.brokers[broker].start()
        limit = self.now_s() + LIMIT_S
        while self._cluster.brokers[broker].state != "running" and self.now_s() < limit:
            time.sleep(0.02)

    def kill_broker(self, broker: int) -> None:
        self._cluster.brokers[broker].kill()

    def pause_broker(self, broker: int) -> None:
        self._cluster.brokers[broker].pause()

    def resume_broker(self, broker: int) -> None:
        self._cluster.brokers[broker].resume()

    def cut_off(self, broker: int) -> None:
        self._cuts[broker] = self._cluster.faults.partition([broker], [], controller="b")

    def join(self, broker: int) -> None:
        self._cuts.pop(broker).heal()

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
