"""The data of the page, in one response."""

from __future__ import annotations

from pydantic import BaseModel

from fakebroker.control.answers import ClusterNow, cluster_now, partition_now
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.routes.state import PurgatoryNow, purgatory_now

_SHOWN = 200


class PartitionLine(BaseModel):
    """A partition with the name of its topic."""

    topic: str
    partition: int
    leader: int
    replicas: list[int]
    isr: list[int]
    min_isr: int
    high_watermark: int
    log_end_offset: int
    behaviours: dict[int, str]


class Overview(BaseModel):
    """`partitions` are the first 200 of the user's topics."""

    cluster: ClusterNow
    partitions: list[PartitionLine]
    purgatory: PurgatoryNow


async def overview(here: HostedCluster) -> Overview:
    """Return the present state."""
    lines: list[PartitionLine] = []
    for partition in here.core.metadata.partitions():
        if len(lines) == _SHOWN:
            break
        now = partition_now(here.core, partition)
        lines.append(
            PartitionLine(
                topic=partition.topic_partition.topic,
                partition=now.partition,
                leader=now.leader,
                replicas=now.replicas,
                isr=now.isr,
                min_isr=partition.effective_min_isr,
                high_watermark=now.high_watermark,
                log_end_offset=now.log_end_offset,
                behaviours={follower.broker: follower.behaviour for follower in now.followers},
            )
        )
    return Overview(cluster=await cluster_now(here), partitions=lines, purgatory=purgatory_now(here))
