"""The scheduler that draws the order of events that have no fixed order."""

from __future__ import annotations

import pytest

from fakebroker.core.schedule import order_of


def test_first_come_draws_no_random_number() -> None:
    assert order_of("first-come", 7) is None


def test_the_same_seed_draws_the_same() -> None:
    def drawn(seed: int) -> list[int]:
        order = order_of("random", seed)
        assert order is not None
        return [order.randrange(100) for _ in range(20)]

    assert drawn(7) == drawn(7) != drawn(8)


@pytest.mark.parametrize("schedule", ["last-come", None, 7])
def test_another_one_is_refused(schedule: object) -> None:
    with pytest.raises(ValueError, match=f"a schedule is first-come or random, not {schedule!r}"):
        order_of(schedule, 0)
