"""The admin of a walk: it creates, grows and deletes topics, deletes records, and alters settings.

Topics are called after the group, so each walk has its own.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from conformance import frames
from conformance.generated.walks.walk import GROUP, Step

_CREATE_TOPICS, _DELETE_TOPICS, _DELETE_RECORDS, _CREATE_PARTITIONS, _ALTER_CONFIGS = 19, 20, 21, 37, 44
_TOPIC, _GROUP = 2, 32  # kinds of resources
_LIMIT = timedelta(seconds=10)
ADMIN = "d8"  # its connection; it shares a letter with a member, and no connection


class AdminWalker:
    """The part of a walk that is not of members. `topics` are two names; the first is there from the start."""

    def __init__(self, random: Random, brokers: int = 1) -> None:
        self._random = random
        self._brokers = brokers
        self.steps: list[Step] = []
        self._number = 0
        self.topics = [f"{GROUP}-t1", f"{GROUP}-t2"]
        self._partitions: dict[str, int] = {}
        self._coordinator = 1

    def _begin(self) -> None:
        self._create(self.topics[0])

    def _administer(self) -> None:
        name = self._a_topic()
        if name not in self._partitions:
            self._create(name)
            return
        self._random.choices(
            [self._grow, self._delete_topic, self._write, self._delete_records, self._alter_topic, self._alter_group],
            [3, 1, 2, 2, 1, 1],
        )[0](name)

    def _create(self, name: str) -> None:
        self._partitions[name] = self._random.choice([1, 2, 3, 4])
        assignments = [
            {"partition_index": index, "broker_ids": list(range(1, self._brokers + 1))}
            for index in range(self._partitions[name])
        ]
        topic = {"name": name, "assignments": assignments, "configs": []}
        self._ask(frames.create_topics([topic], correlation_id=self._next()))

    def _grow(self, name: str) -> None:
        more = self._random.choice([0, 1, 1, 2])
        self._partitions[name] += more
        placed = [{"broker_ids": list(range(1, self._brokers + 1))} for _ in range(more)]  # where Kafka would by chance
        topic = {"name": name, "count": self._partitions[name], "assignments": placed or None}
        values = {"topics": [topic], "timeout": _LIMIT, "validate_only": False}
        self._ask(frames.request(_CREATE_PARTITIONS, self._random.choice([1, 2, 3]), values, self._next()))

    def _delete_topic(self, name: str) -> None:
        del self._partitions[name]
        self._ask(frames.delete_topics([name], correlation_id=self._next()))

    def _write(self, name: str) -> None:
        records = frames.batch(*(b"%d" % number for number in range(self._random.choice([1, 3]))))
        partition = self._random.randrange(self._partitions[name])
        self._ask(frames.produce(name, {partition: records}, correlation_id=self._next()))

    def _delete_records(self, name: str) -> None:
        part = {"partition_index": self._random.randrange(self._partitions[name])}
        part["offset"] = self._random.choice([-1, 0, 1, 2, 5])
        values = {"topics": [{"name": name, "partitions": [part]}], "timeout": _LIMIT}
        self._ask(frames.request(_DELETE_RECORDS, self._random.choice([1, 2]), values, self._next()))

    def _alter_topic(self, name: str) -> None:
        key, value = self._random.choice(
            [("max.message.bytes", "2000"), ("retention.bytes", "1000000"), ("min.insync.replicas", "2"), ("no", "1")]
        )
        self._alter(_TOPIC, name, key, value)

    def _alter_group(self, name: str) -> None:
        key, value = self._random.choice(
            [
                ("consumer.session.timeout.ms", "50000"),
                ("consumer.heartbeat.interval.ms", "6000"),
                ("consumer.session.timeout.ms", "1"),
            ]
        )
        self._alter(_GROUP, GROUP, key, value)

    def _alter(self, kind: int, name: str, key: str, value: str) -> None:
        configs: list[Any] = [{"name": key, "config_operation": 0, "value": value}]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        values = {"resources": [resource], "validate_only": self._rarely()}
        self._ask(frames.request(_ALTER_CONFIGS, 1, values, self._next()))

    def _a_topic(self) -> str:
        return self._random.choice(self.topics)

    # Chance.

    def _rarely(self) -> bool:
        return self._random.random() < 0.12

    def _very_rarely(self) -> bool:
        return self._random.random() < 0.04

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _ask(self, frame: bytes) -> None:
        self.steps.append(Step(ADMIN, frame, settles=True))
