"""Clocks of other machines, compared with the driver's: with the real listener, and invented clocks."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from fakebroker_load.progress import ProgressListener
from fakebroker_load.spark import clocks
from fakebroker_load.spark.clocks import ClockOffset, ClockUnknown, TaskClock, clock_facts, offset_to, same_or, widened
from fakebroker_load.spark.load_task import SecondTry, begin, tell
from fakebroker_load.traffic.rows import RESULT_SCHEMA

HOUR_NS = 3_600_000_000_000


def listener() -> ProgressListener:
    return ProgressListener(lambda sent, done: None)


@pytest.mark.parametrize("behind_ns", [0, HOUR_NS, -HOUR_NS])
def test_the_true_offset_lies_within_the_error(behind_ns: int) -> None:
    with listener() as driver:
        offset = offset_to(driver.address, clock=lambda: time.monotonic_ns() - behind_ns)
    assert abs(offset.ns - behind_ns) <= offset.error_ns
    assert 0 < offset.error_ns < 1_000_000_000


def test_the_quickest_ping_is_believed() -> None:
    """Every ping but one takes a minute."""
    times = iter([0, 60_000_000_000, 60_000_000_000, 60_000_001_000, 0, 60_000_000_000])
    with listener() as driver:
        offset = offset_to(driver.address, pings=3, clock=lambda: next(times))
    assert offset.error_ns == 500


def test_one_clock_of_one_machine_needs_no_offset() -> None:
    assert same_or(ClockOffset(900, 1_000), True) == (0, 0)
    assert same_or(ClockOffset(900, 1_000), False) == (900, 1_000)
    assert same_or(ClockOffset(2_000, 1_000), True) == (2_000, 1_000)  # a container with a clock of its own


def test_a_driver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "TIMEOUT_S", 0.01)
    with listener() as driver:
        address = driver.address
    with pytest.raises(
        ClockUnknown, match=rf"no answer by UDP from the driver at 127.0.0.1:{address[1]}, which it asks"
    ):
        offset_to(address)


def test_tasks_tell_how_their_clocks_stood() -> None:
    with listener() as driver:
        tell(driver.address, 1, ClockOffset(5_000_000, 40_000), ClockOffset(5_100_000, 30_001), 30)
        tell(driver.address, 0, ClockOffset(0, 0), ClockOffset(0, 0), None)
        assert driver.machine_late_ms == {1: 30, 0: None}
        facts = clock_facts(driver.clocks.values(), 2)
        assert facts["error_us"] == 131  # it drifted by 100 us, and that is known to within 30.001 us
        assert [(task["task"], task["offset_us"], task["error_us"]) for task in facts["tasks"]] == [
            (0, 0, 0),
            (1, 5_000, 131),
        ]
        assert len(facts["hosts"]) == 1
    assert (
        clock_facts([TaskClock(0, "a", ClockOffset(0, 0), ClockOffset(0, 0))], 2)["error_us"] is None
    )  # one has not told


def test_a_task_that_spark_begins_again_is_refused() -> None:
    with listener() as driver:
        begin(driver.address, 0)
        begin(driver.address, 1)
        with pytest.raises(SecondTry, match="a load is not repeated"):
            begin(driver.address, 0)


def test_due_times_of_the_driver_have_room_for_the_error() -> None:
    rows = [{"due_low_us": 1_000, "due_high_us": 2_000}, {"due_low_us": None, "due_high_us": None}]
    batch = pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)
    assert widened(batch, 0) is batch
    wide = widened(batch, 30)
    assert wide.schema == RESULT_SCHEMA
    assert wide.column("due_low_us").to_pylist() == [970, None]
    assert wide.column("due_high_us").to_pylist() == [2_030, None]
