"""The frames of simulated clients are what kio writes, byte for byte; answers say what kio reads in them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.messages import decode_request
from support.requests import produce
from support.simulation import Simulation

from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import encode_response, response_type
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.testing import strategies, wire

TOPIC = st.text("abcz.-_", min_size=1, max_size=140)


@given(
    TOPIC,
    st.dictionaries(st.integers(0, 2**31 - 1), strategies.batches(), min_size=1, max_size=4),
    st.sampled_from([-1, 0, 1, 7]),
    st.integers(-5, 2**31 - 1),
    st.integers(0, 2**31 - 1),
)
def test_produce(topic: str, parts: dict[int, bytes], acks: int, timeout_ms: int, number: int) -> None:
    made = wire.produce(number, acks, timeout_ms, [((topic, index), data) for index, data in parts.items()])
    expected = produce(
        topic,
        partitions=dict(parts),
        acks=acks,
        timeout_ms=timeout_ms,
        correlation_id=number,
        client_id=wire.CLIENT_ID,
    )
    assert made == expected


@given(
    st.binary(max_size=140),
    st.integers(0, 200),
    st.integers(0, 2**42),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**15 - 1),
    st.integers(-1, 2**31 - 1),
)
def test_batch(value: bytes, count: int, timestamp_ms: int, producer_id: int, epoch: int, sequence: int) -> None:
    assert wire.batch(value, count, timestamp_ms, producer_id, epoch, sequence) == encode_batch(
        [Record(None, value)] * count,
        base_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


OFFSETS = st.integers(-1, 2**63 - 1)
ANSWERED = st.fixed_dictionaries(
    {
        "index": st.integers(-(2**31), 2**31 - 1),
        "error_code": st.sampled_from([0, 0, 0, 3, 7, 19, 87, -1]).map(ErrorCode),
        "base_offset": OFFSETS,
        "log_append_time": st.none(),
        "log_start_offset": OFFSETS,
        "record_errors": st.just([])
        | st.just([{"batch_index": 0, "batch_index_error_message": "no"}])
        | st.just([{"batch_index": 5, "batch_index_error_message": None}]),
        "error_message": st.none() | st.none() | st.text(max_size=3),
    }
)
ANSWERS = st.lists(
    st.fixed_dictionaries({"name": TOPIC, "partition_responses": st.lists(ANSWERED, max_size=3)}), max_size=3
)


def answer(topics: list[dict[str, object]], number: int, throttle_ms: int) -> bytes:
    values = {"responses": topics, "throttle_time": timedelta(milliseconds=throttle_ms)}
    return encode_response(build(response_type(wire.PRODUCE, wire.PRODUCE_VERSION), values), number)[4:]


def read(reader: Callable[[bytes], object], frame: bytes) -> object:
    try:
        return reader(frame)
    except ProtocolError:
        return "malformed"


@given(ANSWERS, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_an_answer_is_read_as_kio_reads_it(topics: list[dict[str, object]], number: int, throttle_ms: int) -> None:
    frame = answer(topics, number, throttle_ms)
    assert wire.read_produce_answer(frame) == wire._read_any_answer(frame)


@given(ANSWERS, st.data())
def test_a_damaged_answer_is_read_as_kio_reads_it(topics: list[dict[str, object]], data: st.DataObject) -> None:
    frame = answer(topics, 1, 0)
    at = data.draw(st.integers(4, len(frame) - 1))
    changed = frame[:at] + data.draw(st.binary(max_size=3)) + frame[at + data.draw(st.integers(0, 3)) :]
    assert read(wire.read_produce_answer, changed) == read(wire._read_any_answer, changed)


@pytest.mark.interpreted  # asks how it was read
def test_most_answers_are_read_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_read_any_answer", None)
    parts: list[dict[str, object]] = [
        {
            "index": index,
            "error_code": ErrorCode(error),
            "base_offset": index,
            "log_append_time": None,
            "log_start_offset": 0,
            "record_errors": [],
            "error_message": None,
        }
        for index, error in ((2, 0), (1, 7))
    ]
    frame = answer([{"name": name, "partition_responses": parts} for name in ("t2", "t1")], 1, 0)
    assert wire.read_produce_answer(frame) == (
        (("t1", 1), 7, 1),
        (("t1", 2), 0, 2),
        (("t2", 1), 7, 1),
        (("t2", 2), 0, 2),
    )


@given(strategies.produce_requests("t", 3))
def test_the_strategy_gives_requests_that_a_broker_reads(frame: bytes) -> None:
    header = decode_request_header(frame[4:], True)
    request = decode_request(wire.PRODUCE, wire.PRODUCE_VERSION, frame[4:], header.body_offset)
    assert request.topic_data[0].name == "t"


@given(strategies.batches(idempotent=True) | strategies.batches())
def test_the_batches_are_ones_that_a_broker_takes(batch: bytes) -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(wire.produce(9, -1, 100, [(("t", 0), batch)]))
    ((_, frame),) = client.answers
    assert wire.correlation_id_of(frame) == 9
    assert wire.read_produce_answer(frame) == ((("t", 0), 0, 0),)
    client.send(wire.fetch(10, "t", 0, 0, 0))
    assert wire.read_fetch_answer(client.answers[1][1])[2] == (wire.ident(batch),)


@pytest.mark.parametrize("kind", wire.GARBAGE)
def test_garbage_closes_the_connection(kind: str) -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(wire.garbage(kind))
    assert client.closed is not None
    assert client.answers == []
