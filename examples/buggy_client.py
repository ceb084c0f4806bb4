"""A producer with a well-known bug, and how the kit finds it: it sends again what was answered REQUEST_TIMED_OUT.

Error 7 does not mean "not written": the record is in the log, and only its replication took too long. A producer that
is not idempotent and sends it again writes it twice.

pip install hypothesis
python examples/buggy_client.py
"""

from __future__ import annotations

import socket
import struct
import time
from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from fakebroker.testing import ClientMachine, wire

NONE, REQUEST_TIMED_OUT = 0, 7


class OrderClient:
    """Writes orders to partition 0 of one topic, acks=all, one at a time."""

    def __init__(self, host: str, port: int, topic: str, retries: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=10)
        self._topic = topic
        self._retries = retries
        self._number = 0

    def place(self, order: str, timeout_ms: int) -> int:
        """Returns the error that the order ended with."""
        records = wire.batch(order.encode(), 1, time.time_ns() // 1_000_000)
        error = self._send(records, timeout_ms)
        for _ in range(self._retries):
            if error == REQUEST_TIMED_OUT:  # the bug: it may be in the log already
                error = self._send(records, timeout_ms)
        return error

    def _send(self, records: bytes, timeout_ms: int) -> int:
        self._number += 1
        self._socket.sendall(wire.produce(self._number, -1, timeout_ms, [((self._topic, 0), records)]))
        (size,) = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        [(_, error, _)] = wire.read_produce_answer(self._socket.recv(size, socket.MSG_WAITALL))
        return error

    def close(self) -> None:
        self._socket.close()


class Orders(ClientMachine):
    """The client among faults. Brokers keep running: this client does not look for a new leader."""

    topic = "orders"
    topic_config: ClassVar[dict[str, int]] = {"min.insync.replicas": 2}
    broker_config: ClassVar[dict[str, int]] = {"replica.lag.time.max.ms": 600_000}
    min_running_brokers = 3
    retries = 2

    def setup_client(self) -> None:
        leader = self.kafka.endpoints[0]
        self.client = OrderClient(leader.host, leader.port, self.topic, self.retries)
        self.placed = 0

    @rule(timeout_ms=st.sampled_from((100, 1_000, 30_000)))
    def place_order(self, timeout_ms: int) -> None:
        self.placed += 1
        self.call(self.client.place, f"order {self.placed}", timeout_ms)

    def close_client(self) -> None:
        self.client.close()


class OrdersWithoutRetries(Orders):
    """An `Orders` client without the bug."""

    retries = 0


def find(machine: type[ClientMachine]) -> str | None:
    """Return what the kit finds, or None."""
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=20,
                stateful_step_count=8,
                derandomize=True,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=[HealthCheck.too_slow],
                database=None,
                print_blob=False,
            ),
        )
    except AssertionError as error:
        return str(error).splitlines()[0]
    return None


if __name__ == "__main__":
    print("retries error 7:", find(Orders))
    print("gives up:       ", find(OrdersWithoutRetries))
