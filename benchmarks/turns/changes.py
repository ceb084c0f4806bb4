"""The longest turn of changes that concern a whole broker, a whole group or a whole log.

Theory   Each change is made on the loop of the cluster, as a caller of the Python API or of the control makes it. The
         clock is moved by hand. Members of groups have connections without sockets: 5,000 sockets would need files.
"""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from benchmarks.turns.measured_loop import LoopThread
from benchmarks.turns.requests import Found
from fakebroker.control.service import Service
from fakebroker.control.sliced_work import SlicedWork
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.protocol.messages import request_frame
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.server.administration import Administration
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.turn.turns import turns

_SESSION_MS: Final = 9_000  # broker.session.timeout.ms
_BALANCE_MS: Final = 300_000  # leader.imbalance.check.interval.seconds
_PRODUCE, _CREATE_TOPICS, _FIND_COORDINATOR, _JOIN_GROUP, _SYNC_GROUP = 0, 19, 10, 11, 14
_MANY_TURNS: Final = 2_000

Act = Callable[[AsyncFakeCluster, int], Awaitable[Any]]


class _Client:
    """A client of a broker, without a socket."""

    def __init__(self, kafka: AsyncFakeCluster, broker_id: int = 1) -> None:
        self._driver = kafka.server.driver
        self._connection = self._driver.cluster.open_connection(broker_id, "bench:1", self._driver.clock.stamp())

    def send(self, api_key: int, version: int, values: dict[str, Any]) -> None:
        frame = request_frame(api_key, version, values, 1, "turns")
        self._driver.cluster.receive(self._connection, frame, self._driver.clock.stamp())
        self._driver.settle()


async def _resume(kafka: AsyncFakeCluster, _: int) -> None:
    await kafka.brokers[1].resume()
    await kafka.clock.advance(1_000)  # it learns what it has missed


async def _create(kafka: AsyncFakeCluster, partitions: int) -> None:
    topic = {"name": "made", "num_partitions": partitions, "replication_factor": 3, "assignments": [], "configs": []}
    values = {"topics": [topic], "timeout": timedelta(seconds=60), "validate_only": False}
    _Client(kafka).send(_CREATE_TOPICS, 7, values)
    await turns(_MANY_TURNS)


async def _produce(kafka: AsyncFakeCluster, _: int) -> None:
    records = encode_batch([Record(None, b"value")], base_timestamp_ms=0)
    data = {"index": 1, "records": records}  # broker 2 leads partition 1
    values = {"transactional_id": None, "acks": 1, "timeout": timedelta(seconds=30)}
    _Client(kafka, 2).send(_PRODUCE, 9, values | {"topic_data": [{"name": "wide", "partition_data": [data]}]})
    await turns(_MANY_TURNS)


# In this order, on one cluster. What is not measured has no name.
BROKERS: Final[list[tuple[str, Act]]] = [
    ("a broker stops", lambda kafka, _: kafka.brokers[1].stop()),
    ("a broker starts", lambda kafka, _: kafka.brokers[1].start()),
    ("", lambda kafka, _: kafka.clock.advance(_BALANCE_MS - 1)),
    ("leaderships are balanced", lambda kafka, _: kafka.clock.advance(1)),
    ("", _produce),
    ("a broker is paused", lambda kafka, _: kafka.brokers[1].pause()),
    ("the first Produce to another broker after a pause", _produce),
    ("a broker is resumed", _resume),
    ("a broker is killed", lambda kafka, _: kafka.brokers[1].kill()),
    ("the session of a killed broker ends", lambda kafka, _: kafka.clock.advance(_SESSION_MS + 1)),
    ("", lambda kafka, _: kafka.brokers[1].start()),
    ("", lambda kafka, _: kafka.clock.advance(_BALANCE_MS)),
    ("", lambda kafka, _: kafka.brokers[1].pause()),
    ("", lambda kafka, _: kafka.clock.advance(_SESSION_MS - 1)),
    ("the session of a paused broker ends", lambda kafka, _: kafka.clock.advance(2)),
    ("a replaced broker is resumed, and learns of other leaders", _resume),
    ("a topic is created, and published", _create),
]


GENERATION, ASSIGNMENT = "a classic group begins its next generation", "a classic group gets its assignment"
COMPACTION, FIRST = "a topic is compacted", "the first request to the HTTP control"
LOGS: Final = ((30_000, 1, 20_000), (1_000, 1_000, 1_000_000), (3, 60_000, 60_000))  # batches, records of each, keys


def count(only: str) -> int:
    names = [name for name, _ in BROKERS] + [GENERATION, ASSIGNMENT, FIRST] + [COMPACTION] * len(LOGS)
    return sum(bool(name) and only in name for name in names)


