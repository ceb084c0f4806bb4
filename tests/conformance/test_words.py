"""Bytes in words, also where they are not what our decoder knows."""

from __future__ import annotations

from datetime import timedelta

from conformance import frames
from conformance.targets.wire import Sent
from conformance.transcripts.recording import Answer
from conformance.transcripts.words import answer_words, batch_words, batches_in
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type


def says(version: int, frame: bytes, api_key: int = 18) -> object:
    return answer_words(Answer(Sent(api_key, version), frame))["says"]


def api_versions(version: int, error: ErrorCode) -> bytes:
    return encode_response(
        build(response_type(18, version), {"error_code": error, "api_keys": (), "throttle_time": timedelta(0)}), 1
    )[4:]


def test_a_version_of_api_versions_that_is_not_served_is_answered_in_v0() -> None:
    refused = api_versions(0, ErrorCode.unsupported_version)
    assert says(99, refused) == {"as_version": 0, "error_code": "UNSUPPORTED_VERSION(35)", "api_keys": []}


def test_a_version_of_api_versions_that_kio_does_not_know_is_read_as_its_newest() -> None:
    read = says(6, api_versions(5, ErrorCode.none))
    assert isinstance(read, dict)
    assert (read["as_version"], read["error_code"]) == (5, "NONE(0)")


def test_what_cannot_be_read_is_told_as_it_is() -> None:
    assert says(6, b"\0\0\0\1\xff") == {"hex": "ff"}
    assert says(99, b"\0\0\0\1\0\0", api_key=0) == {"hex": "0000"}
    assert answer_words(Answer(None, b"\0")) == {"correlation_id": -1, "to": "?", "says": {"hex": ""}}


def test_batches_are_told_one_by_one_and_the_one_that_is_cut_off_is_not() -> None:
    first, second = frames.batch(b"a"), frames.batch(b"b", codec=1)
    assert batches_in(first + second + first[:-1]) == [first, second]
    words = [batch_words(batch) for batch in (first, second)]
    assert [words_["records"][-4:] for words_ in words] == ["6100", "6200"]  # decompressed
    assert all(words_["is_crc_valid"] for words_ in words)


def test_records_of_a_codec_that_is_none_are_told_as_they_are() -> None:
    assert batch_words(frames.batch(b"a", attributes=5))["records"] == batch_words(frames.batch(b"a"))["records"]
