"""The order of Java's HashMap: `put` adds at the end of a bucket, a computed entry comes first."""

from __future__ import annotations

from fakebroker.producer.hash_map import HashMap


def keys(of: HashMap[int, str]) -> list[int]:
    return [key for key, _ in of.items()]


def test_what_is_put_is_the_last_of_its_bucket() -> None:
    table: HashMap[int, str] = HashMap(int)
    for key in (19, 3, 1):
        table.put(key, str(key))
    assert keys(table) == [1, 19, 3]
    table.remove(19)
    assert (keys(table), table.get(19), len(table)) == ([1, 3], None, 2)


def test_what_is_computed_is_the_first_of_its_bucket() -> None:
    table: HashMap[int, str] = HashMap(int)
    for key in (19, 3, 19):
        assert table.compute_if_absent(key, lambda: "new") == "new"
    assert keys(table) == [3, 19]


def test_a_table_grows_with_the_thirteenth_that_is_put_and_the_fourteenth_that_is_computed() -> None:
    put: HashMap[int, str] = HashMap(int)
    computed: HashMap[int, str] = HashMap(int)
    for key in (16, *range(1, 12)):
        put.put(key, "")
        computed.compute_if_absent(key, str)
    assert keys(put)[0] == keys(computed)[0] == 16, "16 is in the first bucket of sixteen"
    put.put(12, "")
    computed.compute_if_absent(12, str)
    assert keys(put)[-1] == 16, "and in the last of those that are used of 32"
    assert keys(computed)[0] == 16
    computed.compute_if_absent(13, str)
    assert keys(computed)[-1] == 16


def test_its_first_table_is_what_was_asked_for() -> None:
    small: HashMap[int, str] = HashMap(int, 2)
    for key in (2, 1):
        small.put(key, "")
    assert keys(small) == [1, 2], "of four: two are more than three quarters of two"


def test_it_is_true_unless_it_is_empty() -> None:
    table: HashMap[int, str] = HashMap(int)
    assert not table
    table.put(1, "")
    assert table
    table.clear()
    assert not table
