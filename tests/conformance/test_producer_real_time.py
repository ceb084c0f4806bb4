"""The judge of producers in real time: what it decides, without Java and without waiting."""

from __future__ import annotations

import pytest

from conformance.producer.real_time import T_MS, Limits, Told, Verdict, verdict

LIMITS = Limits(1, 1.5)
IN_TIME = Told("NetworkException", T_MS + 3, 1)
AFTER_TWICE_AS_LONG = Told("NetworkException", 2 * T_MS + 1, 1)
LATE_MACHINE = Told("NetworkException", 2 * T_MS, T_MS / 2)


def test_both_in_time_with_the_same_outcome_is_no_difference() -> None:
    assert verdict(LIMITS, [IN_TIME] * 3, [IN_TIME._replace(ms=T_MS)] * 3) == Verdict()


def test_one_round_of_ours_that_takes_twice_as_long_is_a_difference() -> None:
    verdict_ = verdict(LIMITS, [IN_TIME] * 3, [IN_TIME, AFTER_TWICE_AS_LONG, IN_TIME])
    assert verdict_.differs == "ours took 503, 1001, 503 ms, not 500 to 750 ms"


def test_a_round_of_kafka_that_takes_twice_as_long_is_none() -> None:
    """Even with another outcome, as where an answer came meanwhile. In most rounds it has to be as expected."""
    answered = AFTER_TWICE_AS_LONG._replace(outcome="offset")
    assert verdict(LIMITS, [IN_TIME, answered, IN_TIME], [IN_TIME] * 3) == Verdict()
    assert verdict(LIMITS, [answered, answered, IN_TIME], [IN_TIME] * 3).undecided.startswith("Kafka took 1001")


def test_another_outcome_is_a_difference() -> None:
    verdict_ = verdict(LIMITS, [IN_TIME], [IN_TIME._replace(outcome="TimeoutException")])
    assert verdict_.differs == "Kafka says ['NetworkException'], ours ['TimeoutException']"


def test_a_race_that_one_side_always_won_is_none() -> None:
    lost = IN_TIME._replace(outcome="TimeoutException")
    assert verdict(LIMITS, [IN_TIME, lost], [IN_TIME]) == verdict(LIMITS, [IN_TIME], [IN_TIME, lost]) == Verdict()


@pytest.mark.parametrize("is_ours", [False, True])
def test_a_machine_that_is_late_decides_nothing(is_ours: bool) -> None:
    sides = ([IN_TIME], [LATE_MACHINE]) if is_ours else ([LATE_MACHINE], [IN_TIME])
    assert verdict(LIMITS, *sides) == Verdict(undecided="the machine was late in every try")
