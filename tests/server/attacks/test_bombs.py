"""Batches that decompress to much more than their bytes are read as a stream, in turns, within bounds."""

from __future__ import annotations

import pytest
from support import doses
from support.requests import produce
from support.under_attack import hold

from benchmarks.neighbours import hostile

LARGE = "max.message.bytes=16777216"
ANEW = "compression.type=gzip"  # whatever the producer chose: it is compressed anew


def hold_batch(batch: bytes, config: str = "", *, memory_mib: float) -> None:
    topic = "busy:1:1" + (f",{config}" if config else "")
    hold(hostile.produce("busy", batch), topic, memory_mib=memory_mib, target="busy")


@pytest.mark.slow
def test_zstd_of_14_9_million_records_with_a_bad_timestamp() -> None:
    hold_batch(hostile.records_bomb(14_900_000), memory_mib=150)


@pytest.mark.slow
def test_a_record_of_2_5_million_headers_that_is_compressed_anew() -> None:
    hold_batch(hostile.headers_bomb(2_500_000), ANEW, memory_mib=64)


@pytest.mark.nightly  # every day: 2.5 million
@pytest.mark.slow
def test_a_record_of_50_million_headers_that_is_compressed_anew() -> None:
    hold_batch(hostile.headers_bomb(50_000_000), ANEW, memory_mib=256)


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", doses.nightly_after(1, [2, 4, 8]))
def test_gzip_of_many_empty_members(megabytes: int) -> None:
    hold_batch(hostile.gzip_of_members(megabytes * 1_000_000), LARGE, memory_mib=16 + 6 * megabytes)


@pytest.mark.slow
def test_100_partitions_of_bombs() -> None:
    data = hostile.produce_to_partitions("busy", hostile.value_bomb(100_000_000), 100)
    hold(data, "busy:100:1", memory_mib=256, target="busy")


@pytest.mark.slow
def test_searches_by_time_in_a_batch_of_a_million_records() -> None:
    """A quarter of them every day: in one turn, they take a hundred times the limit."""
    fill = [produce("busy", acks=1, records=hostile.many_records(doses.count(250_000, 1_000_000)))]
    hold(hostile.search_by_time("busy"), "busy:1:1", memory_mib=32, target="busy", fill=fill)
