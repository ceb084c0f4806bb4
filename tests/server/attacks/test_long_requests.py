"""One request that names very many things is handled in turns."""

from __future__ import annotations

import pytest
from support import doses
from support.requests import produce
from support.under_attack import hold

from benchmarks.neighbours import hostile

BATCHES = doses.count(25_000, 100_000)


@pytest.mark.slow
def test_searches_by_time_in_a_log_of_very_many_batches() -> None:
    fill = [produce("busy", acks=0)] * BATCHES
    searches = hostile.search_by_time("busy") * 119
    hold(searches, "busy:1:1", memory_mib=16, target="busy", fill=fill, unanswered_fill=True)


def test_a_fetch_of_65_536_partitions() -> None:
    hold(hostile.fetch_of("busy", 65_536), "busy:1:1", memory_mib=64, target="busy")


def test_metadata_that_names_a_million_topics() -> None:
    hold(hostile.metadata_of(1_000_000), memory_mib=160)


@pytest.mark.nightly  # every day: the one that names a million topics
@pytest.mark.slow
def test_metadata_of_80_mb() -> None:
    hold(hostile.metadata_of(8_000_000), memory_mib=320)
