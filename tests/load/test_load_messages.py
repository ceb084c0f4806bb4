"""The reader of responses gives the same as the schema, by places or as a whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.produce.v9.response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kio.schema.types import TopicName
from kio.static.primitive import TZAware, i32, i32Timedelta, i64

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import encode_response
from fakebroker_load.wire import messages
from fakebroker_load.wire.messages import AnswerReader, ProduceResult, decode_produce


def frame(
    topic: str,
    partition: int,
    error: ErrorCode,
    offset: int,
    throttle_ms: int = 0,
    message: str | None = None,
    start: int = -1,
    appended: TZAware | None = None,
) -> bytes:
    errors = (
        () if message is None else (BatchIndexAndErrorMessage(batch_index=i32(0), batch_index_error_message=message),)
    )
    part = PartitionProduceResponse(
        index=i32(partition),
        error_code=error,
        base_offset=i64(offset),
        log_append_time=appended,
        log_start_offset=i64(start),
        record_errors=errors,
        error_message=message,
    )
    response = ProduceResponse(
        responses=(TopicProduceResponse(name=TopicName(topic), partition_responses=(part,)),),
        throttle_time=i32Timedelta.parse(timedelta(milliseconds=throttle_ms)),
    )
    return encode_response(response, 7)[4:]


@given(
    topic=st.text("abc.-_", min_size=1, max_size=249),
    partition=st.integers(0, 2**31 - 1),
    error=st.sampled_from(sorted(ErrorCode)),
    offset=st.integers(-1, 2**63 - 1),
    throttle_ms=st.integers(0, 100_000),
    message=st.none() | st.text(max_size=5),
)
def test_answers_are_read_as_the_schema_reads_them(
    topic: str, partition: int, error: ErrorCode, offset: int, throttle_ms: int, message: str | None
) -> None:
    answer = frame(topic, partition, error, offset, throttle_ms, None if error is ErrorCode.none else message)
    assert AnswerReader(topic, partition).read(answer) == decode_produce(answer)
    assert AnswerReader("other", 3).read(answer) == decode_produce(answer)


def test_an_answer_tells_when_its_record_was_appended() -> None:
    at = TZAware.parse(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    ms = int(at.timestamp() * 1000)
    answer = frame("t", 5, ErrorCode.none, 12, appended=at).replace(
        ms.to_bytes(8, "big"), (ms + 678).to_bytes(8, "big")
    )
    assert AnswerReader("t", 5).read(answer) == ProduceResult("t", 5, 0, 12, append_ms=ms + 678)


@pytest.mark.parametrize(
    "answer",
    [
        frame("t", 5, ErrorCode.none, 12, message="why"),
        frame("t", 5, ErrorCode.none, 12, start=13),
        frame("t", 5, ErrorCode.request_timed_out, 12, start=-2),
    ],
)
def test_an_answer_that_contradicts_itself_is_none(answer: bytes) -> None:
    for reader in (AnswerReader("t", 5), AnswerReader("u", 5)):
        with pytest.raises(ProtocolError):
            reader.read(answer)


def test_the_usual_answer_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(answer: bytes) -> ProduceResult:
        raise AssertionError("decoded")

    monkeypatch.setattr(messages, "decode_produce", refuse)
    for topic in ("t", "a" * 126, "a" * 127, "a" * 249):
        answer = frame(topic, 5, ErrorCode.request_timed_out, 12, throttle_ms=3)
        assert AnswerReader(topic, 5).read(answer) == ProduceResult(topic, 5, 7, 12, 3)
    with pytest.raises(AssertionError, match="decoded"):
        AnswerReader("t", 6).read(frame("t", 5, ErrorCode.none, 12))


@given(st.integers(0, 48), st.integers(0, 255))
def test_one_byte_that_is_another_is_read_as_the_schema_reads_it(at: int, byte: int) -> None:
    good = frame("t", 5, ErrorCode.none, 12)
    bad = bytearray(good)
    bad[at % len(bad)] = byte
    try:
        wanted = decode_produce(bytes(bad))
    except ProtocolError:
        with pytest.raises(ProtocolError):
            AnswerReader("t", 5).read(bytes(bad))
    else:
        assert AnswerReader("t", 5).read(bytes(bad)) == wanted
