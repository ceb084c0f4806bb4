"""Counts of partitions in good and bad states, in turns: a cluster may have very many, and no client is to wait for
all.

Units    partitions; one that changes meanwhile is counted in its state at its turn.
Source   ReplicaManager.scala's gauges, KafkaController's OfflinePartitionsCount @ 4.0
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Final

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.replication.partition import NO_LEADER, Partition

_AT_ONCE: Final = 1_000  # a millisecond or two


class PartitionCounts:
    """The counts in total, and by broker: partitions hosted, led, and led with too few replicas in sync."""

    __slots__ = ("hosted", "led", "offline", "partitions", "under_min_isr", "under_replicated")

    def __init__(self) -> None:
        self.partitions = 0
        self.offline = 0
        self.hosted: Counter[int] = Counter()
        self.led: Counter[int] = Counter()
        self.under_replicated: Counter[int] = Counter()
        self.under_min_isr: Counter[int] = Counter()

    def add(self, partition: Partition) -> None:
        self.partitions += 1
        self.hosted.update(list(partition.replicas))  # their ids
        leader_id = partition.leader_id
        if leader_id == NO_LEADER:
            self.offline += 1
        self.led[leader_id] += 1
        self.under_replicated[leader_id] += is_under_replicated(partition)
        self.under_min_isr[leader_id] += is_under_min_isr(partition)


def is_under_replicated(partition: Partition) -> bool:
    """Return True if fewer replicas are in sync than there are: Kafka's UnderReplicatedPartitions."""
    return len(partition.isr_ids) < len(partition.replicas) - len(partition.adding)


def is_under_min_isr(partition: Partition) -> bool:
    return len(partition.isr_ids) < partition.effective_min_isr


async def count_partitions(core: Cluster) -> PartitionCounts:
    """Count all partitions; the loop goes round after each few."""
    counts = PartitionCounts()
    for few in by_few(core):
        for partition in few:
            counts.add(partition)
        await asyncio.sleep(0)
    return counts


def by_few(core: Cluster) -> Iterator[list[Partition]]:
    """Yield all partitions in short lists; topics may be created and deleted in between."""
    chunk: list[Partition] = []
    for topic in list(core.controller.metadata.topics()):
        if core.metadata.topic(topic.name) is not topic:
            continue
        for start in range(0, len(topic.partitions), _AT_ONCE):
            chunk += topic.partitions[start : start + _AT_ONCE]
            if len(chunk) >= _AT_ONCE:
                yield chunk
                chunk = []
    yield chunk
