"""Free space in a file, compared with a plain list of the used ranges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.server.spill.space import Space


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 50)), max_size=80))
def test_no_two_have_the_same_place(steps: list[tuple[bool, int]]) -> None:
    space = Space()
    taken: dict[int, int] = {}
    largest = 0
    for takes, number in steps:
        if takes:
            start = space.take(number)
            assert all(start + number <= other or other + size <= start for other, size in taken.items())
            taken[start] = number
        elif taken:
            start = sorted(taken)[number % len(taken)]
            space.give_back(start, taken.pop(start))
        space.check_invariants()
        largest = max(largest, sum(taken.values()))
        assert space.end - space.free_bytes == sum(taken.values())
        assert space.end == max((start + size for start, size in taken.items()), default=0)


def test_what_goes_in_the_order_in_which_it_came_is_used_again() -> None:
    space = Space()
    starts = [space.take(100) for _ in range(10)]
    for _ in range(1_000):
        space.give_back(starts.pop(0), 100)
        starts.append(space.take(100))
    assert space.end <= 1_100


def test_only_so_many_places_are_looked_at() -> None:
    space = Space()
    starts = [space.take(10) for _ in range(1_000)]
    for start in starts[::2]:
        space.give_back(start, 10)
    end = space.end
    assert space.take(11) == end
    assert space.take(10) < end
