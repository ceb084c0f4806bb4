"""The reference producer as a sender of the load, against a cluster in this process, without Spark but to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker import FakeCluster
from fakebroker.core.log import producer_state
from fakebroker.core.log.producer_state import ProducerStateManager
from fakebroker.faults import every
from fakebroker_load.job import leaders_of
from fakebroker_load.judging.requests import LogTables, judge
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA, await_readable, log_ends, part_rows
from fakebroker_load.plan import plan_connections
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import parse_text
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.worker import run

Row = dict[str, Any]
Played = tuple[list[Row], list[Row], list[Row]]
HEADER = "name: s\ngroups:\n  - {name: g, topic: t, acks: -1, expect: NONE, client: producer, "


def group(
    expect: str, connections: int = 2, each: int = 20, generation: str = "4.4", **settings: object
) -> RequestGroup:
    return RequestGroup(
        *("g", "t", -1, expect),
        connections=connections,
        requests_per_connection=each,
        pause_ms=2,
        client="producer",
        generation=generation,
        settings=settings,
    )


def played(plan: RequestGroup, prepare: Callable[[FakeCluster], None]) -> Played:
    """Return the rows of the requests, of the log, and of its partitions."""
    scenario = LoadScenario("s", (plan,))
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1)
        prepare(kafka)
        bootstrap = [(broker.host, broker.port) for broker in kafka.endpoints]
        metadata = leaders_of(bootstrap, scenario)
        before = log_ends(metadata)
        table = plan_connections(scenario, metadata.leaders, 1)
        sent = [
            row for batch in run(iter(table.to_batches()), run_id="id", grace_ms=5_000) for row in batch.to_pylist()
        ]
        ends = log_ends(leaders_of(bootstrap, scenario))
        parts = part_rows(("s", "id"), before, ends, await_readable(ends), {})
        given = pa.RecordBatch.from_pylist(parts, schema=PART_SCHEMA)
        return sent, [row for batch in read_parts(iter([given])) for row in batch.to_pylist()], parts


def outcomes(rows: list[Row]) -> Counter[str]:
    return Counter(row["outcome"] if row["error_code"] is None else str(row["error_code"]) for row in rows)


ONE_A_REQUEST: dict[str, Any] = {"batch.size": 1}
"""However busy the machine is: else a producer that stood still sends all that has gathered in a single batch."""


def some_lost_answers(kafka: FakeCluster) -> None:
    kafka.faults.add(when={"api": "Produce", "topic": "t", "at": "after_append"}, do="disconnect", times=every(3))


def silence(kafka: FakeCluster) -> None:
    kafka.faults.add(when={"api": "Produce", "topic": "t", "at": "before_work"}, do="blackhole", times="every_time")


def nothing(kafka: FakeCluster) -> None:
    pass


@pytest.mark.parametrize("generation", ["2.0", "2.8", "4.4"])
def test_each_record_has_a_row_with_the_offset_that_its_callback_was_told(generation: str) -> None:
    sent, log, _ = played(group("NONE", generation=generation), nothing)
    assert outcomes(sent) == {"0": 40}
    acknowledged = {(row["connection"], row["sequence"]): (row["base_offset"], row["fingerprint"]) for row in sent}
    assert acknowledged == {(row["connection"], row["sequence"]): (row["offset"], row["fingerprint"]) for row in log}
    assert all(row["intended_us"] <= row["sent_us"] <= row["answered_us"] for row in sent)
    assert all(row["client"] == "producer" for row in sent)


def test_what_is_in_order_is_said() -> None:
    for settings, ordered in (
        ({}, True),
        ({"enable.idempotence": False}, False),
        ({"enable.idempotence": False, "max.in.flight.requests.per.connection": 1}, True),
    ):
        sent, _, _ = played(group("NONE", connections=1, each=1, **settings), nothing)
        assert [row["ordered"] for row in sent] == [ordered]


def judged(spark: SparkSession, *runs: Played) -> list[Counter[str | None]]:
    """Return the problems of each run. All are judged at once: planning takes most of the time."""

    def frame(kind: int, schema: pa.Schema) -> Any:
        rows = [row | {"run": str(number)} for number, run in enumerate(runs) for row in run[kind]]
        return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))

    problems_: list[Counter[str | None]] = [Counter() for _ in runs]
    log = LogTables(frame(1, LOG_SCHEMA), frame(2, PART_SCHEMA))
    for row in judge(spark, frame(0, RESULT_SCHEMA), 10_000, log).collect():
        problems_[int(row["run"])][row["problem"]] += 1
    return problems_


@pytest.mark.spark
def test_an_idempotent_producer_writes_once_when_responses_are_lost(spark: SparkSession) -> None:
    assert judged(spark, played(group("NONE", **ONE_A_REQUEST), some_lost_answers)) == [{None: 40}]


@pytest.mark.spark
@pytest.mark.interpreted
def test_a_broker_that_forgets_sequences_is_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerStateManager, "find_duplicate_batch", lambda *_: None)
    monkeypatch.setattr(producer_state, "_check_sequence", lambda *_: None)
    (problems_,) = judged(spark, played(group("NONE", **ONE_A_REQUEST), some_lost_answers))
    assert problems_["duplicated"] > 0, problems_


@pytest.mark.spark
@pytest.mark.parametrize(
    ("generation", "settings"),
    [
        ("4.4", {"delivery.timeout.ms": 400, "enable.idempotence": False}),
        ("2.0", {}),
    ],
)
def test_what_expires_in_the_producer_is_not_in_the_log(
    spark: SparkSession, generation: str, settings: dict[str, object]
) -> None:
    one = {"max.in.flight.requests.per.connection": 1, "request.timeout.ms": 300, "batch.size": 200}
    plan = group("expired", 1, 30, generation, **settings, **one)
    sent, log, parts = played(plan, silence)
    assert log == []
    counts = outcomes(sent)
    assert counts["expired"] >= 20
    assert set(counts) <= {"expired", "expired in flight", "closed", "7"}
    early = [row for row in sent if row["outcome"] == "expired" and row["answered_us"] < row["due_low_us"]]
    assert early == []
    # A record that was given up and yet is there is told; so is one that is given up too soon.
    (at, given_up) = next((at, row) for at, row in enumerate(sent) if row["outcome"] == "expired")
    copy = {name: given_up[name] for name in ("connection", "sequence", "topic", "partition", "value_crc")}
    there = [copy | {"offset": 0, "fingerprint": given_up["fingerprint"]}]
    soon = given_up | {"answered_us": given_up["due_low_us"] - 1}
    changed, too_soon = judged(spark, (sent, there, parts), ([*sent[:at], soon, *sent[at + 1 :]], log, parts))
    assert changed["given up before it was sent, and written"] == 1
    assert too_soon["early"] == 1


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        ("settings: {linger: 5}}", "has a producer that cannot be: linger is no setting of a producer here"),
        ("settings: {acks: 1}}", "has the setting acks, which the load sets"),
        ("settings: 3}", "has settings = 3; it is a mapping"),
        ("generation: '9.9'}", "has a producer that cannot be: generation='9.9' is not known"),
        ("pipelined: 2}", "has a producer, and with it neither acks 0, waits nor pipelined"),
    ],
)
def test_a_slip_is_told_with_its_line(rest: str, sentence: str) -> None:
    with pytest.raises(LoadScenarioError, match="f:3: The group 'g' ") as caught:
        parse_text(HEADER + rest, "f")
    assert sentence in str(caught.value)
