"""Raw requests with several topics, partitions and records against a cluster in this process, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from load_stub import Answer, stub_broker_thread

from fakebroker import FakeCluster
from fakebroker_load.job import leaders_of
from fakebroker_load.log import PART_SCHEMA, await_readable, log_ends, part_rows
from fakebroker_load.plan import plan_connections
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.scenario.batches import CODECS, ENDS
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.traffic import raw_transactions
from fakebroker_load.traffic.raw import told
from fakebroker_load.wire.messages import ProduceResult
from fakebroker_load.worker import run

Row = dict[str, Any]
EACH, PARTS, RECORDS = 2, 2, 3
WIDE = RequestGroup(
    "g", "t", -1, "REQUEST_TIMED_OUT", True, partitions=PARTS, connections=2, requests_per_connection=EACH,
    timeout_ms=(20, 20), beside={"u": "NONE"}, partitions_per_request=PARTS, records_per_batch=RECORDS,
)  # fmt: skip
GROUPS = (
    *(replace(WIDE, name=codec, compression=codec, headers=number) for number, codec in enumerate(CODECS)),
    replace(WIDE, name="idempotent", idempotent=True, pipelined=2),
    replace(WIDE, name="commit", topic="v", beside={"w": "NONE"}, compression="lz4", transaction="commit"),
    replace(WIDE, name="abort", topic="v", beside={"w": "NONE"}, transaction="abort"),
    replace(WIDE, name="acks=1", acks=1, expect="NONE", waits=False),
    replace(WIDE, name="acks=0", acks=0, expect="no answer", waits=False, beside={"u": "no answer"}),
)


@pytest.fixture(scope="module")
def sent_and_read() -> Iterator[tuple[list[Row], list[Row]]]:
    scenario = LoadScenario("s", GROUPS, brokers=3)
    with FakeCluster(brokers=3) as kafka:
        for topic in scenario.topics:
            kafka.create_topic(topic, assignments=[[1, 2, 3]] * PARTS)
        for topic in "tv":
            kafka.followers.freeze(topic)
        bootstrap = [(broker.host, broker.port) for broker in kafka.endpoints]
        metadata = leaders_of(bootstrap, scenario)
        before = log_ends(metadata)
        plan = plan_connections(scenario, metadata.leaders, 1)
        sent = [row for batch in run(iter(plan.to_batches()), run_id="id") for row in batch.to_pylist()]
        for topic in "tv":
            kafka.followers.resume(topic)
        ends = log_ends(leaders_of(bootstrap, scenario))
        parts = part_rows(("s", "id"), before, ends, await_readable(ends), {}, scenario.transactional)
        given = pa.RecordBatch.from_pylist(parts, schema=PART_SCHEMA)
        yield sent, [row for batch in read_parts(iter([given])) for row in batch.to_pylist()]


def test_each_partition_of_a_request_is_answered_for_itself(sent_and_read: tuple[list[Row], list[Row]]) -> None:
    counts = Counter((row["group"], row["topic"], row["error_code"], row["outcome"]) for row in sent_and_read[0])
    half = WIDE.records // 2
    expected: dict[tuple[str, str, int | None, str], int] = {
        **{(name, topic, error, "answered"): half for name in CODECS for topic, error in (("t", 7), ("u", 0))},
        **{("idempotent", topic, error, "answered"): half for topic, error in (("t", 7), ("u", 0))},
        **{(end, topic, error, "answered"): half for end in ENDS for topic, error in (("v", 7), ("w", 0))},
        **{("acks=1", topic, 0, "answered"): half for topic in "tu"},
        **{("acks=0", topic, None, "silent"): half for topic in "tu"},
    }
    assert counts == expected


def test_each_record_stands_where_its_answer_says_as_it_was_sent(sent_and_read: tuple[list[Row], list[Row]]) -> None:
    sent, log = sent_and_read
    stored = {(row["connection"], row["sequence"]): row for row in log}
    assert len(stored) == len(log) == len(sent)
    for row in sent:
        record = stored[row["connection"], row["sequence"]]
        for name in ("topic", "partition", "value_crc", "fingerprint", "timestamp_ms", "compression"):
            assert record[name] == row[name], (name, row)
        assert row["base_offset"] in (record["offset"], None if row["group"] == "acks=0" else record["offset"])
        assert record["producer_id"] == (-1 if row["producer_id"] is None else row["producer_id"])
        assert record["problem"] is None


def test_idempotent_connections_have_producers_of_their_own(sent_and_read: tuple[list[Row], list[Row]]) -> None:
    ids = {(row["connection"], row["producer_id"]) for row in sent_and_read[0] if row["group"] == "idempotent"}
    assert len(ids) == len({producer for _, producer in ids}) == WIDE.connections
    assert {row["producer_id"] for row in sent_and_read[0] if row["group"] not in ("idempotent", *ENDS)} == {None}


def test_what_was_committed_is_shown_and_what_was_aborted_is_hidden(
    sent_and_read: tuple[list[Row], list[Row]],
) -> None:
    group_of = {row["connection"]: row["group"] for row in sent_and_read[0]}
    shown = Counter((group_of[row["connection"]], row["visible"]) for row in sent_and_read[1])
    assert {key: count for key, count in shown.items() if key[0] in ENDS} == {
        ("commit", True): WIDE.records,
        ("abort", False): WIDE.records,
    }
    assert {row["written"] for row in sent_and_read[0] if row["group"] == "abort"} == {"never"}


def test_a_transaction_that_cannot_begin_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_transactions, "WITHIN_S", 0)
    scenario = LoadScenario("s", (RequestGroup("g", "t", -1, "NONE", transaction="commit"),))
    with FakeCluster() as kafka:
        broker = kafka.endpoints[0]
        kafka.create_topic("t")
        kafka.faults.add(when={"api": "AddPartitionsToTxn"}, do="CONCURRENT_TRANSACTIONS", times="every_time")
        plan = plan_connections(scenario, {("t", 0): (broker.host, broker.port)}, 1)
        (row,) = [row for batch in run(iter(plan.to_batches())) for row in batch.to_pylist()]
    assert row["outcome"] == "not sent"


def test_a_transaction_waits_for_its_coordinator() -> None:
    scenario = LoadScenario("s", (RequestGroup("g", "t", -1, "NONE", transaction="commit"),))
    with FakeCluster() as kafka:
        broker = kafka.endpoints[0]
        kafka.create_topic("t")
        for api in ("InitProducerId", "AddPartitionsToTxn", "EndTxn"):
            kafka.faults.add(when={"api": api}, do="COORDINATOR_LOAD_IN_PROGRESS", times="once")
        plan = plan_connections(scenario, {("t", 0): (broker.host, broker.port)}, 1)
        (row,) = [row for batch in run(iter(plan.to_batches())) for row in batch.to_pylist()]
        counts = [len(kafka.journal.requests(api=api)) for api in ("InitProducerId", "AddPartitionsToTxn", "EndTxn")]
    assert (row["outcome"], row["error_code"]) == ("answered", 0)
    assert counts == [2, 2, 2]


def test_the_rows_of_a_request_are_numbered_and_have_its_times(sent_and_read: tuple[list[Row], list[Row]]) -> None:
    requests: dict[int, list[Row]] = {}
    for row in sent_and_read[0]:
        requests.setdefault(row["correlation_id"], []).append(row)
    assert len(requests) == sum(group.requests for group in GROUPS)
    for rows in requests.values():
        assert sorted(row["place"] for row in rows) == list(range(2 * PARTS * RECORDS))
        assert len({(row["sent_us"], row["answered_us"], row["sequence"] - row["place"]) for row in rows}) == 1


def test_a_record_of_a_batch_has_its_own_offset() -> None:
    assert told(ProduceResult("t", 0, 7, 40), 2)["base_offset"] == 42
    assert told(ProduceResult("t", 0, 19, -1), 2)["base_offset"] == -1
    assert set(told(None, 2).values()) == {None}


def test_an_answer_for_fewer_partitions_is_garbled() -> None:
    """The stub answers for one partition."""
    with stub_broker_thread(lambda request: Answer()) as broker:
        place = ("127.0.0.1", broker.port)
        one = LoadScenario("s", (replace(WIDE, acks=1, expect="NONE", waits=False, connections=1),))
        plan = plan_connections(one, {(topic, at): place for topic in "tu" for at in range(PARTS)}, 1)
        rows = [row for batch in run(iter(plan.to_batches()), grace_ms=60_000) for row in batch.to_pylist()]
    assert {(row["outcome"], row["error_code"]) for row in rows} == {("garbled", None)}
    assert len(rows) == EACH * 2 * PARTS * RECORDS


def test_a_broker_that_gives_no_producer_id_is_sent_nothing() -> None:
    scenario = LoadScenario("s", (RequestGroup("g", "t", -1, "NONE", idempotent=True),))
    with FakeCluster() as kafka:
        broker = kafka.endpoints[0]
        kafka.faults.add(when={"api": "InitProducerId"}, do="NOT_COORDINATOR", times="every_time")
        plan = plan_connections(scenario, {("t", 0): (broker.host, broker.port)}, 1)
        (row,) = (row for batch in run(iter(plan.to_batches())) for row in batch.to_pylist())
    assert (row["outcome"], row["sent_us"]) == ("not sent", None)
