"""Requests of the harness itself to a cluster, over the wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from threading import Lock
from typing import Any

from conformance import frames
from conformance.scenario import Topic
from conformance.targets.wire import Connection
from fakebroker.apis.features import supported_features
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.messages import api_name, decode_response

METADATA, CREATE_TOPICS, DELETE_TOPICS, OFFSET_FOR_LEADER_EPOCH = 3, 19, 20, 23
ELECT_LEADERS, ALTER_PARTITION_REASSIGNMENTS, ALTER_CLIENT_QUOTAS, UPDATE_FEATURES = 43, 45, 49, 57
LIMIT_S = 60.0
_UNSAFE_DOWNGRADE = 3


class Admin:
    """Requests to a cluster that the harness itself sends, from any thread, one after the other. Raises RuntimeError
    for an error code."""

    def __init__(self, connect: Callable[[int], Connection], now_s: Callable[[], float]) -> None:
        self._connect = connect
        self._now_s = now_s
        self._connections: dict[int, Connection] = {}
        self._lock = Lock()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def ask(self, api_key: int, version: int, frame: bytes, broker: int = 1) -> Any:
        with self._lock:
            answer = self._answer(api_key, version, frame, broker)
        return decode_response(api_key, version, answer)[1]

    def _answer(self, api_key: int, version: int, frame: bytes, broker: int) -> bytes:
        connection = self._connections.get(broker)
        if connection is None or connection.closed:
            connection = self._connections[broker] = self._connect(broker)
        seen = len(connection.arrivals)
        connection.send(frame)
        connection.wait(seen, self._now_s() + LIMIT_S)
        if len(connection.arrivals) == seen:
            instead = "closed the connection" if connection.closed else f"was silent for {LIMIT_S:.0f} s"
            raise RuntimeError(f"{api_name(api_key)} v{version} was not answered: broker {broker} {instead}")
        return connection.arrivals[seen].frame

    def request(self, api_key: int, version: int, values: Mapping[str, Any]) -> Any:
        return self.ask(api_key, version, frames.request(api_key, version, values))

    def create_topics(self, topics: Sequence[Topic]) -> None:
        answer = self.ask(CREATE_TOPICS, 7, frames.create_topics([_creation(topic) for topic in topics]))
        for created in answer.topics:
            check(created.error_code, f"creating {created.name}: {created.error_message}")
        for topic in topics:
            for partition in {0, topic.partitions - 1}:
                self.await_leader(topic.name, partition, topic.leader)

    def await_leader(self, topic: str, partition: int, broker: int) -> None:
        """Wait until the broker itself reports that it leads."""
        frame = frames.end_offset(topic, partition)
        limit = self._now_s() + LIMIT_S
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
        check(answer.responses[0].error_code, f"deleting {name}")

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Make the broker the preferred leader, then elect it."""
        [topic_metadata] = self.metadata([topic])
        replicas = next(list(p.replica_nodes) for p in topic_metadata.partitions if p.partition_index == partition)
        order = [broker] + [replica for replica in replicas if replica != broker]
        part = {"partition_index": partition, "replicas": order}
        answer = self.request(
            ALTER_PARTITION_REASSIGNMENTS,
            0,
            {"timeout": timedelta(seconds=30), "topics": [{"name": topic, "partitions": [part]}]},
        )
        check(answer.error_code, f"reassigning {topic}")
        answer = self.request(
            ELECT_LEADERS,
            2,
            {
                "election_type": 0,
                "topic_partitions": [{"topic": topic, "partitions": [partition]}],
                "timeout": timedelta(seconds=30),
            },
        )
        check(answer.error_code, f"electing {broker} for {topic}")
        self.await_leader(topic, partition, broker)

    def lower_features(self, levels: Mapping[str, int]) -> None:
        """Lower those of the features that are supported."""
        supported = supported_features()
        updates = [
            {"feature": name, "max_version_level": level, "upgrade_type": _UNSAFE_DOWNGRADE}
            for name, level in levels.items()
            if name in supported
        ]
        if updates:
            values = {"timeout": timedelta(seconds=30), "feature_updates": updates, "validate_only": False}
            check(self.request(UPDATE_FEATURES, 1, values).error_code, f"lowering {sorted(levels)}")

    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None:
        ops = [{"key": name, "value": value, "remove": False} for name, value in quotas.items()]
        entry = {"entity": [{"entity_type": "client-id", "entity_name": client_id}], "ops": ops}
        answer = self.request(ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})
        check(answer.entries[0].error_code, f"quota of {client_id}")


def _creation(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "assignments": [{"partition_index": i, "broker_ids": topic.broker_ids} for i in range(topic.partitions)],
        "configs": [{"name": name, "value": value} for name, value in topic.configs.items()],
    }


def check(code: ErrorCode, what: str) -> None:
    if code is not ErrorCode.none:
        raise RuntimeError(f"{what} failed with {kafka_name(code)}")
