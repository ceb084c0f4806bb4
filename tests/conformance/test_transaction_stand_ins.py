"""Producer ids and what brokers write by themselves are the same in every transcript."""

from __future__ import annotations

from datetime import timedelta

import pytest

from conformance.frames import batch, fetch, produce
from conformance.targets.described import described_transactions
from conformance.targets.wire import Sent
from conformance.transactions.frames import END_TXN, INIT_PRODUCER_ID, end_txn, in_transaction
from conformance.transactions.stand_ins import MARKER_MS, ProducerIds, producer
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type
from fakebroker.protocol.record_batch import Record, encode_batch, is_crc_valid
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME
from fakebroker.protocol.transaction_records.control_records import COMMIT, EndTransactionMarker, encode_marker
from fakebroker.protocol.transaction_records.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
    decode_record,
)

INIT, END = Sent(INIT_PRODUCER_ID, 4), Sent(END_TXN, 5)


def told(sent: Sent, producer_id: int, epoch: int = 0) -> bytes:
    values = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "producer_id": producer_id,
        "producer_epoch": epoch,
    }
    return encode_response(build(response_type(sent.api_key, sent.version), values), 1)[4:]


@pytest.fixture
def ids() -> ProducerIds:
    producer_ids = ProducerIds()
    producer_ids.stand_ins(INIT, told(INIT, 3))
    return producer_ids


def test_ids_are_numbered_as_they_are_told() -> None:
    ids = ProducerIds()
    answers = [ids.stand_ins(sent, told(sent, real)) for sent, real in ((INIT, 3), (END, 0), (INIT, 3), (INIT, -1))]
    assert answers == [told(INIT, producer(1)), told(END, producer(2)), told(INIT, producer(1)), told(INIT, -1)]


def test_what_the_case_sends_has_the_ids_of_the_cluster(ids: ProducerIds) -> None:
    assert ids.real(end_txn("t")) == end_txn("t", producer_id=3)
    assert ids.real(end_txn("t", producer_id=producer(2))) == end_txn("t", producer_id=producer(2))
    frames = end_txn("t") + produce("t", in_transaction(b"v"), transactional_id="t") + produce("t", batch(b"v"))
    real = produce("t", in_transaction(b"v", producer_id=3), transactional_id="t")
    assert ids.real(frames) == end_txn("t", producer_id=3) + real + produce("t", batch(b"v"))


def test_batches_that_are_read_have_stand_ins_and_their_crc(ids: ProducerIds) -> None:
    assert ids.stored(in_transaction(b"v", producer_id=3)) == in_transaction(b"v")
    assert ids.stored(in_transaction(b"v", producer_id=4)) == in_transaction(b"v", producer_id=4)
    broken = in_transaction(b"v", producer_id=3)[:-1] + b"x"
    assert not is_crc_valid(ids.stored(broken), 0, len(broken))


def test_the_beginning_of_a_batch_has_no_crc(ids: ProducerIds) -> None:
    values = {
        "throttle_time": timedelta(0), "error_code": ErrorCode.none, "session_id": 0, "responses": [],
    }  # fmt: skip
    part = {
        "partition_index": 0, "error_code": ErrorCode.none, "high_watermark": 0, "last_stable_offset": 0,
        "log_start_offset": 0, "aborted_transactions": None, "preferred_read_replica": -1,
    }  # fmt: skip

    def fetched(records: bytes) -> bytes:
        topic = {"topic": "t", "partitions": [part | {"records": records}]}
        return encode_response(build(response_type(1, 11), values | {"responses": [topic]}), 1)[4:]

    whole, stand_in = in_transaction(b"v", producer_id=3), in_transaction(b"v")
    for size in (17, 45, 51, 61):
        cut = (stand_in[:17] + bytes(4) + stand_in[21:])[:size]
        expected = cut if size >= 51 else cut[:43] + bytes(len(cut[43:]))
        assert ids.stand_ins(Sent(1, 11), fetched(whole + whole[:size])) == fetched(stand_in + expected)


def test_markers_have_the_time_and_the_epoch_of_the_case(ids: ProducerIds) -> None:
    def mark(producer_id: int, at_ms: int, coordinator_epoch: int) -> bytes:
        return encode_marker(EndTransactionMarker(COMMIT, coordinator_epoch), producer_id, 0, at_ms)

    assert ids.stored(mark(3, MARKER_MS + 77, 4)) == mark(producer(1), MARKER_MS, 4)
    ids.first_epoch = 3
    assert ids.stored(mark(3, MARKER_MS + 77, 4)) == mark(producer(1), MARKER_MS, 1)


def test_where_a_case_wrote_in_the_transaction_log_is_not_told(ids: ProducerIds) -> None:
    def appended(topic: str, offset: int) -> bytes:
        part = {"index": 0, "error_code": ErrorCode.none, "base_offset": offset, "record_errors": []}
        values = {"responses": [{"name": topic, "partition_responses": [part]}], "throttle_time": timedelta(0)}
        return encode_response(build(response_type(0, 11), values), 1)[4:]

    for topic, offset, told_as in (
        (TRANSACTION_STATE_TOPIC_NAME, 86, 0),
        (TRANSACTION_STATE_TOPIC_NAME, -1, -1),
        ("t", 86, 86),
    ):
        assert ids.stand_ins(Sent(0, 11), appended(topic, offset)) == appended(topic, told_as)


def test_the_transaction_log_is_filtered_by_transactional_id(ids: ProducerIds) -> None:
    def stored(producer_id: int, at_ms: int, *partitions: int) -> bytes:
        parts = (TransactionPartitions("t", partitions),)
        return TransactionLogValue(producer_id, 0, 60_000, 1, parts, at_ms, -1, producer_id, -1, 2).encode(1)

    keys = [TransactionLogKey(name).encode() for name in ("a", "b")]
    logged = [
        encode_batch([Record(key, stored(3, MARKER_MS + 5, 2, 1)), Record(key, None)], base_timestamp_ms=1)
        for key in keys
    ]
    value, end = ids.state_records("b", logged)
    assert value == encode_batch([Record(keys[1], stored(producer(1), MARKER_MS, 1, 2))], base_timestamp_ms=MARKER_MS)
    assert end[8:] == encode_batch([Record(keys[1], None)], base_timestamp_ms=MARKER_MS)[8:]
    assert (value[:8], end[:8]) == (bytes(8), bytes(7) + b"\1")
    assert decode_record(keys[1], stored(3, 1)) is not None


def test_an_answer_that_is_not_written_as_it_is_read_stays(ids: ProducerIds) -> None:
    frame = told(INIT, 3) + b"\0"
    assert ids.stand_ins(INIT, frame) == frame
    assert ids.stand_ins(None, frame) == frame
    assert fetch("t") == ids.real(fetch("t"))


def test_a_transaction_that_has_not_begun_can_be_read(ids: ProducerIds) -> None:
    state = b"\0\0" + b"\2a" + b"\6Empty" + (60_000).to_bytes(4) + b"\xff" * 8 + (3).to_bytes(8) + b"\0\0" + b"\1\0"
    frame = bytes(9) + b"\2" + state + b"\0"
    [says] = described_transactions(frame)[0]["transaction_states"]
    assert (says["transaction_start_time"], says["producer_id"], says["error_code"]) == (-1, 3, "NONE(0)")
    [changed] = described_transactions(ids.stand_ins(Sent(65, 0), frame))[0]["transaction_states"]
    assert changed == says | {"producer_id": producer(1)}
    for cut in (frame[:-1], frame + b"\0", frame[:12]):
        with pytest.raises(ValueError, match=r"."):
            described_transactions(cut)
