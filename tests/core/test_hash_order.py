"""The orders are those that Java gave: a HashMap of OpenJDK 17, a TimelineHashMap of Kafka 4.4."""

from __future__ import annotations

from fakebroker.core.hash_order import copied_capacity, hash_map_order, timeline_order

ADDED = [f"member-{number * 7 % 30}" for number in range(30)]


def numbers(names: list[str]) -> str:
    return " ".join(name.removeprefix("member-") for name in names)


def test_a_hash_map() -> None:
    assert numbers(hash_map_order([*ADDED, "ä😀"])) == (
        "19 18 17 16 5 15 14 6 3 13 12 4 11 9 10 7 8 ä😀 29 28 27 26 25 24 23 22 21 20 1 2 0"
    )


def test_a_hash_map_that_is_a_copy_of_a_smaller_one() -> None:
    assert [copied_capacity(size) for size in (0, 1, 2, 3, 12, 13)] == [16, 2, 4, 8, 32, 32]
    assert hash_map_order(["range", "uniform"], copied_capacity(1)) == ["range", "uniform"]  # two of one slot
    assert hash_map_order(["range", "uniform"]) == ["uniform", "range"]


def test_a_timeline() -> None:
    assert numbers(timeline_order(ADDED)) == (
        "21 13 26 3 18 23 8 10 0 15 28 20 5 25 12 2 17 7 22 14 27 4 19 9 11 24 1 16 29 6"
    )
    assert timeline_order("cadbe") == list("cebda")


def test_a_key_that_is_named_twice_is_there_once() -> None:
    assert sorted(hash_map_order(["a", "b", "a"])) == sorted(timeline_order(["a", "b", "a"])) == ["a", "b"]
