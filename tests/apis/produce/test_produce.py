"""Responses to Produce requests that are refused in part or as a whole (Kafka's handleProduceRequest)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.batches import batch_of
from support.messages import decode_response
from support.requests import PRODUCE, Produced, batch, produce, request
from support.simulation import Simulation

from fakebroker.protocol.record_batch import Record

NONE, UNKNOWN, CORRUPT, UNKNOWN_TOPIC, ZSTD, INVALID_RECORD, NOT_ALLOWED = 0, -1, 2, 3, 76, 87, 53
NOT_LEADER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_ID_MAPPING = 6, 19, 49
TRANSACTIONAL = 0x10
SHORT = b"\0" * 8 + (14).to_bytes(4, "big") + b"\0" * 4 + b"\2" + b"\0" * 4  # of 26 bytes, up to the CRC


def short_batch(attributes: int) -> bytes:
    return SHORT + attributes.to_bytes(2, "big") + b"\0" * 3


def answer(frame: bytes, version: int = 9) -> dict[int, tuple[int, int]]:
    simulation = Simulation()
    simulation.topic("t", partitions=1)
    client = simulation.connect()
    client.send(frame)
    ((_, response),) = client.answers
    return Produced(response, version).partitions


def test_null_records_fail_the_whole_request_and_append_nothing() -> None:
    simulation = Simulation()
    simulation.topic("t", partitions=4)
    client = simulation.connect()
    client.send(produce("t", partitions={0: batch(), 3: None}))
    ((_, response),) = client.answers
    assert Produced(response).partitions == {0: (UNKNOWN, -1), 3: (UNKNOWN, -1)}
    assert simulation.partition().leader_log.log_end_offset == 0


def test_null_records_of_an_unknown_partition_are_an_unknown_partition() -> None:
    assert answer(produce("t", partitions={0: batch(), 9: None})) == {0: (NONE, 0), 9: (UNKNOWN_TOPIC, -1)}


def test_a_corrupt_first_header_fails_the_whole_request_and_says_why() -> None:
    simulation = Simulation()
    simulation.topic("t", partitions=4)
    client = simulation.connect()
    client.send(produce("t", partitions={0: batch(), 3: b"\0" * 8 + (5).to_bytes(4, "big") + b"\0" * 9}))
    ((_, frame),) = client.answers
    _, response = decode_response(PRODUCE, 9, frame)
    results = {p.index: (int(p.error_code), p.error_message) for p in response.responses[0].partition_responses}
    why = "Record size 5 is less than the minimum record overhead (14)"
    assert results == {0: (CORRUPT, why), 3: (CORRUPT, why)}
    assert simulation.partition().leader_log.log_end_offset == 0


@pytest.mark.parametrize(
    ("records", "version", "expected"),
    [
        (b"", 9, INVALID_RECORD),
        (batch()[:-1], 9, INVALID_RECORD),
        (batch() + batch(), 9, INVALID_RECORD),
        (batch()[:16] + b"\1" + batch()[17:], 9, INVALID_RECORD),
        (batch()[:16] + b"\3" + batch()[17:], 9, CORRUPT),
        (batch()[:16] + b"\xff" + batch()[17:], 9, CORRUPT),
        (short_batch(0), 9, UNKNOWN),  # Kafka reads the producer id, and runs over the end, before it sees the size
        (short_batch(4), 6, ZSTD),
        (short_batch(4), 7, UNKNOWN),
        (short_batch(5), 6, UNKNOWN),
        (short_batch(0x10), 9, NOT_ALLOWED),
    ],
)
def test_a_record_set_that_is_refused(records: bytes, version: int, expected: int) -> None:
    assert answer(produce("t", records=records, version=version), version) == {0: (expected, -1)}


def failures(*frames: bytes) -> list[dict[int, tuple[int, str | None]]]:
    """Return (error, message) of each partition, for each request to a topic of four partitions."""
    simulation = Simulation()
    simulation.topic("t", partitions=4)
    client = simulation.connect()
    for frame in frames:
        client.send(frame)
    decoded = [decode_response(PRODUCE, 9, frame)[1] for _, frame in client.answers]
    return [
        {p.index: (int(p.error_code), p.error_message) for p in response.responses[0].partition_responses}
        for response in decoded
    ]


def test_a_batch_without_room_for_a_producer_id_fails_the_whole_request() -> None:
    assert failures(produce("t", partitions={0: batch(), 3: short_batch(0)})) == [
        {0: (UNKNOWN, None), 3: (UNKNOWN, None)}
    ]


def test_a_transactional_batch_that_ends_behind_its_sequence_has_a_producer() -> None:
    """The batch of 57 bytes has a complete sequence, so its coordinator gets the producer; with 56 bytes it has
    none."""
    cut_batch = b"\0" * 8 + (45).to_bytes(4, "big") + transactional()[12:57]
    short = b"\0" * 8 + (44).to_bytes(4, "big") + transactional()[12:56]
    assert [
        {code for code, _ in failures(produce("t", records=records, transactional_id="x"))[0].values()}
        for records in (cut_batch, short)
    ] == [{NOT_ENOUGH_REPLICAS}, {UNKNOWN}]


def test_a_negative_magic_is_told_as_it_is() -> None:
    frame = produce("t", records=batch()[:16] + b"\xff" + batch()[17:])
    assert failures(frame) == [{0: (CORRUPT, "Invalid magic found in record: -1")}]


def transactional(producer_id: int = 7, epoch: int = 0) -> bytes:
    return batch_of(
        [Record(None, b"v")],
        attributes=TRANSACTIONAL,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0 if producer_id >= 0 else -1,
    )


def test_no_coordinator_can_be_asked_about_a_transaction() -> None:
    message = (
        "Unable to verify the partition has been added to the transaction. Underlying error: COORDINATOR_NOT_AVAILABLE"
    )
    frame = produce("t", partitions={0: transactional(), 1: transactional()}, transactional_id="x")
    assert failures(frame) == [{0: (NOT_ENOUGH_REPLICAS, message), 1: (NOT_LEADER, None)}]


def test_a_transactional_batch_without_a_producer_id_is_an_ordinary_batch() -> None:
    assert failures(produce("t", records=transactional(-1, -1), transactional_id="x")) == [{0: (NONE, None)}]


@pytest.mark.parametrize("other", [transactional(8), transactional(7, 1)])
def test_one_request_is_one_transaction(other: bytes) -> None:
    frame = produce("t", partitions={0: batch(), 1: transactional(), 2: other}, transactional_id="x")
    message = "Transactional records contained more than one producer ID"
    assert failures(frame) == [dict.fromkeys((0, 1, 2), (INVALID_PRODUCER_ID_MAPPING, message))]


def topics(*data: dict[str, Any], acks: int = -1) -> bytes:
    values = {"transactional_id": None, "acks": acks, "timeout": timedelta(milliseconds=100), "topic_data": data}
    return request(PRODUCE, 9, values)


@pytest.mark.parametrize("good_first", [True, False])
def test_a_partition_named_twice_is_appended_but_its_refusal_is_told(good_first: bool) -> None:
    good, bad = {"index": 0, "records": batch()}, {"index": 0, "records": b""}
    entries = [good, bad] if good_first else [bad, good]
    simulation = Simulation()
    simulation.topic("t")
    client = simulation.connect()
    client.send(topics({"name": "t", "partition_data": entries}))
    ((_, response),) = client.answers
    assert Produced(response).partitions == {0: (INVALID_RECORD, -1)}
    assert simulation.partition().leader_log.log_end_offset == 1


def test_a_topic_without_partitions_is_left_out_of_the_answer() -> None:
    simulation = Simulation()
    simulation.topic("t")
    client = simulation.connect()
    client.send(
        topics({"name": "t", "partition_data": []}, {"name": "x", "partition_data": [{"index": 0, "records": b""}]})
    )
    ((_, frame),) = client.answers
    _, response = decode_response(PRODUCE, 9, frame)
    assert [topic.name for topic in response.responses] == ["x"]


@pytest.mark.parametrize(("acks", "answered"), [(-1, True), (1, True), (7, True), (0, False)])
def test_nothing_to_produce_is_an_empty_answer(acks: int, answered: bool) -> None:
    simulation = Simulation()
    client = simulation.connect()
    client.send(topics(acks=acks))
    assert [decode_response(PRODUCE, 9, frame)[1].responses for _, frame in client.answers] == [()] * answered
    assert client.closed is None


def test_invalid_acks_are_told_to_those_that_were_not_refused_before() -> None:
    assert answer(produce("t", acks=7, partitions={0: batch(), 9: batch()})) == {0: (21, -1), 9: (UNKNOWN_TOPIC, -1)}


def test_acks_zero_that_fails_closes_the_connection_with_a_reason() -> None:
    simulation = Simulation()
    simulation.topic("t")
    client = simulation.connect()
    client.send(produce("t", acks=0, records=b""))
    assert client.answers == []
    request = "a produce request with acks=0, correlation id 1, client id 'test'"
    assert client.closed == f"{request} failed: INVALID_RECORD on t-0"


def test_acks_zero_that_fails_names_each_partition_up_to_ten() -> None:
    simulation = Simulation()
    simulation.topic("t", partitions=2)
    client = simulation.connect()
    client.send(produce("t", acks=0, partitions={0: batch(), 1: b"", 7: batch()}))
    assert client.closed is not None
    assert client.closed.endswith(" failed: INVALID_RECORD on t-1, UNKNOWN_TOPIC_OR_PARTITION on t-7")
    for count, end in ((10, ""), (11, " and 1 more"), (20_000, " and 19,990 more")):
        client = simulation.connect()
        client.send(produce("t", acks=0, partitions=dict.fromkeys(range(2, 2 + count), b"")))
        assert client.closed is not None
        assert client.closed.endswith(f", UNKNOWN_TOPIC_OR_PARTITION on t-11{end}")
