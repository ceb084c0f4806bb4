"""Transactional producers over raw frames, one transaction at a time each, with one record (requests.py).

A producer that gets CONCURRENT_TRANSACTIONS sends the same request again after 20 ms. The Java client does so at the
begin of a transaction (TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS). While a broker is warmed up, a producer
also sends again if Kafka's coordinator does not know the topic yet. Any other error ends the measurement.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from benchmarks.drivers.driver import Address
from benchmarks.peers.brokers import Broker, ask
from benchmarks.transactions.requests import ERROR_AT_END, Frames
from conformance import frames
from fakebroker.protocol.messages import decode_response

FIND_COORDINATOR, INIT_PRODUCER_ID = 10, 22
FIND_VERSION, INIT_VERSION = 2, 4
CONCURRENT_TRANSACTIONS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR = 51, 14, 16
UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER = 3, 6
TIMEOUT: Final = timedelta(minutes=15)  # of a transaction: the most that brokers allow
WAIT_S, AGAIN_S = 30.0, 0.020


@dataclass
class Took:
    """Results of some producers; times are milliseconds."""

    transactions: int = 0
    again: int = 0  # how often CONCURRENT_TRANSACTIONS was told
    ends: list[float] = field(default_factory=list)  # EndTxn and its answer
    until_next: list[float] = field(default_factory=list)  # from EndTxn to the answer to the next record
    seconds: float = 0.0


def coordinator_of(broker: Broker, transactional_id: str) -> Address:
    """Return the transaction coordinator as soon as there is one."""
    until = time.monotonic() + WAIT_S
    while True:
        request = frames.request(FIND_COORDINATOR, FIND_VERSION, {"key": transactional_id, "key_type": 1})
        answer = ask(broker.address, FIND_COORDINATOR, FIND_VERSION, request)
        if not answer.error_code:
            return answer.host, answer.port
        if time.monotonic() > until:
            raise RuntimeError(f"{broker.name} finds no coordinator: {answer.error_code!r}")
        time.sleep(0.05)


class Connections:
    """One to each broker that is asked, for what is prepared one by one."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._open: dict[Address, socket.socket] = {}

    def ask(self, address: Address, api_key: int, version: int, values: dict[str, Any]) -> Any:
        return decode_response(api_key, version, self.raw(address, frames.request(api_key, version, values))[4:])[1]

    def raw(self, address: Address, frame: bytes) -> bytes:
        if address not in self._open:
            self._open[address] = connected(self._stack, address)
        return exchange(self._open[address], frame)

    def init(self, address: Address, transactional_id: str, timeout: timedelta = TIMEOUT) -> tuple[int, int]:
        """Producer id and epoch, once the coordinator has loaded."""
        values = {
            "transactional_id": transactional_id,
            "transaction_timeout": timeout,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        until = time.monotonic() + WAIT_S
        while True:
            answer = self.ask(address, INIT_PRODUCER_ID, INIT_VERSION, values)
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            may_wait = int(answer.error_code) in {
                CONCURRENT_TRANSACTIONS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
            }  # fmt: skip
            if not may_wait or time.monotonic() > until:
                raise RuntimeError(f"{transactional_id} gets no producer id: {answer.error_code!r}")
            time.sleep(AGAIN_S)


def connected(stack: ExitStack, address: Address) -> socket.socket:
    sock = stack.enter_context(socket.create_connection(address, timeout=WAIT_S))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def exchange(sock: socket.socket, frame: bytes) -> bytes:
    """Send and wait for the answer, with its length."""
    sock.sendall(frame)
    data = sock.recv(1 << 16)
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        more = sock.recv(1 << 16)
        if not more:
            raise RuntimeError("the broker closed a connection")
        data += more
    return data


class Producer:
    """One transaction after the other. `coordinator` and `leader` are connections to its coordinator, and to the
    leader of its partition."""

    def __init__(self, made: Frames, coordinator: socket.socket, leader: socket.socket) -> None:
        self.frames = made
        self.coordinator = coordinator
        self.leader = leader


def run(producers: Sequence[Producer], run_s: float, most: int = 1 << 62, is_warm: bool = True) -> Took:
    """All of them at once, for so long or so many transactions; then each ends the one it has. Brokers that are not
    warm yet may not have heard of the topic."""
    took = Took()
    with selectors.DefaultSelector() as selector:
        crowd = [_Run(producer, took, selector, is_warm) for producer in producers]
        began = time.perf_counter()
        until = began + run_s
        for producer_run in crowd:
            producer_run.go_on()
        left = len(crowd)
        later: list[tuple[float, _Run]] = []
        while left:
            ready = selector.select(max(0.0, later[0][0] - time.perf_counter()) if later else WAIT_S)
            if not ready and not later:
                raise RuntimeError(f"no answer in {WAIT_S:.0f} s")
            is_over = time.perf_counter() > until or took.transactions >= most
            for key, _ in ready:
                producer_run = key.data
                outcome = producer_run.read(key.fileobj, is_over)
                if outcome == "again":
                    later.append((time.perf_counter() + AGAIN_S, producer_run))
                elif outcome == "over":
                    left -= 1
            while later and later[0][0] <= time.perf_counter():
                later.pop(0)[1].send_again()
        took.seconds = time.perf_counter() - began
    return took


class _Run:
    """A producer while it is driven."""

    def __init__(self, producer: Producer, took: Took, selector: selectors.BaseSelector, is_warm: bool) -> None:
        self._frames = producer.frames
        self._coordinator, self._leader = producer.coordinator, producer.leader
        self._took = took
        self._new = () if is_warm else (UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER)
        for sock in {producer.coordinator, producer.leader}:
            selector.register(sock, selectors.EVENT_READ, self)
        self._asked = ""
        self._sent = (producer.leader, b"")
        self._end_sent = 0.0

    def go_on(self) -> None:
        """The next request."""
        if self._asked in ("", "end"):
            if self._frames.version == 1:
                self._send("add", self._coordinator, self._frames.add)
                return
            self._send("produce", self._leader, self._frames.produce)
        elif self._asked == "add":
            self._send("produce", self._leader, self._frames.produce)
        else:
            self._end_sent = time.perf_counter()
            self._send("end", self._coordinator, self._frames.end)

    def _send(self, request_name: str, sock: socket.socket, frame: bytes) -> None:
        self._asked = request_name
        self._sent = sock, frame
        sock.sendall(frame)

    def send_again(self) -> None:
        sock, frame = self._sent
        sock.sendall(frame)

    def read(self, sock: Any, is_over: bool) -> str:
        """Read a response and return "again", "over", or nothing in particular. The response is small, and comes as a
        whole."""
        answer: bytes = sock.recv(1 << 16)
        if len(answer) < 4 or len(answer) != 4 + int.from_bytes(answer[:4], "big"):
            raise RuntimeError(f"{len(answer)} bytes are no answer")
        request_name = self._asked
        at = (
            self._frames.produced_error_at
            if request_name == "produce"
            else self._frames.added_error_at
            if request_name == "add"
            else ERROR_AT_END
        )
        error = int.from_bytes(answer[at : at + 2], "big", signed=True)
        if error == CONCURRENT_TRANSACTIONS:
            self._took.again += 1
            return "again"
        if error in self._new:
            return "again"
        if error:
            raise RuntimeError(f"{request_name} is answered error {error}")
        if request_name == "produce" and self._end_sent:
            self._took.until_next.append((time.perf_counter() - self._end_sent) * 1000)
        elif request_name == "end":
            self._took.ends.append((time.perf_counter() - self._end_sent) * 1000)
            self._took.transactions += 1
            self._frames.ended(answer)
            if is_over:
                self._end_sent = 0.0
                self._asked = ""
                return "over"
        self.go_on()
        return ""
