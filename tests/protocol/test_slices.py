"""Long work in slices."""

from __future__ import annotations

import pytest

from fakebroker.protocol.slices import Slices, begin, finish


def _sum(numbers: list[int]) -> Slices[int]:
    total = 0
    for number in numbers:
        total += number
        yield
    return total


def test_finish_gives_what_the_work_ends_with() -> None:
    assert finish(_sum([1, 2, 3])) == 6
    assert finish(_sum([])) == 0


def test_finish_continues_slices_that_have_begun() -> None:
    slices = _sum([1, 2, 3])
    next(slices)
    assert finish(slices) == 6


def test_what_goes_wrong_in_a_slice_is_raised() -> None:
    def fail() -> Slices[int]:
        yield
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        finish(fail())


def test_what_is_begun_has_done_its_first_slice() -> None:
    done = []

    def work(slices: int) -> Slices[None]:
        for number in range(slices):
            if number:
                yield
            done.append(number)

    assert begin(work(1)) is None
    assert done == [0]
    left = begin(work(3))
    assert done == [0, 0]
    assert left is not None
    finish(left)
    assert done == [0, 0, 1, 2]
