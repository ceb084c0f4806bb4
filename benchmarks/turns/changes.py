"""The longest turn of what concerns a whole cluster, a whole group or a whole log.

Theory   Each change is made on the loop of the cluster, as a caller of the Python API or of the control makes it, with
         the clock moved by hand. Members of groups have connections without sockets: 5,000 sockets would need files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

from benchmarks.turns.measured_loop import LoopThread
from benchmarks.turns.requests import Found
from fakebroker.protocol.build import build
from fakebroker.protocol.messages import encode_request, request_type
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.turn.turns import turns

_SESSION_MS: Final = 9_000  # broker.session.timeout.ms
_BALANCE_MS: Final = 300_000  # leader.imbalance.check.interval.seconds
_CREATE_TOPICS, _FIND_COORDINATOR, _JOIN_GROUP, _SYNC_GROUP = 19, 10, 11, 14
_MANY_TURNS: Final = 2_000

Act = Callable[[AsyncFakeCluster, int], Awaitable[Any]]


async def _create(kafka: AsyncFakeCluster, partitions: int) -> None:
    topic = {"name": "made", "num_partitions": partitions, "replication_factor": 3, "assignments": [], "configs": []}
    values = {"topics": [topic], "timeout": timedelta(seconds=60), "validate_only": False}
    driver = kafka._at_home
    connection = driver.cluster.open_connection(1, "bench:1", driver.clock.stamp())
    driver.cluster.receive(connection, _frame(_CREATE_TOPICS, 7, values), driver.clock.stamp())
    driver.settle()
    while driver.cluster.metadata.topic("made") is None:
        await turns(1)
    await turns(_MANY_TURNS)


async def _pause_until_fenced(kafka: AsyncFakeCluster) -> None:
    await kafka.brokers[1].pause()
    await kafka.clock.advance(_SESSION_MS + 1)


# In this order, on one cluster; with None the work before is not measured.
BROKERS: Final[list[tuple[str | None, Act]]] = [
    ("a broker stops", lambda kafka, _: kafka.brokers[1].stop()),
    ("a broker starts", lambda kafka, _: kafka.brokers[1].start()),
    ("leaderships are balanced", lambda kafka, _: kafka.clock.advance(_BALANCE_MS)),
    ("a broker is paused", lambda kafka, _: kafka.brokers[1].pause()),
    ("a broker is resumed", lambda kafka, _: kafka.brokers[1].resume()),
    ("a broker is killed", lambda kafka, _: kafka.brokers[1].kill()),
    ("the session of a broker ends", lambda kafka, _: kafka.clock.advance(_SESSION_MS + 1)),
    (None, lambda kafka, _: kafka.brokers[1].start()),
    (None, lambda kafka, _: kafka.clock.advance(_BALANCE_MS)),
    (None, lambda kafka, _: _pause_until_fenced(kafka)),
    ("a broker that was replaced is resumed", lambda kafka, _: kafka.brokers[1].resume()),
    ("a topic is created", _create),
]


def _frame(api_key: int, version: int, values: dict[str, Any]) -> bytes:
    return encode_request(build(request_type(api_key, version), values), 1, "turns")


def measure_brokers(partitions: int, only: str, tell: Callable[[str], None]) -> list[Found]:
    """Return what was found for changes of a broker with so many partitions of three replicas."""
    thread = LoopThread()
    try:
        kafka = AsyncFakeCluster(brokers=3, port=0, clock="manual")
        thread.run(_start(kafka, partitions))
        found = []
        for name, act in BROKERS:
            tell(name or "")
            with thread.measured() as longest:
                thread.run(_done(act, kafka, partitions))
            if name is not None and only in name:
                found.append(Found(name, f"{partitions:,} partitions of three replicas", longest[0]))
        thread.run(kafka.stop())
        return found
    finally:
        thread.stop()


async def _start(kafka: AsyncFakeCluster, partitions: int) -> None:
    await kafka.start()
    kafka.create_topic("wide", partitions, 3)


async def _done(act: Act, kafka: AsyncFakeCluster, partitions: int) -> None:
    await act(kafka, partitions)
