from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.plan import draw_timeouts, duration_us, plan_requests, schedule, to_frame
from fakebroker_load.scenario import Group, Scenario

LEADERS = {("t", 0): ("one", 9092), ("t", 1): ("two", 9093), ("u", 0): ("one", 9092)}
WAITING = Group(
    "waiting",
    "t",
    -1,
    "REQUEST_TIMED_OUT",
    True,
    partitions=2,
    connections=5,
    requests_per_connection=3,
    timeout_ms=(50, 90),
)
SILENT = Group("silent", "u", 0, "no answer", connections=2, requests_per_connection=4, pause_ms=10, ramp_ms=100)
SCENARIO = Scenario("s", (WAITING, SILENT))


def test_one_row_for_each_request_with_the_expectation_of_its_group() -> None:
    rows = plan_requests(SCENARIO, LEADERS, seed=1).to_pylist()
    assert len(rows) == SCENARIO.requests == 23
    assert [row["correlation_id"] for row in rows] == list(range(1, 24))
    assert {(row["group"], row["acks"], row["expected_error"], row["must_wait"]) for row in rows} == {
        ("waiting", -1, 7, True),
        ("silent", 0, None, False),
    }
    assert {row["connection"] for row in rows if row["group"] == "silent"} == {5, 6}


def test_each_connection_has_one_partition_and_goes_to_its_leader() -> None:
    for row in plan_requests(SCENARIO, LEADERS, seed=1).to_pylist():
        assert (row["host"], row["port"]) == LEADERS[row["topic"], row["partition"]]
        if row["group"] == "waiting":
            assert row["partition"] == row["connection"] % 2


def test_the_same_seed_plans_the_same_and_another_seed_does_not() -> None:
    first = plan_requests(SCENARIO, LEADERS, seed=1)
    assert first == plan_requests(SCENARIO, LEADERS, seed=1)
    assert first != plan_requests(SCENARIO, LEADERS, seed=2)


def test_timeouts_are_drawn_from_the_whole_range_and_do_not_depend_on_other_groups() -> None:
    wide = Group("w", "t", -1, "NONE", requests_per_connection=2_000, timeout_ms=(50, 60))
    assert set(draw_timeouts(wide, 0, seed=3)) == set(range(50, 61))
    alone = plan_requests(Scenario("s", (SILENT,)), LEADERS, seed=1).column("timeout_ms")
    beside = plan_requests(SCENARIO, LEADERS, seed=1)
    assert alone.to_pylist() == [row["timeout_ms"] for row in beside.to_pylist() if row["group"] == "silent"]


def test_a_request_is_intended_when_the_answer_before_it_is_due() -> None:
    group = Group("g", "t", -1, "REQUEST_TIMED_OUT", True, pause_ms=5)
    assert list(schedule(group, [100, 200, 300], first_us=7_000)) == [(100, 7_000), (200, 112_000), (300, 317_000)]


def test_pipelined_requests_are_intended_when_there_is_room() -> None:
    group = Group("g", "t", -1, "REQUEST_TIMED_OUT", True, pipelined=2)
    # Due at 100, 300 and 600: one is handled after the other. The third finds room when the first is answered.
    assert list(schedule(group, [100, 200, 300], first_us=0)) == [(100, 0), (200, 0), (300, 100_000)]


def test_an_answer_that_does_not_wait_takes_no_time() -> None:
    group = Group("g", "t", 1, "NONE", pause_ms=20)
    assert [intended for _, intended in schedule(group, [100, 100, 100], first_us=0)] == [0, 20_000, 40_000]


def test_the_first_requests_are_spread_over_the_ramp() -> None:
    rows = plan_requests(SCENARIO, LEADERS, seed=1).to_pylist()
    assert [row["intended_us"] for row in rows if row["group"] == "silent" and row["sequence"] == 0] == [0, 50_000]


def test_the_duration_ends_with_the_last_answer() -> None:
    plan = plan_requests(Scenario("s", (WAITING,)), LEADERS, seed=1)
    totals: dict[int, int] = {}
    for row in plan.to_pylist():
        totals[row["connection"]] = totals.get(row["connection"], 0) + row["timeout_ms"] * 1000
    assert duration_us(plan) == max(totals.values())


@pytest.mark.spark
def test_connections_stay_whole_and_are_dealt_evenly(spark: SparkSession) -> None:
    plan = plan_requests(SCENARIO, LEADERS, seed=1)
    frame = to_frame(spark, plan, slots=2)
    assert frame.rdd.getNumPartitions() == 2
    parts = frame.rdd.glom().collect()
    connections = [sorted({row["connection"] for row in part}) for part in parts]
    assert connections == [[0, 2, 4, 6], [1, 3, 5]]
    for part in parts:
        keys = [(row["connection"], row["sequence"]) for row in part]
        assert keys == sorted(keys)
    assert sum(map(len, parts)) == plan.num_rows
