"""The benchmark of tests that have a cluster each: what it measures works, on both sides."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.machine.programs import Missing
from benchmarks.tests import __main__ as tests
from benchmarks.tests.life import live
from fakebroker.protocol.messages import decode_response

PRODUCE, FETCH = 0, 1


def test_a_life_has_a_record_written_and_read() -> None:
    written, read = live(tests.PRODUCE, tests.FETCH)
    produced: Any = decode_response(PRODUCE, 7, written[4:])[1]
    (answer,) = produced.responses[0].partition_responses
    assert (answer.error_code.name, answer.base_offset) == ("none", 0)
    fetched: Any = decode_response(FETCH, 11, read[4:])[1]
    (partition,) = fetched.responses[0].partitions
    assert (partition.error_code.name, partition.high_watermark) == ("none", 1)


@pytest.mark.nightly  # every day: test_a_life_has_a_record_written_and_read
def test_tests_are_run_and_timed() -> None:
    assert 0 < tests.under_pytest(tests._TESTS, 4) < 10_000


@pytest.mark.nightly  # every day: test_a_life_has_a_record_written_and_read
def test_tests_that_fail_are_told() -> None:
    with pytest.raises(RuntimeError, match="pytest ended with status 1"):
        tests.under_pytest(tests._NO_CLUSTER.replace("pass", "assert not {produce!r}"), 2)


@pytest.mark.languages
def test_kfake_lives_as_often() -> None:
    try:
        whole_ms, lives = tests.kfake_lives(5, 2)
    except Missing as reason:
        pytest.skip(str(reason))
    assert len(lives) == 5
    assert whole_ms > 0
