"""The worker as a plain function from Arrow batches to Arrow batches, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from load_stub import Answer, Behave, Produce, frozen, healthy, stub_broker_thread

from fakebroker_load.arrivals import Arrivals
from fakebroker_load.plan import plan_connections
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.traffic.rows import RESULT_SCHEMA, ROWS_AT_ONCE
from fakebroker_load.worker import run

GRACE_MS = 60_000  # every request here gets its answer

WAITING = RequestGroup(
    "waiting",
    "t",
    -1,
    "REQUEST_TIMED_OUT",
    True,
    partitions=2,
    connections=4,
    requests_per_connection=2,
    timeout_ms=(10, 40),
)
SILENT = RequestGroup("silent", "t", 0, "no answer", connections=2, requests_per_connection=3)
SCENARIO = LoadScenario("s", (WAITING, SILENT))


def results(behave: Behave, scenario: LoadScenario = SCENARIO, **options: Any) -> list[dict[str, Any]]:
    with stub_broker_thread(behave) as broker:
        place = ("127.0.0.1", broker.port)
        plan = plan_connections(scenario, {("t", 0): place, ("t", 1): place}, seed=1)
        batches = list(run(iter(plan.to_batches(max_chunksize=2)), grace_ms=GRACE_MS, **options))
    assert all(batch.schema == RESULT_SCHEMA for batch in batches)
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).to_pylist()
    return sorted(rows, key=lambda row: int(row["correlation_id"]))


def test_every_planned_request_gives_one_row() -> None:
    rows = results(frozen)
    assert [row["correlation_id"] for row in rows] == list(range(1, 15))
    for row in rows:
        assert row["sent_us"] >= row["intended_us"]
        if row["group"] == "waiting":
            assert (row["outcome"], row["error_code"], row["expected_error"]) == ("answered", 7, 7)
            assert row["answered_us"] - row["sent_us"] >= row["timeout_ms"] * 1000
            assert row["base_offset"] >= 0
        else:
            assert (row["outcome"], row["error_code"], row["expected_error"]) == ("silent", None, None)
            assert row["answered_us"] is None


def test_the_expectation_is_the_scenarios_whatever_the_broker_answers() -> None:
    rows = [row for row in results(healthy) if row["group"] == "waiting"]
    assert {(row["error_code"], row["expected_error"], row["must_wait"]) for row in rows} == {(0, 7, True)}


def test_the_start_is_what_the_tasks_agree_on() -> None:
    starts: list[int] = []

    def agree(ready_ns: int) -> int:
        starts.append(ready_ns)
        return ready_ns + 50_000_000

    rows = results(healthy, agree=agree)
    assert len(starts) == 1
    assert min(row["sent_us"] for row in rows) >= 0


def test_progress_ends_with_everything_counted() -> None:
    seen: list[tuple[int, int]] = []
    rows = results(frozen, report=lambda sent, done: seen.append((sent, done)))
    assert seen[-1] == (len(rows), len(rows))
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    "answer",
    [Answer(partition=5), Answer(raw=b"\x00\x00\x00\x05\x00\x00\x00\x01\x00")],
    ids=["about another partition", "undecodable"],
)
def test_an_answer_that_is_not_one_is_garbled(answer: Answer) -> None:
    one = LoadScenario("s", (RequestGroup("g", "t", 1, "NONE"),))
    (row,) = results(lambda request: answer, one)
    assert row["outcome"] == "garbled"
    assert row["error_code"] in (None, 0)


def test_a_broker_that_cannot_be_reached_gives_rows_and_no_error() -> None:
    with stub_broker_thread() as broker:
        gone = ("127.0.0.1", broker.port)
    plan = plan_connections(SCENARIO, {("t", 0): gone, ("t", 1): gone}, seed=1)
    (batch,) = run(iter(plan.to_batches()))
    assert set(batch.column("outcome").to_pylist()) == {"not sent"}
    assert set(batch.column("sent_us").to_pylist()) == {None}


def test_the_record_is_as_big_as_planned() -> None:
    sizes: list[Produce] = []

    def note(request: Produce) -> Answer:
        sizes.append(request)
        return Answer()

    big = LoadScenario("s", (RequestGroup("g", "t", 1, "NONE", record_bytes=50_000),))
    (row,) = results(note, big)
    assert row["outcome"] == "answered"
    assert len(sizes) == 1


def test_no_plan_no_rows() -> None:
    (batch,) = run(iter(()))
    assert batch.num_rows == 0


def test_rows_leave_while_the_load_runs_and_no_request_is_made_before_its_turn() -> None:
    """The first rows are there before most requests are made."""
    count = 3 * ROWS_AT_ONCE
    many = LoadScenario("s", (RequestGroup("g", "t", 1, "NONE", requests_per_connection=count),))
    seen: list[Produce] = []

    def note(request: Produce) -> Answer:
        seen.append(request)
        return Answer()

    with stub_broker_thread(note) as broker:
        plan = plan_connections(many, {("t", 0): ("127.0.0.1", broker.port)}, seed=1)
        batches = run(iter(plan.to_batches()), grace_ms=GRACE_MS)
        assert next(batches).num_rows == ROWS_AT_ONCE
        assert len(seen) < count
        assert sum(batch.num_rows for batch in batches) == count - ROWS_AT_ONCE
    assert [request.correlation_id for request in seen] == list(range(1, count + 1))


def test_open_arrivals_do_not_wait_for_answers() -> None:
    """A slow broker gets requests at the same rate; a closed loop would need 20 times as long."""
    slow = RequestGroup("g", "t", 1, "NONE", requests_per_connection=20, arrivals=Arrivals("constant", rate=1_000))
    started = []

    def answer(request: Produce) -> Answer:
        started.append(request)
        return Answer(after_ms=20)

    rows = results(answer, LoadScenario("s", (slow,)))
    assert [row["intended_us"] for row in rows] == [number * 1_000 for number in range(20)]
    assert {row["outcome"] for row in rows} == {"answered"}
    assert all(
        row["answered_us"] - row["intended_us"] >= 20_000 * (number + 1) - number * 1_000
        for number, row in enumerate(rows)
    )
    assert rows[-1]["sent_us"] < rows[1]["answered_us"]


def test_what_goes_wrong_in_the_loop_is_raised() -> None:
    def agree(ready_ns: int) -> int:
        raise RuntimeError("no barrier")

    with pytest.raises(RuntimeError, match="no barrier"):
        results(healthy, agree=agree)
