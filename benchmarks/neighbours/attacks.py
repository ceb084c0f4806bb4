"""The attacks: which topics they need, what they send on how many connections, and whether they read the answers.

Each costs the attacker little. The tests in tests/server/attacks hold the bounds.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from benchmarks.drivers.driver import Address, Effort, Target, drive
from benchmarks.drivers.frames import MIB, error_at, produce_frame, record_batch
from benchmarks.neighbours import hostile

TOPIC = "busy"
BATCHES = 100_000
LARGE = {"max.message.bytes": str(16 * MIB)}
_SOCKET_LIMIT_S = 30.0


def nothing(_: Address) -> None:
    pass


@dataclass(frozen=True)
class Topic:
    """A topic that an attack can use."""

    name: str = TOPIC
    partitions: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)
    fill: Callable[[Address], None] = nothing


@dataclass(frozen=True)
class Attack:
    name: str
    data: Callable[[], bytes]  # what goes out on each connection; takes a moment to make
    answers: int = 1  # to that
    connections: int = 1
    topics: Sequence[Topic] = (Topic(),)
    reads: bool = True

    @contextmanager
    def running(self, address: Address, data: bytes) -> Iterator[Attackers]:
        """The data go out on each connection, as fast as the broker takes them, while the block runs."""
        with ExitStack() as stack:
            attackers = Attackers(time.monotonic(), self.answers if self.reads else 0)
            stack.callback(attackers.close)
            for _ in range(self.connections):
                attackers.add(socket.create_connection(address, timeout=_SOCKET_LIMIT_S), data)
            yield attackers


class Attackers:
    """The connections of an attack, a thread each."""

    def __init__(self, began: float, answers: int) -> None:
        self._began = began
        self._answers = answers
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._ended: list[float] = []
        self.closed = 0  # by the broker

    def add(self, sock: socket.socket, data: bytes) -> None:
        self._sockets.append(sock)
        self._threads.append(threading.Thread(target=self._attack, args=(sock, data), daemon=True))
        self._threads[-1].start()

    def _attack(self, sock: socket.socket, data: bytes) -> None:
        try:
            sender = threading.Thread(target=_send, args=(sock, data), daemon=True)
            sender.start()
            for _ in range(self._answers):
                size = int.from_bytes(_exactly(sock, 4), "big")
                _skip(sock, size)
            if self._answers:
                self._ended.append(time.monotonic())
            sender.join()
        except (OSError, EOFError):
            self.closed += 1

    def answered_ms(self, limit_s: float) -> float | None:
        """Return the time from the first byte to the last response; None if some are missing in the end."""
        if not self._answers:
            return None
        until = time.monotonic() + limit_s
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0))
        if len(self._ended) < len(self._sockets):
            return None
        return (max(self._ended) - self._began) * 1000

    def waited_ms(self) -> float:
        return (time.monotonic() - self._began) * 1000

    def close(self) -> None:
        for sock in self._sockets:
            with suppress(OSError):  # the broker has gone
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_SOCKET_LIMIT_S)
        for sock in self._sockets:
            sock.close()


def _send(sock: socket.socket, data: bytes) -> None:
    with suppress(OSError):  # the reader notices it too
        sock.sendall(data)


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _skip(sock: socket.socket, size: int) -> None:
    while size:
        part = sock.recv(min(size, MIB))
        if not part:
            raise EOFError
        size -= len(part)


# What some of them need to be there.


def many_batches(address: Address) -> None:
    frame = produce_frame(TOPIC, 0, record_batch(10), acks=1)
    drive([Target(address, [frame])], 500, Effort(0, 60_000, BATCHES), error_at(TOPIC))


def much_data(address: Address) -> None:
    frame = produce_frame(TOPIC, 0, record_batch(MIB), acks=1)
    drive([Target(address, [frame])], 1, Effort(0, 60_000, 56), error_at(TOPIC))


ATTACKS = (
    Attack(
        "119 ListOffsets over 100,000 batches",
        lambda: hostile.search_by_time(TOPIC) * 119,
        119,
        topics=[Topic(fill=many_batches)],
    ),
    Attack("a Fetch of 65,536 partitions", lambda: hostile.fetch_of(TOPIC, 65_536)),
    Attack("Metadata naming 1,000,000 topics", lambda: hostile.metadata_of(1_000_000)),
    Attack(
        "zstd that stands for 14.9 million records",
        lambda: hostile.produce(TOPIC, hostile.records_bomb(14_900_000)),
    ),
    Attack(
        "gzip of 4 MB of empty members",
        lambda: hostile.produce(TOPIC, hostile.gzip_of_members(4_000_000)),
        topics=[Topic(configs=LARGE)],
    ),
    Attack(
        "one record of 2.5 million headers, to be compressed anew",
        lambda: hostile.produce(TOPIC, hostile.headers_bomb(2_500_000)),
        topics=[Topic(configs={"compression.type": "gzip"})],
    ),
    Attack(
        "100 partitions of bombs",
        lambda: hostile.produce_to_partitions(TOPIC, hostile.value_bomb(100_000_000), 100),
        topics=[Topic(partitions=100)],
    ),
    Attack(
        "30 clients that fetch 55 MiB and do not read",
        lambda: hostile.fetch_much(TOPIC, 64 * MIB),
        connections=30,
        topics=[Topic(fill=much_data)],
        reads=False,
    ),
)
