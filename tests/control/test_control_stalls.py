"""Very many partitions: a query for all of them does not delay other connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fakebroker import AsyncFakeCluster
from fakebroker.control.answers import cluster_now
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.metrics import counts
from fakebroker.control.metrics.exposition import exposition
from fakebroker.control.overview import overview

MANY = 5_000


@pytest.mark.parametrize("ask", [cluster_now, exposition, overview], ids=["cluster", "metrics", "overview"])
def test_others_have_their_turn_while_partitions_are_counted(ask: Callable[[HostedCluster], Awaitable[Any]]) -> None:
    async def turns() -> int:
        """Return how many turns the loop has made."""
        turns_ = 0
        async with AsyncFakeCluster(brokers=1) as kafka:
            kafka.create_topic("t", partitions=MANY, replication_factor=1)
            hosted = HostedCluster(kafka)
            request = asyncio.ensure_future(ask(hosted))
            while not request.done():
                turns_ += 1
                await asyncio.sleep(0)
            await request
        return turns_

    assert asyncio.run(turns()) >= MANY // counts._AT_ONCE


def test_all_are_counted_and_what_goes_meanwhile_is_not_missed() -> None:
    async def counted() -> counts.PartitionCounts:
        async with AsyncFakeCluster(brokers=3) as kafka:
            kafka.create_topic("t", partitions=MANY)
            kafka.create_topic("u", partitions=2)
            count = asyncio.ensure_future(counts.count_partitions(HostedCluster(kafka).core))
            await asyncio.sleep(0)
            kafka.delete_topic("u")
            return await count

    counts_ = asyncio.run(counted())
    assert MANY <= counts_.partitions <= MANY + 2
    assert sum(counts_.hosted.values()) == 3 * counts_.partitions
    assert counts_.offline == counts_.under_min_isr.total() == counts_.under_replicated.total() == 0
    assert counts_.led.total() == counts_.partitions
