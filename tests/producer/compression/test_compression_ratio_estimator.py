"""The estimated size of the next batch: the estimate grows at once and shrinks slowly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.producer.compression.compression_ratio_estimator import CompressionRatioEstimator, f32
from fakebroker.producer.generation import Generation

GENERATIONS = ("2.0", "4.3")
both = pytest.mark.parametrize("generation", GENERATIONS)


def estimator_of(generation: str, ratio: float) -> CompressionRatioEstimator:
    estimator = CompressionRatioEstimator(Generation(generation))
    estimator.set_estimation("t", f32(ratio))
    return estimator


@both
def test_at_first_nothing_is_expected(generation: str) -> None:
    assert CompressionRatioEstimator(Generation(generation)).estimation("t") == 1.0


@both
def test_it_improves_by_small_steps(generation: str) -> None:
    estimator = estimator_of(generation, 1.0)
    estimator.update_estimation("t", f32(0.2))
    assert estimator.estimation("t") == f32(1.0 - f32(0.005))


@pytest.mark.parametrize(("generation", "expected"), [("2.0", f32(f32(0.503) - f32(0.005))), ("4.3", f32(0.5))])
def test_2_0_improves_beyond_what_was_seen(generation: str, expected: float) -> None:
    estimator = estimator_of(generation, 0.503)
    estimator.update_estimation("t", f32(0.5))
    assert estimator.estimation("t") == expected


@both
@pytest.mark.parametrize(("observed", "expected"), [(0.9, 0.9), (0.52, f32(f32(0.5) + f32(0.05)))])
def test_it_deteriorates_at_once_and_by_a_step_at_least(generation: str, observed: float, expected: float) -> None:
    estimator = estimator_of(generation, 0.5)
    estimator.update_estimation("t", f32(observed))
    assert estimator.estimation("t") == f32(expected)


@both
def test_what_is_as_expected_changes_nothing(generation: str) -> None:
    estimator = estimator_of(generation, 0.5)
    estimator.update_estimation("t", f32(0.5))
    assert estimator.estimation("t") == 0.5


@both
def test_topics_have_nothing_to_do_with_each_other(generation: str) -> None:
    assert estimator_of(generation, 0.5).estimation("other") == 1.0


@given(st.sampled_from(GENERATIONS), st.lists(st.floats(0.0, 2.0, width=32), min_size=1))
def test_a_guess_that_grew_is_no_better_than_the_last_batch(generation: str, observed: list[float]) -> None:
    estimator = estimator_of(generation, 1.0)
    for ratio in observed:
        before = estimator.estimation("t")
        estimator.update_estimation("t", ratio)
        after = estimator.estimation("t")
        assert after == f32(after)
        if ratio > before:
            assert after >= ratio
        elif generation == "4.3":
            assert after >= min(ratio, before)
