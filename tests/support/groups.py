"""Groups of stock clients: brokers, topics with records, and members that are processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.forked import popen
from support.watchdog import LIMIT_S, wait_until

FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH = 10, 8, 9
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS, OFFSET_DELETE = 15, 16, 42, 47
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
CLASSIC = (
    FIND_COORDINATOR, JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH
)  # fmt: skip
_TESTS = Path(__file__).parents[1]


class Brokers:
    """Brokers that run, by their address."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def topic(self, partitions: int) -> str:
        """Create a topic."""
        name = f"topic-{uuid.uuid4()}"
        for future in self.admin.create_topics([NewTopic(name, partitions, 3)]).values():
            future.result(LIMIT_S)
        return name

    def produce(self, topic: str, partitions: int, each: int, what: str = "value") -> set[str]:
        """Produce records to each partition; return their values."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0})
        values = set()
        for partition in range(partitions):
            for number in range(each):
                value = f"{what}-{partition}-{number}"
                values.add(value)
                producer.produce(topic, value, partition=partition)
        assert producer.flush(LIMIT_S) == 0
        return values


class Member:
    """A member in a separate process, while the block lasts."""

    def __init__(
        self,
        client: str,
        brokers: Brokers,
        group: str,
        topic: str,
        settings: Mapping[str, Any],
        stop_after: int | None = None,
    ) -> None:
        plan = {
            "client": client,
            "bootstrap": brokers.bootstrap,
            "group": group,
            "topic": topic,
            "settings": dict(settings),
            "stop_after": stop_after,
        }
        self._command = [sys.executable, "-W", "ignore", "-m", "support.group_member", json.dumps(plan)]
        self.told: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        path = os.pathsep.join(filter(None, (str(_TESTS), os.environ.get("PYTHONPATH"))))
        self._process = popen(self._command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.told.append(json.loads(line))

    def kill(self) -> None:
        """Kill the member, without a LeaveGroup."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def close(self) -> None:
        """Close the member, which leaves its group."""
        self._process.send_signal(signal.SIGTERM)
        self.await_end()

    def await_end(self) -> None:
        """Wait until the member ends by itself."""
        assert self._process.wait(LIMIT_S) == 0
        self._reader.join()
        assert self.told[-1] == {"closed": True}

    @property
    def assignments(self) -> list[list[int]]:
        """Return the assignments in order."""
        return [message["assigned"] for message in self.told if "assigned" in message]

    @property
    def assigned(self) -> list[int]:
        return (self.assignments or [[]])[-1]

    @property
    def revoked(self) -> set[int]:
        return {partition for message in self.told for partition in message.get("revoked", ())}

    @property
    def values(self) -> list[str]:
        return [value for message in self.told for value in message.get("read", ())]


@contextmanager
def members(
    count: int, client: str, brokers: Brokers, group: str, topic: str, settings: Mapping[str, Any]
) -> Iterator[list[Member]]:
    """Run several members at once."""
    made = [Member(client, brokers, group, topic, settings) for _ in range(count)]
    try:
        yield [member.__enter__() for member in made]
    finally:
        for member in made:
            member.kill()


def await_shares(parties: list[Member], sizes: list[int]) -> None:
    """Wait until each partition has one owner, and members have so many of them."""

    def is_so() -> bool:
        owned = [partition for member in parties for partition in member.assigned]
        shares = sorted(len(member.assigned) for member in parties)
        return sorted(owned) == list(range(sum(sizes))) and shares == sorted(sizes)

    try:
        wait_until(is_so, f"shares of {sizes}")
    except AssertionError as error:
        raise AssertionError(f"{error}; assigned: {[member.assignments for member in parties]}") from None


def await_values(parties: list[Member], values: set[str]) -> None:
    """Wait until these values are read."""
    wait_until(lambda: values <= {value for party in parties for value in party.values}, "the last record")
