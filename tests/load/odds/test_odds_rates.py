"""Intervals of shares over trials: they hold as often as they claim, and are wide for few events."""

from __future__ import annotations

from math import exp
from random import Random

import pytest

from fakebroker_load.odds.rates import rate_of, student_t


@pytest.mark.parametrize(
    ("degrees", "quantile"),  # as in any table
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)],
)
def test_students_t(degrees: int, quantile: float) -> None:
    assert student_t(degrees) == pytest.approx(quantile, rel=0.01)


def test_nothing_in_any_trial_is_the_rule_of_three() -> None:
    rate = rate_of([0] * 100, [50] * 100)
    assert rate is not None
    assert (rate.value, rate.low, rate.high, rate.trials) == (0.0, None, None, 0)
    assert rate.none_bound is not None
    assert rate.none_bound == pytest.approx(0.03, rel=0.02)
    assert (1 - rate.none_bound) ** 100 == pytest.approx(0.05)


def test_one_trial_alone_has_no_bounds() -> None:
    for events in (0, 3):
        rate = rate_of([events], [10])
        assert rate is not None
        assert (rate.value, rate.low, rate.high, rate.none_bound) == (events / 10, None, None, None)


def test_one_trial_of_many_has_those_of_a_poisson_count_of_one() -> None:
    rate = rate_of([7, *[0] * 99], [100] * 100)
    assert rate is not None
    assert rate.trials == 1
    assert rate.low == pytest.approx(rate.value * 0.0253, rel=0.01)
    assert rate.high == pytest.approx(rate.value * 5.572, rel=0.01)


def test_without_units_there_is_no_share() -> None:
    assert rate_of([0, 0], [0, 0]) is None


def test_a_share_is_at_most_one() -> None:
    rate = rate_of([9, 2, 10], [10, 10, 10])
    assert rate is not None
    assert rate.high == 1.0


def test_the_interval_is_that_of_the_trials_and_not_of_the_records() -> None:
    """The interval of a share depends on its distribution over trials: it is narrow if all trials contribute, wide if
    few do."""
    spread, bunched = rate_of([10] * 50, [1000] * 50), rate_of([250, 250, *[0] * 48], [1000] * 50)
    assert spread is not None
    assert bunched is not None
    assert spread.value == bunched.value
    assert spread.low == pytest.approx(spread.high)
    assert bunched.low is not None
    assert bunched.high is not None
    assert bunched.high / bunched.low > 50


def _poisson(random: Random, mean: float) -> int:
    limit, count, product = exp(-mean), 0, random.random()
    while product > limit:
        count += 1
        product *= random.random()
    return count


@pytest.mark.parametrize(("trials", "failures", "least"), [(50, 0.1, 0.88), (50, 1.0, 0.92), (200, 0.2, 0.92)])
def test_intervals_hold_as_often_as_they_say(trials: int, failures: float, least: float) -> None:
    """Crashes follow a Poisson process, and each loses an exponentially distributed number of records."""
    random = Random(11)
    mean_lost, sent = 5.0, 3_600
    true = failures * mean_lost / sent
    held = above = below = 0
    for _ in range(300):
        lost = [
            sum(random.expovariate(1 / mean_lost) for _ in range(_poisson(random, failures))) for _ in range(trials)
        ]
        rate = rate_of(lost, [sent + random.gauss(0, 60) for _ in range(trials)])
        assert rate is not None
        if rate.low is not None and rate.high is not None:
            held += 1
            below += rate.high < true
            above += rate.low > true
    assert held > 200
    assert 1 - (above + below) / held > least
    assert above / held < 0.05
