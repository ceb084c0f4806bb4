from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.arrivals import Arrivals
from fakebroker_load.plan import MAX_UNANSWERED, PlannedRequest, Row, plan_connections, requests_of, to_frame
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup

LEADERS = {("t", 0): ("one", 9092), ("t", 1): ("two", 9093), ("u", 0): ("one", 9092)}
WAITING = RequestGroup(
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
SILENT = RequestGroup("silent", "u", 0, "no answer", connections=2, requests_per_connection=4, pause_ms=10, ramp_ms=100)
SCENARIO = LoadScenario("s", (WAITING, SILENT))


def connections(*groups: RequestGroup, seed: int = 1) -> list[Row]:
    rows: list[Row] = plan_connections(LoadScenario("s", groups), LEADERS, seed).to_pylist()
    return rows


def planned(group: RequestGroup, seed: int = 1) -> list[list[PlannedRequest]]:
    """Return the requests of each connection of a group that is alone."""
    return [list(requests_of(row)) for row in connections(group, seed=seed)]


def intended(group: RequestGroup) -> list[list[int]]:
    return [[request.intended_us for request in requests] for requests in planned(group)]


def test_one_row_for_each_connection_with_the_expectation_of_its_group() -> None:
    rows = connections(*SCENARIO.groups)
    assert [row["connection"] for row in rows] == list(range(7))
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4, 0, 1]
    assert {(row["group"], row["acks"], row["expected_error"], row["must_wait"]) for row in rows} == {
        ("waiting", -1, 7, True),
        ("silent", 0, None, False),
    }


def test_each_request_of_the_run_has_a_correlation_id_of_its_own() -> None:
    requests = [request for row in connections(*SCENARIO.groups) for request in requests_of(row)]
    assert [request.correlation_id for request in requests] == list(range(1, SCENARIO.requests + 1))
    assert [request.number for request in requests] == [0, 1, 2] * 5 + [0, 1, 2, 3] * 2


def test_each_connection_has_one_partition_and_goes_to_its_leader() -> None:
    for row in connections(*SCENARIO.groups):
        assert (row["host"], row["port"]) == LEADERS[row["topic"], row["partition"]]
        if row["group"] == "waiting":
            assert row["partition"] == row["connection"] % 2


def test_the_same_seed_plans_the_same_and_another_seed_does_not() -> None:
    assert planned(WAITING) == planned(WAITING)
    assert planned(WAITING) != planned(WAITING, seed=2)


def test_timeouts_are_drawn_from_the_whole_range_and_do_not_depend_on_other_groups() -> None:
    wide = RequestGroup("w", "t", -1, "NONE", requests_per_connection=2_000, timeout_ms=(50, 60))
    [alone] = planned(wide, seed=3)
    assert {request.timeout_ms for request in alone} == set(range(50, 61))
    *_, beside = connections(WAITING, wide, seed=3)
    assert [request.timeout_ms for request in requests_of(beside)] == [request.timeout_ms for request in alone]


