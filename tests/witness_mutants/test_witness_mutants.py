"""One changed row of an honest run is found or listed: a sample at night, thousands with `make witness-mutants`."""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.facts.table import ALWAYS, facts
from fakebroker_load.journal.lines import COLUMNS
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.session import spark_session
from witness_mutants.campaign import NotMeasured, judged_again, tried
from witness_mutants.changes import CLIENT, CLOCK, JOURNAL, ROW, Kind, changes_of, draw_mutant, kinds
from witness_mutants.conditions import AFTERWARDS, CONDITIONS, is_met
from witness_mutants.listed import EXCUSED, NOT_JUDGED, SURVIVOR, judgement_of, load_listed
from witness_mutants.recording import Recording, load_recording, record
from witness_mutants.rows import READINGS, WITNESSES, Rows, value_of
from witness_mutants.small import LATE_MS
from witness_mutants.wire.conditions import WIRE

EACH = RequestGroup("each", "t", 1, "NONE", partitions=2, connections=2, requests_per_connection=3)
SCENARIO = LoadScenario(
    "few",
    (
        replace(EACH, name="all", acks=-1, expect="REQUEST_TIMED_OUT", waits=True, timeout_ms=(20, 40)),
        replace(EACH, name="leader"),
        replace(EACH, name="none", acks=0, expect="no answer"),
        replace(EACH, name="replicated", topic="u", acks=-1),
    ),
    brokers=3,
    followers=({"topic": "t", "behaviour": "frozen"},),
    send_delay_limit_ms=LATE_MS,
)
SEED, MUTANTS = 7, 400
TRIES = 60
MESSAGES = (" request", " response")
ORDER, ON_THE_WIRE = "order", ("wire", "batch")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    record(SCENARIO, folder / SCENARIO.name, SEED)
    return folder


@pytest.fixture(scope="module")
def recording(runs: Path) -> Recording:
    return load_recording(runs / SCENARIO.name)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]") as session:
        yield session


def test_each_kind_of_change_can_be_drawn_and_changes_its_own_table_alone(recording: Recording) -> None:
    rows = Rows(recording)
    never = set(kinds(rows, 3))
    for kind in kinds(rows, 3):
        for seed in range(TRIES):  # a row that is drawn may not fit
            mutant = draw_mutant(rows, kind, random.Random(seed))
            if mutant is None:
                continue
            never.discard(kind)
            before = recording.tables[mutant.folder]
            assert mutant.table.schema == before.schema
            assert mutant.table != before
            assert abs(mutant.table.num_rows - before.num_rows) == (kind.change in ("dropped", "doubled"))
            break
    for kind in never:  # one and the same value in all rows cannot be swapped, and null has no more and no less
        assert len({str(value_of(row, kind.field)) for _, row in rows.of(kind.thing)}) == 1, kind


def test_each_kind_of_change_has_its_place_in_the_table_of_facts(recording: Recording) -> None:
    for ways in (3, 2):
        for kind in kinds(Rows(recording), ways):
            judgement_of(
                kind, ways, [({}, None)], lambda *_: False
            )  # raises KeyError for a field that the table does not know


def test_what_is_unseen_is_some_kind_of_change_of_some_rows() -> None:
    """An excuse without a change or a row would be forgotten."""
    for fact in facts():
        if fact.witness in ON_THE_WIRE:  # test_wire_mutants.py
            continue
        if fact.witness == ORDER:
            changes = [fact.field.removeprefix("a row ")]
        else:
            changes = changes_of(fact.thing, fact.field) if fact.witness in WITNESSES.values() else []
        for condition, patterns in fact.unseen.items():
            assert condition in CONDITIONS.keys() | AFTERWARDS.keys(), fact
            assert all(fnmatch.filter(changes, pattern) for pattern in patterns), fact
    assert {entry.where for entry in load_listed()} <= CONDITIONS.keys() | AFTERWARDS.keys() | WIRE.keys()


def test_a_limit_of_a_field_excuses_no_other_kind_of_change() -> None:
    """A change of the same kind is excused only if it meets the condition."""

    def outcome(change: str, *of: str, ways: int = 3) -> str:
        changed = [({"meets": (ALWAYS, one)}, None) for one in of]
        kind = Kind("parked", "deadline_mono_ms", change)
        return judgement_of(kind, ways, changed, lambda condition, row, _: condition in row["meets"])[0]

    others = "of what is no raw request"
    assert outcome("one more", "of raw requests") == EXCUSED
    assert outcome("far less", "of raw requests") == SURVIVOR
    assert outcome("far less", others) == EXCUSED
    assert outcome("swapped", others, others) == EXCUSED
    assert outcome("swapped", others, "of raw requests") == SURVIVOR
    assert outcome("far less", "of raw requests", ways=2) == NOT_JUDGED
    assert judgement_of(Kind("parked", "api", "null"), 3, [({}, None)], lambda *_: False)[0] == NOT_JUDGED


