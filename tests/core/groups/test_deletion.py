"""Very many groups are deleted by one request (core/groups/deletion.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_harness import GroupHarness
from support.slices import most_calls_of_a_slice

from fakebroker.core.groups.deletion import delete_groups


@pytest.mark.interpreted
def test_the_groups_of_a_partition_are_deleted_in_slices() -> None:
    harness = GroupHarness()

    def most_calls(count: int) -> int:
        names = [f"g{number}" for number in range(count)]

        def begin() -> Any:
            return delete_groups(names, harness.shard())

        return most_calls_of_a_slice(begin)

    assert most_calls(2_000) < 1.2 * most_calls(500)
