"""A cluster that programs do things exactly once on, Apache Kafka or fakebroker: what happens to it is asked for over
the wire, or done to its brokers' processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from conformance.clients.exactly_once.brokers import OFFSETS, TRANSACTIONS
from conformance.targets.admin import ALTER_PARTITION_REASSIGNMENTS, check
from conformance.targets.target import FakeTarget, KafkaTarget
from conformance.transactions.frames import FIND_COORDINATOR

_LIMIT_S = 60.0
_POLL_S = 0.05
_GROUP, _TRANSACTION = 0, 1  # what a coordinator is of


class OnTarget:
    """A target of three brokers with internal topics of one partition each, as those of the box "exactly-once"."""

    def __init__(self, target: KafkaTarget | FakeTarget) -> None:
        self.target = target
        self.bootstrap_servers = target.bootstrap_servers
        self.brokers: Mapping[int, OnTargetBroker] = {broker: OnTargetBroker(target, broker) for broker in (1, 2, 3)}

    def make_internal_topics(self) -> None:
        """Make the internal topics: the first FindCoordinator creates them."""
        for key_type in (_GROUP, _TRANSACTION):
            values = {"key_type": key_type, "coordinator_keys": ["nobody"]}
            self._await(lambda values=values: not self._ask(values).error_code, f"a coordinator of {key_type}")  # type: ignore[misc]

    def _ask(self, values: Mapping[str, Any]) -> Any:
        return self.target.admin.request(FIND_COORDINATOR, 4, values).coordinators[0]

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        self.target.move_leader(topic, partition, broker)

    def reassign(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """Place the partition on these replicas, wait until all are in sync, and let the first one lead."""
        part = {"partition_index": partition, "replicas": list(brokers)}
        values = {"timeout": timedelta(seconds=30), "topics": [{"name": topic, "partitions": [part]}]}
        answer = self.target.admin.request(ALTER_PARTITION_REASSIGNMENTS, 0, values)
        check(answer.error_code, f"reassigning {topic}")

        def is_so() -> bool:
            metadata = self._partition(topic, partition)
            return set(metadata.replica_nodes) == set(metadata.isr_nodes) == set(brokers)

        self._await(is_so, f"{topic}-{partition} is on {brokers}")
        self._lead(topic, partition, brokers[0])

    @property
    def internal(self) -> Mapping[str, int]:
        """Return the number of partitions of the internal topics."""
        return {TRANSACTIONS: 1, OFFSETS: 1}

    def await_whole(self, topics: Iterable[tuple[str, int]]) -> None:
        """Wait until all replicas of these topics, which have so many partitions, are in sync."""
        for topic, partitions in topics:
            for partition in range(partitions):
                self._await_whole(topic, partition)

    def balance(self, leaders: Mapping[tuple[str, int], int]) -> None:
        """Once all replicas are in sync, these brokers lead these partitions."""
        for (topic, partition), broker in leaders.items():
            self._await_whole(topic, partition)
            self._lead(topic, partition, broker)

    def _await_whole(self, topic: str, partition: int) -> None:
        self._await(lambda: self._is_whole(topic, partition), f"all replicas of {topic}-{partition} are in sync")

    def _lead(self, topic: str, partition: int, broker: int) -> None:
        if self._partition(topic, partition).leader_id != broker:
            self.move_leader(topic, partition, broker)

    def _is_whole(self, topic: str, partition: int) -> bool:
        metadata = self._partition(topic, partition)
        return metadata.leader_id >= 0 and set(metadata.isr_nodes) == set(metadata.replica_nodes)

    def _partition(self, topic: str, partition: int) -> Any:
        [topic_metadata] = self.target.admin.metadata([topic])
        return next(part for part in topic_metadata.partitions if part.partition_index == partition)

    def _await(self, holds: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + _LIMIT_S
        while True:
            with suppress(StopIteration):  # the broker has no metadata of the topic yet
                if holds():
                    return
            if time.monotonic() > limit:
                raise RuntimeError(f"it takes longer than {_LIMIT_S:.0f} s until {what}")
            time.sleep(_POLL_S)


class OnTargetBroker:
    def __init__(self, target: KafkaTarget | FakeTarget, broker: int) -> None:
        self._target = target
        self._broker = broker

    def stop(self) -> None:
        self._target.stop_broker(self._broker)

    def start(self) -> None:
        self._target.start_broker(self._broker)

    def kill(self) -> None:
        """Kill the broker at once, without a controlled shutdown."""
        self._target.kill_broker(self._broker)

    def pause(self) -> None:
        """Pause the broker like a stopped process."""
        self._target.pause_broker(self._broker)

    def resume(self) -> None:
        self._target.resume_broker(self._broker)
