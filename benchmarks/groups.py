"""Groups: a rebalance of 1,000 members, what 10,000 groups cost that do nothing but be there, and a week of one.

    python -m benchmarks groups [--quick] [--json]

rebalance   one group, a connection for each member, classic protocol. The leader joins anew with other metadata, then
            all others do. The time is from its write to the last response to SyncGroup. An assignment has 100 B. The
            members are one Python process, the same for all sides, which take turns. Like a real client, a member
            that hears of another rebalance joins again.
idle        Heartbeats, pipelined over one connection, for 10 groups in turn and for 10,000 in turn: `ours` has the
            many, `theirs` is ours with the few. And the memory of such a group with its member.
week        A stock consumer commits an offset and goes; the broker's clock is moved to where it has expired, by seven
            days and ten minutes: how long that takes. In process.
"""

from __future__ import annotations

import itertools
import selectors
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, TopicPartition

from benchmarks.drivers.driver import Address, Effort, Target, command, drive
from benchmarks.drivers.frames import CLIENT_ID
from benchmarks.parked import SPARE_FILES, allow_files
from benchmarks.peers.brokers import KAFKA, KFAKE, OURS, Broker, ask, fleet, start_ours
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import LIMIT, compare
from fakebroker import FakeCluster
from fakebroker.protocol.messages import decode_response, request_frame

FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, SYNC_GROUP = 10, 11, 12, 14
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, FIND_VERSION = 3, 2, 2, 2  # before a member must ask for its id
ERROR_AT = 12  # in the answers to all but FindCoordinator: behind length, correlation id and throttle time
SESSION = timedelta(minutes=5)
ASSIGNMENT = b"x" * 100
ONE_COORDINATOR = ("--config", "group.initial.rebalance.delay.ms=0", "--config", "offsets.topic.num.partitions=1")
WAIT_S, SILENCE_S = 60.0, 0.1
ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS = 22, 27
FEW_GROUPS, WINDOW, FLAT = 10, 64, 0.85
WEEK_MS, WEEK_LIMIT_MS = 7 * 86_400_000 + 600_000, 50.0


def frame(api_key: int, version: int, **values: Any) -> bytes:
    return request_frame(api_key, version, values, 1, CLIENT_ID)


def find_coordinator(broker: Broker, group: str) -> Address:
    """Return the group coordinator as soon as there is one."""
    until = time.monotonic() + WAIT_S
    while True:
        request = frame(FIND_COORDINATOR, FIND_VERSION, key=group, key_type=0)
        answer = ask(broker.address, FIND_COORDINATOR, FIND_VERSION, request)
        if not answer.error_code:
            return answer.host, answer.port
        if time.monotonic() > until:
            raise RuntimeError(f"{broker.name} finds no coordinator: {answer.error_code!r}")
        time.sleep(0.05)


def join(group: str, member_id: str, metadata: bytes) -> bytes:
    return frame(
        JOIN_GROUP,
        JOIN_VERSION,
        group_id=group,
        session_timeout=SESSION,
        rebalance_timeout=SESSION,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": metadata}],
    )


def sync(group: str, generation: int, member_id: str, assignments: Sequence[str] = ()) -> bytes:
    given = [{"member_id": member, "assignment": ASSIGNMENT} for member in assignments]
    values = {"group_id": group, "generation_id": generation, "member_id": member_id, "assignments": given}
    return frame(SYNC_GROUP, SYNC_VERSION, **values)


