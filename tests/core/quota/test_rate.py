"""Kafka's windowed rate: worked examples, and a list of (time, value) by Kafka's formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rate_model import event_lists, model

from fakebroker.core.quota.rate import Rate

START_MS = 5_000_000


def rate_of(events: list[tuple[int, float]], at_ms: int, samples: int = 11, window_ms: int = 1000) -> tuple[float, int]:
    """Return the rate and its window after these events, measured after each of them as quotas do."""
    rate = Rate(samples, window_ms)
    for time_ms, value in events:
        rate.record(value, START_MS + time_ms)
        rate.measure(START_MS + time_ms)
    return rate.measure(START_MS + at_ms), rate.window_size_ms(START_MS + at_ms)


# (events, measured at, sum that counts, window): 11 samples of 1000 ms.
EXAMPLES: dict[str, tuple[list[tuple[int, float]], int, int, int]] = {
    "nothing": ([], 0, 0, 10_000),
    "one value counts as ten full windows": ([(0, 30_000)], 0, 30_000, 10_000),
    "and the fraction of the eleventh": ([(0, 30_000)], 999, 30_000, 10_999),
    "a full window takes the place of an assumed one": ([(0, 30_000)], 1000, 30_000, 10_000),
    "so the window is a saw": ([(0, 30_000)], 2500, 30_000, 10_500),
    "up to ten full windows": ([(0, 30_000)], 10_000, 30_000, 10_000),
    "and then grows": ([(0, 30_000)], 10_999, 30_000, 10_999),
    "eleven windows after its last value a sample is gone": ([(0, 30_000)], 11_000, 0, 10_000),
    "its last value, not its start": ([(0, 1_000), (999, 2_000)], 11_998, 3_000, 11_998),
    "and then both are gone": ([(0, 1_000), (999, 2_000)], 11_999, 0, 10_000),
    "two samples": ([(0, 30_000), (2_500, 5_000)], 2_500, 35_000, 10_500),
    "the oldest is gone": ([(0, 30_000), (2_500, 5_000)], 11_000, 5_000, 10_500),
    "a sample ends after a window": ([(0, 1), (999, 1), (1_000, 1)], 1_000, 3, 10_000),
    "unrecorded": ([(0, 500), (10, -500)], 10, 0, 10_010),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str) -> None:
    events, at_ms, total, window_ms = EXAMPLES[name]
    assert rate_of(events, at_ms) == (total / (window_ms / 1000), window_ms)


def test_one_sample_of_one_window_is_never_divided_by_nothing() -> None:
    assert rate_of([(0, 5.0)], 0, samples=1) == (5_000.0, 1)
    assert rate_of([(0, 5.0)], 400, samples=1) == (5.0 / 0.4, 400)


def test_a_value_each_second_fills_the_ring_of_twelve() -> None:
    events = [(second * 1000, 100.0) for second in range(30)]
    # At 29 s the sample of 18 s has its last value 11 s ago; those of 19 to 29 count.
    assert rate_of(events, 29_000) == (1_100 / 10.0, 10_000)


def test_a_sample_that_overlaps_the_edge_is_kept_whole() -> None:
    events = [(second * 1000 + part, 100.0) for second in range(12) for part in (0, 900)]
    # At 11.9 s the first sample's last value is exactly 11 s old; at 11.899 s it was not.
    assert rate_of(events[:-1], 11_899) == (2_300 / 11.899, 11_899)
    assert rate_of(events, 11_900) == (2_200 / 10.9, 10_900)


def test_a_measurement_long_after_starts_the_current_sample_anew() -> None:
    rate = Rate(11, 1000)
    rate.record(7.0, START_MS)
    assert rate.measure(START_MS + 20_000) == 0.0
    rate.record(9.0, START_MS + 20_999)  # goes into the sample that the measurement started
    assert rate.window_size_ms(START_MS + 20_999) == 10_999
    rate.record(9.0, START_MS + 21_000)
    assert rate.measure(START_MS + 21_000) == 1.8


def test_a_clock_that_goes_back_a_little_does_no_harm() -> None:
    rate = Rate(11, 1000)
    rate.record(7.0, START_MS)
    rate.record(7.0, START_MS - 1)
    assert rate.window_size_ms(START_MS - 1) == 9_999


@given(event_lists, st.integers(1, 12), st.sampled_from([1000, 2000, 5000]))
def test_the_rate_is_kafkas_formula_over_the_list_of_events(
    moves: list[tuple[int, float]], samples: int, window_ms: int
) -> None:
    now_ms, events = 0, []
    for step_ms, value in moves:
        now_ms += step_ms
        events.append((now_ms, value))
    assert rate_of(events, now_ms, samples, window_ms) == model(events, samples, window_ms)
