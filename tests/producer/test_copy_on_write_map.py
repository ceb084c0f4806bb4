"""The order of Java's maps, where Kafka's producer depends on it. The sequences of tests/golden/producer/ depend on it,
too."""

from __future__ import annotations

import pytest

from fakebroker.producer.copy_on_write_map import CopyOnWriteMap, hash_of_partition, spread, table_size
from fakebroker.protocol.topic_partition import TopicPartition


@pytest.mark.parametrize(
    ("count", "size"), [(1, 16), (2, 4), (3, 4), (4, 8), (6, 8), (7, 16), (12, 16), (13, 32), (24, 32), (25, 64)]
)
def test_a_copy_is_at_most_three_quarters_full(count: int, size: int) -> None:
    assert table_size(count) == size


def test_numbers_are_walked_from_the_smallest_on() -> None:
    order: CopyOnWriteMap[int, str] = CopyOnWriteMap(int)
    for key in (5, 0, 12, 3):
        order.put_new(key, str(key))
    assert [key for key, _ in order.items()] == [0, 3, 12, 5], "by bucket: 12 and 5 are 4 and 5 of eight"


def test_keys_of_one_bucket_keep_the_order_of_insertion() -> None:
    order: CopyOnWriteMap[int, str] = CopyOnWriteMap(int)
    for key in (8, 0, 4):
        order.put_new(key, str(key))
    assert [key for key, _ in order.items()] == [8, 0, 4]


def test_hashes_are_javas() -> None:
    assert hash_of_partition(TopicPartition("t", 2)) == 31 * (31 + 2) + ord("t")
    assert spread(0x12345678) == 0x12345678 ^ 0x1234
    assert spread(-1) == 0xFFFF0000


def test_a_key_is_put_once() -> None:
    order: CopyOnWriteMap[int, str] = CopyOnWriteMap(int)
    order.put_new(1, "a")
    assert order.get(1) == "a"
    assert order.get(2) is None
    with pytest.raises(AssertionError):
        order.put_new(1, "b")
    order.clear()
    assert len(order) == 0
