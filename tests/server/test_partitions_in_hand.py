"""Partitions in the user's control: `kafka.reassign` and `kafka.compact`."""

from __future__ import annotations

import asyncio

import pytest
from support.log_reader import read_log
from support.raw_client import RawClient
from support.requests import produce

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.protocol.record_batch import Record, encode_batch

NOW_MS = 1_700_000_000_000
COMPACT = {"cleanup.policy": "compact"}


def test_a_topic_is_compacted_when_it_is_asked_for() -> None:
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("t", partitions=1, configs=COMPACT)
        with RawClient(kafka.endpoints[0]) as client:
            for key, value in ((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"b", None), (b"c", b"1")):
                client.ask(produce("t", records=encode_batch([Record(key, value)], base_timestamp_ms=NOW_MS)))
        assert kafka.compact("t") == 1
        assert read_log(kafka, "t") == [(2, b"2"), (3, None), (4, b"1")]
        with pytest.raises(KafkaError, match="does not exist"):
            kafka.compact("nobody")


def test_a_partition_goes_over_to_other_brokers() -> None:
    with FakeCluster(brokers=3, clock="manual") as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=1)
        kafka.reassign("t", 0, [2, 3])
        kafka.clock.advance(1)
        with pytest.raises(KafkaError, match=r"its replicas are on \[2, 3\]"):
            kafka.move_leader("t", partition=0, broker=1)
        kafka.move_leader("t", partition=0, broker=3)
        with pytest.raises(KafkaError):
            kafka.reassign("t", 0, None)
        with pytest.raises(TypeError):
            kafka.reassign("t", 0, ["1"])  # type: ignore[list-item]


def test_the_same_without_a_thread() -> None:
    async def run() -> None:
        async with AsyncFakeCluster(brokers=2) as kafka:
            kafka.create_topic("t", partitions=1, configs=COMPACT)
            assert kafka.compact("t") == 0
            kafka.reassign("t", 0, [2])

    asyncio.run(run())
