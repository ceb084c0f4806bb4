"""The machine that users subclass: faults as rules, over real sockets, on a clock that only the test moves."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule
from support.watchdog import LIMIT_S

from fakebroker.testing import ClientMachine, check_history, wire


class Producer:
    """Idempotent: a batch that it sends again is known by its sequence."""

    def __init__(self, machine: ClientMachine) -> None:
        self.machine = machine
        self.sequence = 0
        self.number = 0

    def send(self, value: bytes, timeout_ms: int) -> int:
        batch = wire.batch(value, 1, time.time_ns() // 1_000_000, 77, 0, self.sequence)
        self.sequence += 1
        error = 7
        for endpoint in self.machine.kafka.endpoints * 2:
            self.number += 1
            try:
                with socket.create_connection((endpoint.host, endpoint.port), timeout=LIMIT_S) as link:
                    link.sendall(wire.produce(self.number, -1, timeout_ms, [(("t", 0), batch)]))
                    (size,) = struct.unpack(">i", link.recv(4, socket.MSG_WAITALL))
                    [(_, error, _)] = wire.read_produce_answer(link.recv(size, socket.MSG_WAITALL))
            except (OSError, struct.error):
                continue
            if error == 0:
                return 0
        return error


class Idempotent(ClientMachine):
    """A machine that checks that no record is lost or duplicated."""

    topic_config: ClassVar[dict[str, int]] = {"min.insync.replicas": 2}

    def setup_client(self) -> None:
        self.producer = Producer(self)
        self.acknowledged = 0

    @rule(timeout_ms=st.sampled_from((50, 30_000)))
    def produce(self, timeout_ms: int) -> None:
        value = b"record %d" % self.producer.sequence
        self.acknowledged += self.call(self.producer.send, value, timeout_ms) == 0

    def check(self) -> None:
        partition = self.kafka.journal.produce(topic="t").requests()
        assert len(partition) >= self.acknowledged


TestIdempotent = Idempotent.TestCase
TestIdempotent.settings = settings(max_examples=12, stateful_step_count=10)


@pytest.fixture
def machine() -> Iterator[Idempotent]:
    made = Idempotent()
    yield made
    made.kafka.stop()


def test_the_brokers_time_passes_while_the_client_waits(machine: Idempotent) -> None:
    machine.freeze_followers(0)
    before = machine.kafka.clock.elapsed_ms
    assert machine.call(machine.producer.send, b"v", 90_000) != 0  # `call` allows 30 s of real time
    assert machine.kafka.clock.elapsed_ms - before >= 90_000
    machine.kafka.journal.produce(topic="t").expect("REQUEST_TIMED_OUT")


def test_what_the_client_raises_is_raised(machine: Idempotent) -> None:
    def fail() -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        machine.call(fail)


def test_a_client_that_hangs_is_given_up(machine: Idempotent) -> None:
    end = threading.Event()
    machine.call_limit_s = 0.05  # type: ignore[misc]
    with pytest.raises(TimeoutError, match=r"has not returned within 0\.05 s"):
        machine.call(end.wait)
    end.set()


def test_the_faults_are_real(machine: Idempotent) -> None:
    machine.stop_broker(0)
    assert machine.stopped == {1}
    machine.move_leader(0, 0)  # is refused: that broker is stopped
    machine.let_followers_lag(0, 400)
    assert machine.call(machine.producer.send, b"v", 30_000) == 0
    machine.start_brokers()
    machine.move_leader(0, 2)
    machine.let_followers_catch_up(0)
    assert machine.call(machine.producer.send, b"w", 30_000) == 0
    assert check_history(machine.kafka.journal) == []
