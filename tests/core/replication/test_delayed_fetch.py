"""The conditions that complete a fetch at once (core/replication/delayed_fetch.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.replication.delayed_fetch import is_satisfied
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse

EMPTY = PartitionFetchResponse(0, 0)


@pytest.mark.parametrize("broker_id", [0, 1])
def test_a_partition_with_a_preferred_read_replica_completes_a_fetch(broker_id: int) -> None:
    elsewhere = PartitionFetchResponse(1, 0, preferred_read_replica=broker_id)
    assert is_satisfied([EMPTY, elsewhere], min_bytes=1)


@pytest.mark.parametrize(("min_bytes", "expected"), [(0, True), (1, False)])
def test_empty_partitions_complete_a_fetch_of_no_bytes_only(min_bytes: int, expected: bool) -> None:
    assert is_satisfied([EMPTY], min_bytes) is expected


def test_an_error_or_a_diverging_epoch_completes_a_fetch() -> None:
    assert is_satisfied([EMPTY, PartitionFetchResponse(1, 6)], min_bytes=1)
    assert is_satisfied([EMPTY, PartitionFetchResponse(1, 0, diverging_epoch=(2, 7))], min_bytes=1)
