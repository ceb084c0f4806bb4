"""`fakebroker serve` under attack: how long a quiet client stalls, what the attack costs in memory, how serving ends.

Theory   A stall is the CPU time that the broker spends between a request of the quiet client and its response. So a
         machine that is busy with something else does not lengthen it. While the client itself waits for a core, the
         broker may have answered already and work for others: that time is subtracted.
Limits   are for a core as fast as the one of `cpu_time.CONTROL_MS`; a slower one has longer limits, by the control.
Units    milliseconds of CPU time, bytes; memory is resident.
"""

from __future__ import annotations

import resource
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from conformance import frames
from fakebroker.protocol.produce_response import NodeEndpoint
from support.cpu_time import ProcessTimes, Slowness
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import Produced, api_versions, produce
from support.serving import Serving
from support.watchdog import LIMIT_S

STALL_LIMIT_MS = 100.0  # of a quiet client during the attack
END_LIMIT_MS = 2_000.0  # from SIGTERM to the end of the process, of work; and as long of sleep
WATCHED_S = 1.0  # for so long an attack is looked at
ATTEMPTS = 3
PAUSE_S = 0.002
CHUNK = 1 << 20
MIB = 1 << 20
SLOW, CALM = "slow", "calm"  # a topic with frozen followers; one that is not attacked


def broker_ms(pid: int) -> float:
    """Return the CPU time of a process, of all threads, also when it has ended and is not waited for."""
    clock = (~pid << 3) | 2  # CPUCLOCK_SCHED of a process: see clock_getcpuclockid(3)
    return time.clock_gettime_ns(clock) / 1e6


