"""Actions on brokers while a client is in a transaction: a leader moves, a broker stops and starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from conformance.clients.exactly_once.points import REQUESTS, Point
from conformance.clients.wire import Wire

# One partition each, so that the coordinators are known; no delay before the first members of a group.
CONFIG: Mapping[str, Any] = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
TRANSACTIONS, OFFSETS = "__transaction_state", "__consumer_offsets"
LEADERS = "the transaction coordinator", "the group coordinator", "the leader of a partition"


class Broker(Protocol):
    def stop(self) -> None: ...
    def start(self) -> None: ...


class Cluster(Protocol):
    """The operations of a FakeCluster of three that are used here."""

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def brokers(self) -> Mapping[int, Broker]: ...
    def move_leader(self, topic: str, partition: int, broker: int) -> None: ...


def strikes(cluster: Cluster, out: str) -> Iterator[tuple[Point, str, Callable[[], object]]]:
    """Each leader that a transaction needs moves, and is stopped and started, before and after each request of it. The
    topic is the one that is produced to."""
    for point in REQUESTS:
        if not point.at_start:
            for topic, who in zip((TRANSACTIONS, OFFSETS, out), LEADERS, strict=True):
                yield point, f"{who} moves", lambda topic=topic: _move(cluster, topic)  # type: ignore[misc]
                yield point, f"{who} stops and starts", lambda topic=topic: _restart(cluster, topic)  # type: ignore[misc]


def _move(cluster: Cluster, topic: str) -> None:
    leader = _leader(cluster, topic)
    cluster.move_leader(topic, 0, leader % len(cluster.brokers) + 1)


def _restart(cluster: Cluster, topic: str) -> None:
    broker = cluster.brokers[_leader(cluster, topic)]
    broker.stop()
    broker.start()


def _leader(cluster: Cluster, topic: str) -> int:
    with Wire(cluster.bootstrap_servers) as wire:
        _, metadata = wire.described(topic)
        return next(int(part.leader_id) for part in metadata.partitions if part.partition_index == 0)