def measure(partitions: int, members: int, share: int, only: str, tell: Callable[[str], None]) -> list[Found]:
    """Return what was found for a broker with so many partitions, and for a group with so many members. Compact a
    `share`th of LOGS, and send the first request to the control."""
    results = []
    if any(name and only in name for name, _ in BROKERS):
        results += _brokers(partitions, tell)
    if only in GENERATION or only in ASSIGNMENT:
        results += _groups(members, tell)
    if only in COMPACTION:
        for log in LOGS:
            tell(COMPACTION)
            results.append(_compaction(log[0] // share or 1, log[1], log[2] // share or 1))
    if only in FIRST:
        tell(FIRST)
        results.append(_first_request())
    return [result for result in results if only in result.name]


def _brokers(partitions: int, tell: Callable[[str], None]) -> list[Found]:
    thread = LoopThread()
    try:
        kafka = AsyncFakeCluster(brokers=3, port=0, clock="manual")
        thread.run(_start(kafka, partitions))
        results = []
        for name, act in BROKERS:
            if name:
                tell(name)
            with thread.measured() as longest:
                thread.run(_done(act, kafka, partitions))
            if name:
                results.append(Found(name, f"{partitions:,} partitions of three replicas", longest[0]))
        thread.run(kafka.stop())
        return results
    finally:
        thread.stop()


async def _start(kafka: AsyncFakeCluster, partitions: int) -> None:
    await kafka.start()
    kafka.create_topic("wide", partitions, 3)


async def _done(act: Act, kafka: AsyncFakeCluster, partitions: int) -> None:
    await act(kafka, partitions)


def _groups(members: int, tell: Callable[[str], None]) -> list[Found]:
    thread = LoopThread()
    try:
        kafka = AsyncFakeCluster(brokers=1, port=0, clock="manual", config={"offsets.topic.num.partitions": 1})
        clients = thread.run(_join(kafka, members))
        tell(GENERATION)
        with thread.measured() as generation:
            thread.run(_done(lambda kafka, _: kafka.clock.advance(60_000), kafka, 0))
        thread.run(_sync(kafka, clients))
        tell(ASSIGNMENT)
        with thread.measured() as assignment:
            thread.run(_assign(kafka, clients[0]))
        thread.run(kafka.stop())
        what = f"{members:,} members"
        return [Found(GENERATION, what, generation[0]), Found(ASSIGNMENT, what, assignment[0])]
    finally:
        thread.stop()


async def _join(kafka: AsyncFakeCluster, members: int) -> list[_Client]:
    await kafka.start()
    clients = [_Client(kafka) for _ in range(members)]
    for _ in range(3):
        clients[0].send(_FIND_COORDINATOR, 2, {"key": "g", "key_type": 0})
        await turns(100)
    values = {
        "group_id": "g",
        "session_timeout": timedelta(minutes=5),
        "rebalance_timeout": timedelta(minutes=5),
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"x" * 100}],
    }
    for client in clients:
        client.send(_JOIN_GROUP, 3, values)
        await turns(1)
    return clients


def _group(kafka: AsyncFakeCluster) -> ClassicGroup:
    groups = kafka.server.driver.cluster.brokers[1].groups
    context = groups.runtime.context(groups.partition_for("g"))
    assert context is not None
    assert context.shard is not None
    group = context.shard.groups.group("g")
    assert isinstance(group, ClassicGroup)
    return group


async def _sync(kafka: AsyncFakeCluster, clients: Sequence[_Client]) -> None:
    """Let all but the leader, which is the first, wait for their assignment."""
    await turns(_MANY_TURNS)
    for client, member_id in list(zip(clients, _group(kafka).members, strict=True))[1:]:
        values = {"group_id": "g", "generation_id": 1, "member_id": member_id, "assignments": []}
        client.send(_SYNC_GROUP, 2, values)
        await turns(1)


async def _assign(kafka: AsyncFakeCluster, leader: _Client) -> None:
    group = _group(kafka)
    assignments = [{"member_id": member_id, "assignment": b"x" * 100} for member_id in group.members]
    values = {"group_id": "g", "generation_id": 1, "member_id": group.leader_id, "assignments": assignments}
    leader.send(_SYNC_GROUP, 2, values)
    await turns(_MANY_TURNS)


def _compaction(batches: int, records: int, keys: int) -> Found:
    thread = LoopThread()
    try:
        kafka = AsyncFakeCluster(brokers=3, port=0, clock="manual")
        thread.run(_write(kafka, batches, records, keys))
        work = SlicedWork()
        with thread.measured() as longest:
            thread.run(_compact(kafka, work))
        thread.run(kafka.stop())
        return Found(COMPACTION, f"{keys:,} keys, batches: {batches:,} of {records:,}", longest[0])
    finally:
        thread.stop()


async def _write(kafka: AsyncFakeCluster, batches: int, records: int, keys: int) -> None:
    await kafka.start()
    kafka.create_topic("t", 1, 3, {"cleanup.policy": "compact"})
    cluster = kafka.server.driver.cluster
    (partition,) = cluster.metadata.partitions()
    for number in range(batches):
        names = range(number * records, (number + 1) * records)
        written = [Record(b"k%d" % (name % keys), b"v") for name in names]
        batch = encode_batch(written, base_timestamp_ms=cluster.now.wall_ms)
        partition.append_records_to_leader(batch, False, -1, cluster.now)
        cluster.followers.on_leader_append(partition, cluster.now)


async def _compact(kafka: AsyncFakeCluster, work: SlicedWork) -> None:
    await work.do(Administration(kafka.server.driver_here).compact("t"))


def _first_request() -> Found:
    """The second service of the process: what is imported, and made once for all, does not count."""
    for _ in range(2):
        thread = LoopThread()
        try:
            kafka = AsyncFakeCluster(port=0)
            service, server = thread.run(_served(kafka))
            with thread.measured() as longest:
                connection = http.client.HTTPConnection("127.0.0.1", server.sockets[0].getsockname()[1])
                connection.request("GET", "/v1/clock", headers={"Connection": "close"})
                connection.getresponse().read()
                connection.close()
            server.close()
            thread.run(service.stop())
            thread.run(kafka.stop())
        finally:
            thread.stop()
    return Found(FIRST, "its routes are made", longest[0])


async def _served(kafka: AsyncFakeCluster) -> tuple[Service, asyncio.Server]:
    await kafka.start()
    service = Service(kafka, "127.0.0.1", None)
    service.listen()
    return service, await asyncio.get_running_loop().create_server(service.new_protocol, "127.0.0.1", 0)