class Member:
    """One connection. It does what a client does: join, sync, and join again when it is told so."""

    def __init__(self, sock: socket.socket, group: str) -> None:
        self.socket = sock
        self.group = group
        self.id = ""
        self.metadata = b""
        self.generation = -1  # of the last answer to a JoinGroup
        self.is_synced = False
        self.is_leader = False
        self._asked = -1  # what it waits for an answer to
        self._read = bytearray()

    def join(self) -> None:
        self.is_synced = False
        self._send(JOIN_GROUP, join(self.group, self.id, self.metadata))

    @property
    def is_idle(self) -> bool:
        """Synced, and not asking anything."""
        return self.is_synced and self._asked < 0

    def heartbeat(self) -> None:
        if self.is_idle:
            values = {"group_id": self.group, "generation_id": self.generation, "member_id": self.id}
            self._send(HEARTBEAT, frame(HEARTBEAT, HEARTBEAT_VERSION, **values))

    def read(self) -> None:
        """Some bytes of an answer. Raises RuntimeError if it refuses the member."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise RuntimeError("the broker closed a connection")
        self._read += data
        if len(self._read) < 4 or len(self._read) < 4 + int.from_bytes(self._read[:4], "big"):
            return
        answer, self._read, api_key, self._asked = bytes(self._read), bytearray(), self._asked, -1
        error = int.from_bytes(answer[ERROR_AT : ERROR_AT + 2], "big", signed=True)
        if error in (REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION):
            self.join()
        elif error:
            raise RuntimeError(f"a member is refused: error {error}")
        elif api_key == JOIN_GROUP:
            joined: Any = decode_response(JOIN_GROUP, JOIN_VERSION, answer[4:])[1]
            self.id, self.generation = joined.member_id, joined.generation_id
            self.is_leader = joined.leader == self.id
            members = [member.member_id for member in joined.members] if self.is_leader else []
            self._send(SYNC_GROUP, sync(self.group, self.generation, self.id, members))
        elif api_key == SYNC_GROUP:
            self.is_synced = True

    def _send(self, api_key: int, request: bytes) -> None:
        self._asked = api_key
        self.socket.sendall(request)


class Members:
    """A group with all of its members in this process."""

    def __init__(self, stack: ExitStack, address: Address, group: str, count: int) -> None:
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._members: list[Member] = []
        for _ in range(count):
            sock = stack.enter_context(socket.create_connection(address, timeout=WAIT_S))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._members.append(Member(sock, group))
            self._selector.register(sock, selectors.EVENT_READ, self._members[-1])
        self.rebalance(b"first")

    def rebalance(self, metadata: bytes) -> float:
        """All join and sync, in one new generation; milliseconds. Raises RuntimeError if that takes too long."""
        before = max(member.generation for member in self._members)
        began = time.perf_counter()
        for member in sorted(self._members, key=lambda member: not member.is_leader):
            member.metadata = metadata
            member.join()
        while not self._is_settled(before):
            if time.perf_counter() - began > WAIT_S:
                raise RuntimeError(f"no rebalance is done in {WAIT_S:.0f} s")
            ready = self._selector.select(SILENCE_S)
            for key, _ in ready:
                key.data.read()
            if not ready:  # a member that has synced too early hears of the next rebalance by its heartbeat
                for member in self._members:
                    member.heartbeat()
        return (time.perf_counter() - began) * 1000

    def _is_settled(self, before: int) -> bool:
        first = self._members[0].generation
        return first > before and all(member.is_idle and member.generation == first for member in self._members)


class Idle:
    """A broker with so many groups of one member, all with one coordinator, and heartbeats for each in turn."""

    def __init__(self, stack: ExitStack, count: int) -> None:
        broker = start_ours(*ONE_COORDINATOR)
        stack.callback(broker.stop)
        address = find_coordinator(broker, "first")
        before = broker.resident_bytes()
        with socket.create_connection(address, timeout=WAIT_S) as connection:
            beats = [_heartbeat(connection, f"idle-{number:05}") for number in range(count)]
        self.kb_of_a_group = (broker.resident_bytes() - before) / count / 1000
        self.targets = [Target(address, beats)]
        self.rates: list[float] = []

    def drive(self, effort: Effort) -> None:
        result = drive(self.targets, WINDOW, effort, ERROR_AT)
        self.rates.append(result["answers"] / result["seconds"])


def _heartbeat(connection: socket.socket, group: str) -> bytes:
    """Make a group with a member; its heartbeat."""
    joined = _asked(connection, JOIN_GROUP, JOIN_VERSION, join(group, "", b""))
    generation, member_id = joined.generation_id, joined.member_id
    _asked(connection, SYNC_GROUP, SYNC_VERSION, sync(group, generation, member_id, [member_id]))
    return frame(HEARTBEAT, HEARTBEAT_VERSION, group_id=group, generation_id=generation, member_id=member_id)


def _asked(connection: socket.socket, api_key: int, version: int, request: bytes) -> Any:
    connection.sendall(request)
    answer = b""
    while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the broker closed the connection")
        answer += part
    response: Any = decode_response(api_key, version, answer[4:])[1]
    if response.error_code:
        raise RuntimeError(f"refused: {response.error_code!r}")
    return response


def measure_rebalance(report: Report, members: int, rounds: int) -> None:
    samples: dict[str, list[float]] = {}
    with fleet((KFAKE, KAFKA)) as started, ExitStack() as stack:
        sides = {}
        for name, broker in started.renew().items():
            address = find_coordinator(broker, "large")
            sides[name] = Members(stack, address, "large", members)
            samples[name] = []
        for number, (name, side) in itertools.product(range(rounds), sides.items()):
            samples[name].append(side.rebalance(b"metadata %d" % number))
        for peer in started.names[1:]:
            note = missing(started.reasons, peer)
            target = 1.0 if peer == KAFKA else None
            work = f"rebalance of {members:,} members"
            report.add(compare(work, peer, "ms", samples[OURS], samples.get(peer, []), target, note))
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}


def measure_idle(report: Report, many: int, rounds: int, run_ms: int) -> None:
    effort = Effort(50, run_ms, 1_000_000)
    with ExitStack() as stack:
        few, most = Idle(stack, FEW_GROUPS), Idle(stack, many)
        for _, side in itertools.product(range(rounds), (few, most)):
            side.drive(effort)
    work, peer = f"Heartbeat beside {many:,} groups", f"{FEW_GROUPS} groups"
    report.add(compare(work, peer, "requests/s", most.rates, few.rates, FLAT))
    report.add(compare(f"{many:,} groups: memory of one", "-", "KB", [most.kb_of_a_group], [], note="-"))


def measure_week(report: Report, rounds: int) -> None:
    samples: list[float] = []
    for _ in range(rounds):
        with FakeCluster(clock="manual") as kafka:
            kafka.create_topic("t")
            settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "enable.auto.commit": False}
            place = TopicPartition("t", 0, 5)
            consumer = Consumer(settings)
            consumer.commit(offsets=[place], asynchronous=False)
            consumer.close()
            began = time.perf_counter()
            kafka.clock.advance(WEEK_MS)
            samples.append((time.perf_counter() - began) * 1000)
            consumer = Consumer(settings)
            [committed] = consumer.committed([place], timeout=WAIT_S)
            consumer.close()
            if committed.offset != OFFSET_INVALID:
                raise RuntimeError(f"the offset has not expired: {committed.offset}")
    report.add(compare("a week, until an offset has expired", LIMIT, "ms", samples, [WEEK_LIMIT_MS]))


def main(argv: list[str]) -> int:
    chosen = options("groups", __doc__, argv, "200 members, 2,000 groups")
    members, many, rounds, run_ms = (200, 2_000, 3, 300) if chosen.quick else (1_000, 10_000, 7, 700)
    allow_files(4 * members + SPARE_FILES)
    report = Report("groups", driver=command()[1])
    with progress("groups", 3) as step:
        step(f"rebalance of {members:,}")
        measure_rebalance(report, members, rounds)
        step(f"{many:,} groups")
        measure_idle(report, many, rounds, run_ms)
        step("a week")
        measure_week(report, rounds)
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
