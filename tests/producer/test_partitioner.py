"""The partition of a record, by release."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pytest

from fakebroker.producer.built_in_partitioner import BuiltInPartitioner
from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata_snapshot import NO_LEADER, MetadataSnapshot, PartitionInfo
from fakebroker.producer.murmur2 import murmur2, partition_for_key
from fakebroker.producer.partitioner import UNKNOWN_PARTITION, Partitioner
from fakebroker.protocol.topic_partition import TopicPartition


def cluster(*leaders: int) -> MetadataSnapshot:
    return MetadataSnapshot(PartitionInfo(TopicPartition("t", index), leader) for index, leader in enumerate(leaders))


def numbers(*wanted: int) -> Callable[[], int]:
    given = cycle(wanted)
    return lambda: next(given)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(text: str, wanted: int) -> None:
    assert murmur2(text.encode()) == wanted & 0xFFFFFFFF


@pytest.mark.parametrize("generation", ["2.0", "2.4", "3.3", "4.3"])
def test_a_named_partition_is_used_and_otherwise_the_key_decides(generation: str) -> None:
    partitioner = Partitioner(Generation(generation), numbers(1))
    assert partitioner.partition("t", 7, b"abc", cluster(1, 1)) == 7
    assert partitioner.partition("t", None, b"abc", cluster(1, NO_LEADER, 1)) == partition_for_key(b"abc", 3)


def test_a_key_may_be_ignored() -> None:
    partitioner = Partitioner(Generation("4.3"), numbers(1), ignore_keys=True)
    assert partitioner.partition("t", None, b"abc", cluster(1, 1)) == UNKNOWN_PARTITION


def test_before_2_4_it_goes_round_from_a_random_start_over_those_with_a_leader() -> None:
    partitioner = Partitioner(Generation("2.0"), numbers(5))
    metadata = cluster(1, NO_LEADER, 1)
    assert [partitioner.partition("t", None, None, metadata) for _ in range(4)] == [2, 0, 2, 0]


def test_before_2_4_without_leaders_it_goes_round_over_all() -> None:
    partitioner = Partitioner(Generation("2.0"), numbers(-1))  # the sign is cut off
    metadata = cluster(NO_LEADER, NO_LEADER, NO_LEADER)
    assert [partitioner.partition("t", None, None, metadata) for _ in range(3)] == [(2**31 - 1) % 3, 0, 1]


def test_from_2_4_on_it_stays_until_a_batch_is_full() -> None:
    partitioner = Partitioner(Generation("2.4"), numbers(0, 0, 1))
    metadata = cluster(1, 1, 1)
    assert [partitioner.partition("t", None, None, metadata) for _ in range(3)] == [0, 0, 0]
    partitioner.on_new_batch("t", 2, metadata)
    assert partitioner.partition("t", None, None, metadata) == 0, "that was not the partition of the moment"
    partitioner.on_new_batch("t", 0, metadata)
    assert partitioner.partition("t", None, None, metadata) == 1, "never the same again"


def test_from_2_4_on_the_only_one_with_a_leader_gets_all() -> None:
    partitioner = Partitioner(Generation("2.8"), numbers(0))
    metadata = cluster(NO_LEADER, 1)
    assert partitioner.partition("t", None, None, metadata) == 1
    partitioner.on_new_batch("t", 1, metadata)
    assert partitioner.partition("t", None, None, metadata) == 1


def test_the_accumulators_choice_moves_on_after_so_many_bytes() -> None:
    partitioner = BuiltInPartitioner("t", 100, numbers(0, 1, 2))
    metadata = cluster(1, 1, 1)
    info = partitioner.peek_current_partition_info(metadata)
    for appended, can_switch, moves in ((99, True, False), (1, False, False), (99, False, False), (1, False, True)):
        partitioner.update_partition_info(info, appended, metadata, can_switch)
        assert partitioner.is_partition_changed(info) == moves
    assert partitioner.peek_current_partition_info(metadata).partition == 1
    info = partitioner.peek_current_partition_info(metadata)
    partitioner.update_partition_info(info, 100, metadata, True)
    assert partitioner.peek_current_partition_info(metadata).partition == 2


def test_a_shorter_queue_gets_more() -> None:
    partitioner = BuiltInPartitioner("t", 1, numbers(*range(7)))
    partitioner.update_partition_load_stats([3, 0, 2], [0, 1, 2], 3)  # weights 1, 4, 2
    metadata = cluster(1, 1, 1)
    chosen = []
    for _ in range(7):
        info = partitioner.peek_current_partition_info(metadata)
        chosen.append(info.partition)
        partitioner.update_partition_info(info, 1, metadata, True)
    assert chosen == [0, 1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("sizes", "known"), [(None, 0), ([4, 4, 4], 3), ([9], 1), ([1, 2], 0)], ids=["off", "equal", "one", "none known"]
)
def test_without_weights_all_are_alike(sizes: list[int] | None, known: int) -> None:
    partitioner = BuiltInPartitioner("t", 1, numbers(2))
    partitioner.update_partition_load_stats(sizes, [0, 1, 2], known)
    assert partitioner.peek_current_partition_info(cluster(1, 1, 1)).partition == 2


def test_one_that_is_left_out_weighs_the_others() -> None:
    partitioner = BuiltInPartitioner("t", 1, numbers(1))
    partitioner.update_partition_load_stats([4, 4, 0], [0, 2, 0], 2)
    assert partitioner.peek_current_partition_info(cluster(1, 1, 1)).partition == 2
