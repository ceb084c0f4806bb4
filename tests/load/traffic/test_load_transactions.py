"""Consume, transform, produce against a cluster in this process, and the records of readers, without Spark."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from support import doses

from fakebroker import FakeCluster
from fakebroker.protocol.batch_layout import CONTROL_FLAG, TRANSACTIONAL_FLAG
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT, EndTransactionMarker, encode_marker
from fakebroker_load.job import leaders_of
from fakebroker_load.log import PART_SCHEMA, await_readable, log_ends, part_rows
from fakebroker_load.plan import plan_connections
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import parse_text
from fakebroker_load.spark.reading_back import in_ranges
from fakebroker_load.traffic.committed import hidden_batches
from fakebroker_load.traffic.rows import make_value
from fakebroker_load.traffic.transactions import made
from fakebroker_load.wire.log_messages import FetchedPartition
from fakebroker_load.worker import run

EACH = 24
SOURCE = RequestGroup("source", "orders", -1, "NONE", False, None, 2, 2, EACH)


def transform(generation: str) -> RequestGroup:
    return RequestGroup(
        *("transform", "seen", -1, "NONE", False, None, 2, 2, EACH),
        client="transform",
        source="orders",
        generation=generation,
        per_transaction=6,
        fail_every=2,
    )


@pytest.mark.parametrize("generation", doses.nightly_but(["4.4"], ["2.0", "2.8", "4.4"]))
def test_each_record_is_shown_once_though_transactions_come_to_nothing(generation: str) -> None:
    scenario = LoadScenario("s", (SOURCE, transform(generation)))
    with FakeCluster(brokers=3) as kafka:
        for topic in scenario.topics:
            kafka.create_topic(topic, partitions=2)
        bootstrap = [(broker.host, broker.port) for broker in kafka.endpoints]
        metadata = leaders_of(bootstrap, scenario)
        before = log_ends(metadata)
        table = plan_connections(scenario, metadata.leaders, 1)
        sent = [row for batch in run(iter(table.to_batches()), run_id="id") for row in batch.to_pylist()]
        ends = log_ends(leaders_of(bootstrap, scenario))
        parts = part_rows(("s", "id"), before, ends, await_readable(ends), {}, scenario.transactional)
        given = pa.RecordBatch.from_pylist(parts, schema=PART_SCHEMA)
        log = [row for batch in read_parts(iter([given])) for row in batch.to_pylist()]
        for offsets in (1, 7):  # ranges that begin and end within transactions
            given = pa.RecordBatch.from_pylist(in_ranges(parts, offsets), schema=PART_SCHEMA)
            assert [row for batch in read_parts(iter([given])) for row in batch.to_pylist()] == log
    rows = [row for row in sent if row["group"] == "transform"]
    assert Counter(row["error_code"] for row in rows) == {0: 2 * EACH}
    assert sorted((row["partition"], row["sequence"]) for row in rows) == [
        (p, at) for p in (0, 1) for at in range(EACH)
    ]
    of_seen = [row for row in log if row["topic"] == "seen"]
    shown = {(row["connection"], row["sequence"]): row["offset"] for row in of_seen if row["visible"]}
    assert len(shown) == sum(row["visible"] for row in of_seen) == 2 * EACH
    assert shown == {(row["connection"], row["sequence"]): row["base_offset"] for row in rows}
    # Of 7 transactions with 6 records in each partition three came to nothing: aborted, without its producer, aborted.
    hidden = Counter((row["partition"], row["sequence"]) for row in of_seen if not row["visible"])
    assert hidden == {(p, at): 1 for p in (0, 1) for at in range(6, EACH)}
    assert all(row["visible"] is None for row in log if row["topic"] == "orders")


def test_what_is_made_is_of_what_was_read() -> None:
    row = {"run": "r", "connection": 1, "record_bytes": 10}
    assert made(make_value(row, 2)) == b"seen r/1/2....."


def batch(base: int, producer: int, is_transactional: bool = True) -> bytes:
    """Return a batch of one record at that offset."""
    attributes = TRANSACTIONAL_FLAG if is_transactional else 0
    return encode_batch(
        [Record(None, b"v")], base_timestamp_ms=0, producer_id=producer, attributes=attributes, base_offset=base
    )


def mark(base: int, producer: int, control_type: int) -> bytes:
    data = bytearray(encode_marker(EndTransactionMarker(control_type, 0), producer, 0, 0))
    data[:8] = base.to_bytes(8, "big")
    return bytes(data)


def test_a_batch_is_hidden_from_where_its_producer_was_aborted_until_its_marker() -> None:
    data = b"".join(
        (
            *(batch(0, 7), mark(1, 7, COMMIT), batch(2, 7), batch(3, 8), batch(4, 9, is_transactional=False)),
            *(mark(5, 7, ABORT), batch(6, 7), mark(7, 7, COMMIT), mark(8, 8, COMMIT)),
        )
    )
    assert hidden_batches(FetchedPartition(9, data, ((7, 2),))) == {2}
    assert hidden_batches(FetchedPartition(9, data, ((8, 3), (7, 2)))) == {2, 3}
    assert hidden_batches(FetchedPartition(9, data)) == set()
    assert hidden_batches(FetchedPartition(9, data[:-10], ((7, 2),))) == {2}


def test_a_control_batch_that_compaction_emptied_is_no_marker() -> None:
    attributes = TRANSACTIONAL_FLAG | CONTROL_FLAG
    emptied = encode_batch([], base_timestamp_ms=0, producer_id=7, attributes=attributes, last_offset_delta=0)
    assert hidden_batches(FetchedPartition(9, emptied + batch(1, 7))) == set()


def test_a_control_batch_that_cannot_be_read_ends_no_transaction() -> None:
    attributes = TRANSACTIONAL_FLAG | CONTROL_FLAG
    without_key = encode_batch([Record(None, b"v")], base_timestamp_ms=0, producer_id=7, attributes=attributes)
    data = without_key + batch(1, 7) + mark(2, 7, ABORT) + batch(3, 7)
    assert hidden_batches(FetchedPartition(9, data, ((7, 0),))) == {1}


HEADER = "name: s\ngroups:\n  - {name: g, topic: t, acks: -1, expect: NONE, "


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        ("client: transform}", "needs both client: transform and a source, or neither"),
        ("source: u}", "needs both client: transform and a source, or neither"),
        ("client: transform, source: u, connections: 2}", "is a transform, and that has acks -1, expects NONE"),
        ("client: transform, source: u, fail_every: 1}", "has fail_every 1: no transaction would ever be committed"),
        ("client: transform, source: u, per_transaction: 0}", "has a count below 1: per_transaction"),
        ("client: transformer}", "has client 'transformer', which is raw or producer or transform"),
    ],
)
def test_a_slip_is_told_with_its_line(rest: str, sentence: str) -> None:
    with pytest.raises(LoadScenarioError, match="f:3: The group 'g' ") as caught:
        parse_text(HEADER + rest, "f")
    assert sentence in str(caught.value)
