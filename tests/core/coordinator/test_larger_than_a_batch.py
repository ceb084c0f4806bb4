"""Records that are too large for a batch of the topic: their operation fails, and the state does not change."""

from __future__ import annotations

from typing import Any

import pytest
from support.coordinator_harness import CoordinatorHarness, Name, Text

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.error_code import ErrorCode

LARGE = "x" * 1_000


def harness_of(**settings: Any) -> CoordinatorHarness:
    return CoordinatorHarness(max_message_bytes=1_000, **settings)


def codes(answers: list[Any]) -> list[ErrorCode]:
    return [answer.code for answer in answers]


class Watched(Text):
    is_encoded = False

    def encode(self) -> bytes:
        self.is_encoded = True
        return Text.encode(self)


def one_by_one(*texts: str) -> CoordinatorResult[str]:
    """Return records that may be spread over several batches."""
    records = [CoordinatorRecord(Name(f"n{number}"), Text(text)) for number, text in enumerate(texts)]
    return CoordinatorResult(records, "done", is_atomic=False)


def test_a_large_record_is_refused_before_it_is_replayed() -> None:
    harness = harness_of()
    harness.write(a="1")
    assert codes(harness.write(a=LARGE)) == [ErrorCode.message_too_large]
    assert harness.shard.offsets == [0]
    assert harness.latest == harness.read() == {"a": "1"}
    assert harness.write(a="2") == [["a"]]
    assert harness.shard.offsets == [0, 1]


def test_records_that_must_be_together_are_refused_together_before_the_first_is_replayed() -> None:
    harness = harness_of()
    assert codes(harness.write(**{f"n{number}": "x" * 100 for number in range(20)})) == [ErrorCode.message_too_large]
    assert harness.shard.offsets == []


def test_a_record_before_the_large_one_is_written_where_they_need_not_be_together() -> None:
    harness = harness_of()
    assert codes(harness.operate(lambda _: one_by_one("1", LARGE, "3"))) == [ErrorCode.message_too_large]
    assert harness.shard.offsets == [0]
    assert harness.latest == harness.read() == {"n0": "1"}


@pytest.mark.parametrize("size", range(915, 936))
def test_what_is_almost_as_large_as_a_batch_is_refused_by_the_log_alone(size: int) -> None:
    """Before it is encoded, the size of a record is known to within some bytes."""
    harness = harness_of()
    is_taken = harness.write(a="x" * size) == [["a"]]
    assert is_taken == (size <= 925)
    assert harness.latest == ({"a": "x" * size} if is_taken else {})
    assert harness.write(a="1") == [["a"]]


@pytest.mark.parametrize(("codec", "is_taken"), [(Codec.NONE, False), (Codec.GZIP, True)])
def test_what_is_known_to_be_too_large_is_not_encoded_unless_it_is_compressed(codec: Codec, is_taken: bool) -> None:
    harness = harness_of(codec=codec)
    text = Watched(LARGE)
    record = CoordinatorRecord(Name("a"), text, least_bytes=len(LARGE) + 1)
    answers = harness.operate(lambda _: CoordinatorResult([record], "done"))
    assert (answers == ["done"]) == text.is_encoded == is_taken


def test_a_compressed_record_is_refused_by_its_compressed_size() -> None:
    harness = harness_of(codec=Codec.GZIP)
    assert harness.write(a=LARGE) == [["a"]]
    assert harness.latest == {"a": LARGE}


@pytest.mark.parametrize("records", [[CoordinatorRecord(Name("b"), Text("2"))], []])
def test_with_linger_the_next_operation_fails_with_the_large_record_as_in_kafka(
    records: list[CoordinatorRecord],
) -> None:
    harness = harness_of(linger_ms=10)
    first = harness.write(a=LARGE)
    assert first == []
    second = harness.operate(lambda _: CoordinatorResult(records, "done"))
    harness.simulation.advance(10)
    assert codes(first) == codes(second) == [ErrorCode.message_too_large]
    assert harness.shard.offsets == []
    harness.write(c="3")
    harness.simulation.advance(10)
    assert harness.read() == {"c": "3"}