def test_a_condition_is_one_of_the_request_that_a_row_is_of(recording: Recording) -> None:
    rows = Rows(recording)
    requests = [row for row in recording.tables["requests.parquet"].to_pylist() if row["read"] is None]
    assert {is_met(rows, "of what does not wait", row, row) for row in requests if row["must_wait"]} == {False}
    assert {is_met(rows, "of what does not wait", row, row) for row in requests if not row["must_wait"]} == {True}
    parked = next(row for _, row in rows.of("parked"))
    assert is_met(rows, "of raw requests", parked, None)
    assert not is_met(rows, "of what does not wait", parked, parked)
    with pytest.raises(KeyError):
        is_met(rows, "of nothing", parked, parked)


def test_an_event_that_moves_is_excused_only_while_it_stays_between_its_causes_and_its_answer(
    recording: Recording,
) -> None:
    rows, condition = Rows(recording), "of what stays in the order of its request"
    parked = next(row for _, row in rows.of("parked"))
    append, answer = (
        next(row for _, row in rows.of(event) if row["request"] == parked["request"]) for event in ("append", "answer")
    )
    for seq, stays in (
        (append["seq"] + 1, True),
        (answer["seq"] - 1, True),
        (append["seq"] - 1, False),
        (answer["seq"] + 1, False),
        (None, False),
    ):
        assert is_met(rows, condition, parked, parked | {"seq": seq}) is stays
    assert not is_met(rows, condition, parked, None)


def test_a_watermark_that_moves_is_excused_only_before_the_answers_that_waited(recording: Recording) -> None:
    rows, condition = Rows(recording), "of watermarks that still come before the answers that waited"
    waited = [
        row for _, row in rows.of("answer") if (request := rows.request_of(row)) and request["group"] == "replicated"
    ]
    for answer in waited:
        marks = [row for _, row in rows.of("watermark_moved") if row["topic"] == answer["topic"]]
        covering = [
            row
            for row in marks
            if row["partition"] == answer["partition"] and row["high_watermark"] > answer["base_offset"]
        ]
        first = min(covering, key=lambda row: int(row["high_watermark"]))
        assert is_met(rows, condition, first, first)
        assert not is_met(rows, condition, first, first | {"seq": answer["seq"] + 1})
    assert len(waited) == EACH.requests


def test_the_list_names_what_there_is(recording: Recording) -> None:
    known = kinds(Rows(recording), 3)
    names = [{getattr(kind, name) for kind in known} for name in ("thing", "field", "change")]
    names[0] |= {CLIENT, JOURNAL, READINGS, *COLUMNS}
    for entry in load_listed():
        if all(thing.endswith(MESSAGES) for thing in entry.things):
            continue
        for mentioned, there_are in zip(entry[:3], names, strict=True):
            assert set(mentioned) - {"*", ROW, CLOCK} <= there_are, entry


def test_the_same_seed_draws_the_same_mutants(recording: Recording) -> None:
    rows = Rows(recording)
    for kind in kinds(rows, 2)[::5]:
        first, second = (draw_mutant(rows, kind, random.Random(1)) for _ in range(2))
        assert first == second


@pytest.mark.nightly  # every day: that each kind of change is drawn, and has its place in the table of facts
@pytest.mark.spark
def test_a_sample_is_found_or_listed_and_an_honest_run_is_confirmed(
    spark: SparkSession, runs: Path, recording: Recording, tmp_path: Path
) -> None:
    rows = Rows(recording)
    tried_mutants = [one for some in tried(spark, [rows], SEED, MUTANTS, tmp_path / "judged") for one in some]
    assert len(tried_mutants) == MUTANTS
    survivors = [f"{one.told}, {one.ways} ways: {one.said}" for one in tried_mutants if one.outcome == SURVIVOR]
    assert not survivors, "\n".join(survivors)
    assert sum(one.is_red for one in tried_mutants) > MUTANTS // 3
    judged_again(spark, tried_mutants, SEED, 3, runs, tmp_path / "singly")


@pytest.mark.nightly
@pytest.mark.spark
def test_a_run_that_is_not_honest_measures_nothing(spark: SparkSession, recording: Recording, tmp_path: Path) -> None:
    table, requests = recording.tables["log.parquet"], recording.tables["requests.parquet"].to_pylist()
    acknowledged = {(row["connection"], row["sequence"]) for row in requests if row["error_code"] == 0}
    at = next(n for n, row in enumerate(table.to_pylist()) if (row["connection"], row["sequence"]) in acknowledged)
    without = pa.concat_tables([table.slice(0, at), table.slice(at + 1)])
    lost = Recording(recording.name, recording.entry, recording.tables | {"log.parquet": without})
    with pytest.raises(NotMeasured, match=r"few/3/unchanged is not confirmed: .*lost"):
        list(tried(spark, [Rows(lost)], SEED, 2, tmp_path / "judged"))
