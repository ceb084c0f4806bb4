"""Readers next to a load, against a cluster in this process: their records, and the rows about them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from support.watchdog import call, join, wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Parked, Request
from fakebroker.faults import on_call
from fakebroker_load.job import leaders_of
from fakebroker_load.log import log_ends
from fakebroker_load.plan import plan_connections
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import parse_text
from fakebroker_load.scenario.reads import PartitionToRead, ReaderOptions
from fakebroker_load.worker import run

EACH = 30
SENT = RequestGroup("sent", "orders", -1, "NONE", partitions=2, connections=2, requests_per_connection=EACH)
READ = RequestGroup("read", "orders", -1, "NONE", client="reader", partitions=2, connections=2)

Row = dict[str, Any]


@contextmanager
def cluster(*topics: str) -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as kafka:
        for topic in topics:
            kafka.create_topic(topic, partitions=2)
        yield kafka


def places_of(kafka: FakeCluster) -> list[tuple[str, int]]:
    return [(broker.host, broker.port) for broker in kafka.endpoints]


def rows_of(kafka: FakeCluster, *groups: RequestGroup, run_id: str = "id") -> list[Row]:
    scenario = LoadScenario("s", groups)
    metadata = leaders_of(places_of(kafka), scenario)
    starts = {place: end.offset for place, end in log_ends(metadata).items()}
    table = plan_connections(scenario, metadata.leaders, 1, starts)
    return [row for batch in run(iter(table.to_batches()), run_id=run_id) for row in batch.to_pylist()]


def records(rows: list[Row], group: str = "read") -> list[Row]:
    return [row for row in rows if row["group"] == group and row["read"] and row["read"]["what"] == "record"]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_each_reader_is_given_all_of_its_partition_once_in_order(isolation: str) -> None:
    with cluster("orders") as kafka:
        rows_of(kafka, SENT, run_id="before")  # not to be read: the readers begin where the log ended
        rows = rows_of(kafka, SENT, replace(READ, isolation=isolation))
    sent_rows = {(row["connection"], row["sequence"]): row for row in rows if row["read"] is None}
    records_ = records(rows)
    assert [
        (row["connection"], row["read"]["offset"]) for row in sorted(records_, key=lambda row: row["connection"])
    ] == [(reader, offset) for reader in (2, 3) for offset in range(EACH, 2 * EACH)]
    for row in records_:
        sent = sent_rows[row["read"]["of_connection"], row["read"]["of_sequence"]]
        assert (row["partition"], row["read"]["offset"]) == (sent["partition"], sent["base_offset"])
        assert row["fingerprint"] == sent["fingerprint"]
        assert row["read"]["high_watermark"] > row["read"]["offset"]
        assert row["sent_us"] <= row["answered_us"]
    assert [row["outcome"] for row in rows if row["read"] and row["read"]["what"] == "done"] == ["done", "done"]


def test_a_slow_reader_takes_its_time() -> None:
    with cluster("orders") as kafka:
        rows = rows_of(kafka, SENT, replace(READ, records_per_s=60, fetch_bytes=1))
    records_ = records(rows)
    assert len(records_) == 2 * EACH
    assert len({(row["connection"], row["correlation_id"]) for row in records_}) == len(records_)  # a batch at a time
    assert max(row["answered_us"] for row in records_) >= (EACH - 1) / 60 * 1e6
    # Senders keep their own pace: the next response comes sooner than the reader reads.
    sent = sorted(row["answered_us"] for row in rows if row["read"] is None and row["connection"] == 0)
    assert min(later - earlier for earlier, later in pairwise(sent)) < 1 / 60 * 1e6


def test_a_reader_gets_no_unreplicated_records_and_ends_in_time() -> None:
    sent = replace(SENT, expect="REQUEST_TIMED_OUT", waits=True, timeout_ms=(10, 10), requests_per_connection=5)
    with cluster("orders") as kafka:
        kafka.followers.freeze("orders")
        began = time.monotonic()
        rows = call(lambda: rows_of(kafka, sent, replace(READ, until_ms=800)), "the reader's end")
        took_s = time.monotonic() - began
    assert {row["error_code"] for row in rows if row["read"] is None} == {7}
    assert records(rows) == []
    assert took_s >= 0.8


def stop_between_two_records(kafka: FakeCluster) -> None:
    """Stop broker 1 when the reader has read what was sent, and the producer has more to send."""

    def fetches_parked() -> int:
        events = list(kafka.journal)
        here = {event.request for event in events if isinstance(event, Request) and event.broker == 1}
        return sum(isinstance(event, Parked) and event.api == "Fetch" and event.request in here for event in events)

    held = kafka.faults.add(when={"api": "Produce", "topic": "orders", "partition": 0}, do="hold", times=on_call(3))
    held.wait_held()
    parked = fetches_parked()
    wait_until(lambda: fetches_parked() > parked, "a Fetch that finds nothing more to read")
    kafka.brokers[1].stop()


def test_a_producer_finds_the_cluster_though_its_leader_is_gone() -> None:
    sent = replace(SENT, client="producer", partitions=1, connections=1, requests_per_connection=5)
    with cluster() as kafka:
        kafka.create_topic("orders", assignments=[[1, 2, 3]])
        scenario = LoadScenario("s", (sent,))
        leaders = leaders_of(places_of(kafka), scenario).leaders
        table = plan_connections(scenario, leaders, 1, bootstrap=places_of(kafka))
        kafka.brokers[1].stop()
        rows = [row for batch in run(iter(table.to_batches())) for row in batch.to_pylist()]
    assert [row["error_code"] for row in rows] == [0] * 5


def test_a_reader_follows_its_leader() -> None:
    sent = replace(SENT, client="producer", requests_per_connection=100, pause_ms=10)
    with cluster() as kafka:
        kafka.create_topic("orders", assignments=[[1, 2, 3], [2, 3, 1]])
        moving = threading.Thread(target=stop_between_two_records, args=(kafka,))
        moving.start()
        rows = rows_of(kafka, sent, READ)
        join(moving)
    assert len({row["local"] for row in records(rows) if row["partition"] == 0}) == 2  # connections
    assert len({(row["partition"], row["read"]["offset"]) for row in records(rows)}) == 200
    assert [row["outcome"] for row in rows if row["read"] and row["read"]["what"] == "done"] == ["done", "done"]


def test_a_reader_of_transactions_is_shown_what_was_committed() -> None:
    transform = RequestGroup(
        *("transform", "seen", -1, "NONE", False, None, 2, 2, EACH),
        client="transform",
        source="orders",
        per_transaction=6,
        fail_every=2,
    )
    with cluster("orders", "seen") as kafka:
        rows = rows_of(kafka, SENT, transform, replace(READ, topic="seen", isolation="read_committed"))
    made = {(row["connection"], row["sequence"]): row for row in rows if row["group"] == "transform"}
    records_ = records(rows)
    assert len(records_) == len(made) == 2 * EACH
    assert {(row["read"]["of_connection"], row["read"]["of_sequence"]): row["read"]["offset"] for row in records_} == {
        who: row["base_offset"] for who, row in made.items()
    }


def test_a_reader_without_a_broker_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakebroker_load.traffic.readers.STALLED_S", 0.3)
    with cluster("orders") as kafka:
        scenario = LoadScenario("s", (SENT, READ))
        bootstrap = [(broker.host, broker.port) for broker in kafka.endpoints]
        table = plan_connections(scenario, leaders_of(bootstrap, scenario).leaders, 1)
    rows = [row for batch in run(iter(table.to_batches()), run_id="id") for row in batch.to_pylist()]
    assert [row["outcome"] for row in rows if row["read"]] == ["gave up", "gave up"]


def test_what_a_reader_is_told_goes_through_the_plan() -> None:
    reading = ReaderOptions((PartitionToRead(0, "h", 1, 2, 3),), True, False, 4, 5, 6, 7, (8, 9), 10)
    assert ReaderOptions.from_json(reading.as_json()) == reading
    assert ReaderOptions.from_json(reading._replace(life_ms=None).as_json()).life_ms is None


HEADER = "name: s\ngroups:\n  - {name: sent, topic: t, acks: -1, expect: NONE}\n  - {name: g, topic: t, "


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        ("client: reader, acks: 1}", "is a reader, and that has no acks"),
        ("client: reader, expect: NONE}", "is a reader, and that has no expect"),
        ("client: reader, pipelined: 2}", "is a reader, and that has no pipelined"),
        ("client: reader, settings: {linger.ms: 5}}", "is a reader, and that has no settings"),
        ("client: reader, life_ms: 5}", "is a reader, and that has no life_ms"),
        ("client: reader, isolation: none}", "has isolation 'none', which is read_uncommitted or read_committed"),
        ("client: reader, partitions: 2}", "reads 2 partitions of the topic 't', and groups send to 1"),
        ("client: reader, records_per_s: -1}", "has a negative time or size: records_per_s"),
        ("client: reader, fetch_bytes: 0}", "has a count below 1: fetch_bytes"),
        ("acks: -1, expect: NONE, fetch_bytes: 5}", "sends, and so has no fetch_bytes"),
        ("acks: -1, expect: NONE, until_ms: 5}", "sends, and so has no until_ms"),
        ("client: member, life_ms: [5, 4]}", "has life_ms, and it is a time above 0 or a range of two that rises"),
        ("client: member, vanish_every: 2}", "has vanish_every, and no life_ms"),
    ],
)
def test_a_slip_is_told_with_its_line(rest: str, sentence: str) -> None:
    with pytest.raises(LoadScenarioError, match="f:4: The group 'g' ") as caught:
        parse_text(HEADER + rest, "f")
    assert sentence in str(caught.value)


def test_a_read_committed_reader_reads_transactions() -> None:
    text = "name: s\ngroups:\n  - {name: a, topic: t, acks: -1, expect: NONE}\n"
    text += "  - {name: b, client: transform, source: t, topic: u, acks: -1, expect: NONE}\n"
    parse_text(text + "  - {name: c, client: reader, topic: u, isolation: read_committed}", "f")
    with pytest.raises(LoadScenarioError, match="f:5: The group 'c' reads a topic that is written in transactions"):
        parse_text(text + "  - {name: c, client: reader, topic: u}", "f")
