"""An address that another cluster takes while clients run, and what is done there by another test."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker import FakeCluster
from fakebroker.core.journal.group_events import MemberJoined
from support.log_reader import leader_of
from support.messages import decode_response
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import Produced, batch, init_producer_id, produce, request
from support.watchdog import wait_until

FIND_COORDINATOR = 10
BEFORE, OTHERS = [b"before-0", b"before-1", b"before-2"], [b"other-%d" % number for number in range(5)]
CONFIG = {
    "auto.create.topics.enable": False,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.min.heartbeat.interval.ms": 100,
}


class Address:
    """The ports of a cluster, and the one that has them. Topic "a" is led by broker 3 at first, in a third epoch."""

    def __init__(self) -> None:
        self._port = free_ports(3)
        self.kafka = self._new()
        self.kafka.create_topic("a", partitions=1, replication_factor=3)
        for broker in (2, 3):
            self.kafka.move_leader("a", 0, broker)

    def _new(self) -> FakeCluster:
        kafka = FakeCluster(port=self._port, config=CONFIG)
        kafka.start()
        return kafka

    def close(self) -> None:
        self.kafka.stop()

    def reset(self) -> None:
        self.kafka.reset()
        self._begin()

    def start_again(self) -> None:
        self.kafka.stop()
        self.kafka.start()
        self._begin()

    def taken_by_another(self) -> None:
        self.kafka.stop()
        self.kafka = self._new()
        self._begin()

    def _begin(self) -> None:
        """Begin the next life: the first topic is the second one now, with another leader, and another test runs
        already."""
        self.kafka.create_topic("b", partitions=1, replication_factor=3)
        self.kafka.create_topic("a", partitions=1, replication_factor=3)
        self.send("b", [b"of b"] * 2 * len(OTHERS))
        self.send("a", OTHERS)

    def send(self, topic: str, values: list[bytes]) -> None:
        """Send with a separate idempotent producer, which gets a producer id of this life."""
        with RawClient(leader_of(self.kafka, topic)) as client:
            producer_id = init_producer_id(client)
            records = batch(*values, producer_id=producer_id, producer_epoch=0, base_sequence=0)
            assert Produced(client.ask(produce(topic, records=records))).partitions[0][0] == 0

    def ask_for_transactions(self) -> None:
        """Use another transactional producer, so that __transaction_state is created."""

        def is_there() -> bool:
            with RawClient(self.kafka.endpoints[0]) as client:
                frame = request(FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": ["another"]})
                _, answer = decode_response(FIND_COORDINATOR, 4, client.ask(frame))
            return bool(answer.coordinators[0].error_code == 0)

        wait_until(is_there, "the coordinator of transactions")

    def has_member(self) -> bool:
        return any(isinstance(event, MemberJoined) for event in self.kafka.journal)

    def refused(self) -> list[str | None]:
        """Return the errors of the responses to Produce requests of this life."""
        return [entry.error for entry in self.kafka.journal.produce(topic="a") if entry.error != "NONE"]


WAYS = {"reset": Address.reset, "started again": Address.start_again, "another": Address.taken_by_another}


def nightly_but_reset(way: str, *values: object) -> Any:
    """Run only the reset by day, and all ways at night."""
    marks = [] if way == "reset" else [pytest.mark.nightly]
    return pytest.param(WAYS[way], *values, id="-".join([way, *map(str, values)]), marks=marks)
