"""A back-off that doubles each time, up to a maximum."""

from __future__ import annotations

import pytest

from fakebroker.producer.exponential_backoff import ExponentialBackoff


def test_it_doubles_up_to_the_maximum() -> None:
    backoff = ExponentialBackoff(100, 2, 1_000, 0.0, lambda: 0.0)
    assert [backoff.backoff_ms(attempts) for attempts in range(6)] == [100, 200, 400, 800, 1_000, 1_000]


@pytest.mark.parametrize(("random", "wanted"), [(0.0, 160), (0.25, 180), (0.75, 220)])
def test_chance_makes_it_a_fifth_shorter_or_longer(random: float, wanted: int) -> None:
    assert ExponentialBackoff(100, 2, 1_000, 0.2, lambda: random).backoff_ms(1) == pytest.approx(wanted, abs=1)


def test_never_above_the_maximum() -> None:
    assert ExponentialBackoff(100, 2, 1_000, 0.2, lambda: 0.999).backoff_ms(9) == 1_000


def test_a_first_wait_beyond_the_maximum_is_the_maximum_without_chance() -> None:
    assert ExponentialBackoff(5_000, 2, 1_000, 0.2, lambda: 0.999).backoff_ms(0) == 1_000