class Stall:
    """The broker's CPU time from when this was made until `ms`, without that of when this process had no core."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._own = ProcessTimes()
        self._before_ms = broker_ms(pid)

    def ms(self) -> float:
        worked_ms = broker_ms(self._pid) - self._before_ms
        self._own.look()
        return max(0.0, worked_ms - self._own.waited_s() * 1000)


class UnderAttack(Serving):
    """A running broker with a quiet client; all its limits are checked at the end."""

    def __init__(self, *topics: str, brokers: int = 1, listener: str = "", arguments: Sequence[str] = ()) -> None:
        named = [option for topic in (*topics, f"{SLOW}:1:{brokers}", f"{CALM}:1:1") for option in ("--topic", topic)]
        ports = ["--port", "0"]
        if listener:  # beside the one of the quiet client
            ports = [
                part for name in ("PLAINTEXT", listener) for part in ("--listener", f"{name}={name}://127.0.0.1:0")
            ]
        given = ("--brokers", str(brokers), "--followers", "frozen", "--life", "first")  # known ids
        super().__init__(*ports, *given, *named, *arguments)
        self.stalls: list[float] = [0.0]
        self.slowness = Slowness()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.pid = self.process.pid
            self.leaders: dict[tuple[str, int], int] = {}
            self.quiet = self._stack.enter_context(self.client())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
        super().__exit__(kind, error, traceback)

    def client(self, topic: str = "", partition: int = 0) -> RawClient:
        """Return a client of broker 1, or of the leader of a partition."""
        client = RawClient(self.endpoint(self.leader(topic, partition) if topic else 1))
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def attacker(self, listener: str) -> RawClient:
        """Return a client of broker 1 at that listener: a connection of TCP, and no more."""
        host, _, port = self.facts["listeners"][listener].partition(",")[0].rpartition(":")
        return RawClient(NodeEndpoint(1, host, int(port)))

    def leader(self, topic: str, partition: int = 0) -> int:
        if (topic, partition) not in self.leaders:
            answer = decode_response(3, 4, self.quiet.ask(frames.metadata([topic], version=4)))[1]
            self.leaders |= {(topic, part.partition_index): part.leader_id for part in answer.topics[0].partitions}
        return self.leaders[topic, partition]

    # Memory.

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    def peak_bytes(self) -> int:
        """Return the peak since `forget_peak`."""
        (line,) = [
            status_line
            for status_line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
            if "VmHWM" in status_line
        ]
        return int(line.split()[1]) * 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    # How long a client stalls.

    def ask_quietly(self) -> None:
        """Send one small request; its stall is kept."""
        stall = Stall(self.pid)
        self.quiet.ask(api_versions(version=0))
        self.stalls.append(stall.ms())

    def watch(self, seconds: float = WATCHED_S) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.ask_quietly()
            self.slowness.take()
            time.sleep(PAUSE_S)

    def lateness_ms(self, timeout_ms: int = 200, times: int = 4) -> list[float]:
        """Return how much the broker does for others between the timeout of a produce request and its response.

        The followers of the topic are frozen; the requests come one after the other.
        """
        lateness: list[float] = []
        with self.client(SLOW) as client:
            for _ in range(times):
                due = time.monotonic() + timeout_ms / 1000
                client.send(produce(SLOW, timeout_ms=timeout_ms))
                time.sleep(max(due - time.monotonic(), 0))
                stall = Stall(self.pid)
                answer = Produced(client.receive())
                late = (time.monotonic() - due) * 1000
                assert late > -1, f"a timeout is never early, and not by {-late:.1f} ms"
                assert [error for error, _ in answer.partitions.values()] == [7], "REQUEST_TIMED_OUT"
                lateness.append(stall.ms())
        return lateness

    # How it serves on, and how it ends.

    def assert_serves_on(self) -> None:
        """Check that a new client connects and is served."""
        stall = Stall(self.pid)
        with self.client(CALM) as client:
            answer = Produced(client.ask(produce(CALM, acks=1)))
        self.stalls.append(stall.ms())
        assert [error for error, _ in answer.partitions.values()] == [0]

    def end_ms(self) -> tuple[float, float]:
        """Send SIGTERM and wait for the end: return how long the broker worked, and how long it slept."""
        times = self.end()
        return times.ran_s() * 1000, times.slept_s() * 1000


class Attackers:
    """Connections that send the same bytes as fast as they are taken, repeatedly unless `once`. One thread serves all,
    so that measurements in this process are hardly delayed."""

    def __init__(self, sockets: Sequence[socket.socket], data: bytes, reads: bool, once: bool) -> None:
        self._data = memoryview(data)
        self._reads = reads
        self._once = once
        self._at = dict.fromkeys(sockets, 0)
        self._selector = selectors.DefaultSelector()
        events = selectors.EVENT_WRITE | (selectors.EVENT_READ if reads else 0)
        for sock in sockets:
            sock.setblocking(False)
            self._selector.register(sock, events)
        self._room = bytearray(CHUNK)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()
        self._selector.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            if not self._selector.get_map():
                self._ending.wait(PAUSE_S)
                continue
            for key, events in self._selector.select(0.05):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                try:
                    if events & selectors.EVENT_READ and not sock.recv_into(self._room):
                        raise EOFError
                    if events & selectors.EVENT_WRITE:
                        self._send(sock)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    continue
                except (OSError, EOFError):  # the broker has closed it
                    self._selector.unregister(sock)

    def _send(self, sock: socket.socket) -> None:
        at = self._at[sock]
        at += sock.send(self._data[at : at + CHUNK])
        if at == len(self._data):
            at = 0
            if self._once and self._reads:
                self._selector.modify(sock, selectors.EVENT_READ)
            elif self._once:
                self._selector.unregister(sock)
        self._at[sock] = at


@contextmanager
def attack(
    broker: UnderAttack,
    data: bytes,
    connections: int = 1,
    *,
    topic: str = "",
    listener: str = "",
    secured: bool = False,
    reads: bool = True,
    once: bool = False,
) -> Iterator[None]:
    """Attack while the block runs: the leader of a topic, or broker 1 at a listener, after the handshake of TLS if
    `secured`."""
    with ExitStack() as stack:
        clients = []
        for _ in range(connections):
            client = broker.attacker(listener) if listener else broker.client(topic)
            clients.append(stack.enter_context(client))
        if secured:
            context = ssl.create_default_context(cafile=broker.facts["ca"])
            for client in clients:
                client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        attackers = Attackers([client.socket for client in clients], data, reads, once)
        stack.callback(attackers.end)
        yield


def hold(
    data: bytes,
    *topics: str,
    memory_mib: float,
    connections: int = 1,
    target: str = "",
    listener: str = "",
    secured: bool = False,
    fill: Sequence[bytes] = (),
    unanswered_fill: bool = False,
    reads: bool = True,
    once: bool = False,
    arguments: Sequence[str] = (),
    stall_ms: float = STALL_LIMIT_MS,
) -> None:
    """Attack a broker, and check what is promised.

    While the attack runs, a quiet client stalls for at most `stall_ms`. The broker takes at most so many MiB more than
    before, and it serves new clients. SIGTERM ends it with status 0, after at most two seconds of work and two of
    sleep.

    A hypervisor that takes the processor away may show as CPU time of the broker. A bug of the broker
    shows each time: a stall that is too long fails the test if three attacks in a row show one. Memory, the end and its
    status must be right every time.
    """
    stalls: list[float] = []
    limit_ms = stall_ms
    while not stalls or stalls[-1] > limit_ms:
        with UnderAttack(*topics, listener=listener, arguments=arguments) as broker:
            prepare(broker, target, fill, unanswered_fill)
            broker.watch(0.05)  # what is done for the first time takes longer
            broker.assert_serves_on()
            broker.stalls.clear()
            before = broker.resident_bytes()
            broker.forget_peak()
            at = {"topic": target, "listener": listener}
            with attack(broker, data, connections, **at, secured=secured, reads=reads, once=once):
                broker.watch()
                broker.assert_serves_on()
                took = (broker.peak_bytes() - before) / MIB
                worked_ms, slept_ms = broker.end_ms()
            status = broker.process.returncode
            factor = broker.slowness.factor()
            limit_ms, end_limit_ms = stall_ms * factor, END_LIMIT_MS * factor
            stalls.append(max(broker.stalls))
            said = broker.process.communicate(timeout=LIMIT_S)[1]
        assert "Traceback" not in said, said
        stood = ", ".join(f"{stall:.0f}" for stall in stalls)
        figures = f"stalls {stood} ms, memory {took:.0f} MiB, status {status}"
        figures += f", worked {worked_ms:.0f} ms and slept {slept_ms:.0f} ms until the end"
        within = len(stalls) < ATTEMPTS or stalls[-1] <= limit_ms
        within = within and took <= memory_mib and status == 0
        within = within and worked_ms <= end_limit_ms and slept_ms <= END_LIMIT_MS
        allowed = f"stalls of {limit_ms:.0f} ms, {memory_mib:.0f} MiB, {end_limit_ms:.0f} ms and {END_LIMIT_MS:.0f} ms"
        assert within, f"{figures}; {allowed} are allowed, on a core that is slower by {factor:.1f}"


def prepare(broker: UnderAttack, target: str, fill: Sequence[bytes], unanswered: bool) -> None:
    """Send requests before the attack, in one stream; return when the last one has its response."""
    if not fill:
        return
    with broker.client(target) as client:
        if unanswered:
            client.send(*fill, api_versions(version=0))
            client.receive()
            return
        for frame in fill:
            client.ask(frame)