def of_timeouts(group: RequestGroup, timeouts_ms: list[int]) -> list[tuple[int, int]]:
    """Return (timeout, intended time in ms) of each request of the one connection with these timeouts."""
    [row] = connections(replace(group, requests_per_connection=len(timeouts_ms)))
    from fakebroker_load.plan import _closed

    return [(timeout_ms, at_us // 1000) for timeout_ms, at_us in _closed(row, iter(timeouts_ms))]


def test_a_request_is_intended_when_the_answer_before_it_is_due() -> None:
    group = RequestGroup("g", "t", -1, "REQUEST_TIMED_OUT", True, pause_ms=5)
    assert of_timeouts(group, [100, 200, 300]) == [(100, 0), (200, 105), (300, 310)]


def test_pipelined_requests_are_intended_when_there_is_room() -> None:
    group = RequestGroup("g", "t", -1, "REQUEST_TIMED_OUT", True, pipelined=2)
    # Due at 100, 300 and 600: one is handled after the other. The third finds room when the first is answered.
    assert of_timeouts(group, [100, 200, 300, 50]) == [(100, 0), (200, 0), (300, 100), (50, 300)]


def test_an_answer_that_does_not_wait_takes_no_time() -> None:
    group = RequestGroup("g", "t", 1, "NONE", pause_ms=20)
    assert of_timeouts(group, [100, 100, 100]) == [(100, 0), (100, 20), (100, 40)]


def test_the_first_requests_are_spread_over_the_ramp() -> None:
    assert [times[0] for times in intended(SILENT)] == [0, 50_000]


def test_requests_are_made_one_at_a_time() -> None:
    endless = RequestGroup("g", "t", 1, "NONE", requests_per_connection=500_000_000, pause_ms=1)
    [row] = connections(endless)
    assert [request.intended_us for request in islice(requests_of(row), 3)] == [0, 1_000, 2_000]


OPEN = RequestGroup("open", "t", 1, "NONE", connections=2, requests_per_connection=4)


def arriving(arrivals: Arrivals, **more: int) -> RequestGroup:
    return replace(OPEN, arrivals=arrivals, **more)  # type: ignore[arg-type]


def test_open_arrivals_are_shared_by_the_connections() -> None:
    steady = arriving(Arrivals("constant", rate=1_000))
    assert intended(steady) == [[0, 2_000, 4_000, 6_000], [1_000, 3_000, 5_000, 7_000]]
    assert {row["pipelined"] for row in connections(steady)} == {MAX_UNANSWERED}
    bursts = arriving(Arrivals("bursts", burst=4, every_ms=10))
    assert intended(bursts) == [[0, 0, 10_000, 10_000]] * 2
    steps = arriving(Arrivals("steps", steps=((0.002, 2_000), (1, 500))))  # 4 in the first two ms, then each 2 ms
    assert sorted(chain(*intended(steps))) == [0, 500, 1_000, 1_500, 2_000, 4_000, 6_000, 8_000]


def test_poisson_arrivals_have_their_rate_and_are_the_seeds() -> None:
    group = arriving(Arrivals("poisson", rate=1_000), requests_per_connection=5_000)
    times = sorted(chain(*intended(group)))
    gaps = [after - before for before, after in pairwise(times)]
    assert times[-1] == pytest.approx(10_000 * 1_000, rel=0.05)  # 10,000 requests, one a millisecond
    longer = sum(gap > 1_000 for gap in gaps) / len(gaps)
    assert longer == pytest.approx(0.3679, abs=0.02)  # 1/e of an exponential's gaps are above their mean
    assert intended(group) == intended(group)
    assert planned(group, seed=2) != planned(group)


def test_a_trace_says_when(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("0\n1\n1.5\n2\n3\n8\n8\n9\n")
    assert intended(arriving(Arrivals("trace", file=str(trace)))) == [
        [0, 1_500, 3_000, 8_000],
        [1_000, 2_000, 8_000, 9_000],
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0\n1\n", "has 2 times"),
        ("0\nx\n" * 4, "not one number in each line"),
        ("5\n4\n" * 4, "do not rise"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_trace_that_cannot_be_used_is_told(tmp_path: Path, text: str | None, complaint: str) -> None:
    trace = tmp_path / "trace"
    if text is not None:
        trace.write_text(text)
    with pytest.raises(LoadScenarioError, match=complaint):
        connections(arriving(Arrivals("trace", file=str(trace))))


@pytest.mark.spark
def test_connections_are_dealt_evenly(spark: SparkSession) -> None:
    frame = to_frame(spark, plan_connections(SCENARIO, LEADERS, seed=1), slots=2)
    assert frame.rdd.getNumPartitions() == 2
    parts = frame.rdd.glom().collect()
    assert [[row["connection"] for row in part] for part in parts] == [[0, 2, 4, 6], [1, 3, 5]]


def test_a_group_begins_when_it_is_told() -> None:
    assert intended(replace(SILENT, start_ms=2_000)) == [
        [2_000_000 + time_us for time_us in row] for row in intended(SILENT)
    ]
    poisson = RequestGroup("open", "t", 1, "NONE", requests_per_connection=20, arrivals=Arrivals("poisson", rate=100))
    later = intended(replace(poisson, start_ms=500))
    assert later == [[500_000 + time_us for time_us in row] for row in intended(poisson)]


def test_the_next_request_comes_behind_what_is_due() -> None:
    group = RequestGroup("due", "t", -1, "NONE", requests_per_connection=3, pause_ms=10, due_ms=(300, 500))
    assert intended(group) == [[0, 510_000, 520_000]]
    assert {(row["due_low_us"], row["due_high_us"]) for row in connections(group)} == {(300_000, 500_000)}
