"""Produce requests that are handled in slices get the same response."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import TIME_MS, batch_of, keyed
from support.requests import Produced, produce
from support.simulation import Simulation

from fakebroker.apis.produce.produce import _is_usual, _is_usual_of_several
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.produce_reader import PartitionProduceData, ProduceRequest, TopicProduceData


def request(*records: bytes | None) -> ProduceRequest:
    data = [PartitionProduceData(index, records_) for index, records_ in enumerate(records)]
    return ProduceRequest(None, 1, 500, [TopicProduceData("t", None, data)])


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([keyed()], True),
        ([keyed(bytes(60_000))], True),
        ([keyed(bytes(70_000))], False),
        ([keyed()] * 2, False),
        ([keyed(codec=Codec.ZSTD)], False),
        ([keyed(attributes=0x10)], False),
        ([keyed() + b"more"], False),
        ([b""], False),
        ([None], False),
        ([], False),
    ],
)
def test_what_is_handled_at_once(records: list[bytes | None], expected: bool) -> None:
    assert _is_usual(request(*records)) is expected


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([keyed()] * 16, True),
        ([keyed()] * 17, False),
        ([keyed(bytes(32_000))] * 2, True),
        ([keyed(bytes(33_000))] * 2, False),
        ([keyed(), keyed(codec=Codec.ZSTD)], False),
        ([keyed(), keyed(attributes=0x10)], False),
        ([keyed(), None], False),
        ([keyed(), b""], False),
    ],
)
def test_what_is_handled_at_once_of_several_partitions(records: list[bytes | None], expected: bool) -> None:
    assert _is_usual_of_several(request(*records)) is expected


def test_a_request_of_several_topics_is_not_handled_at_once() -> None:
    data = [PartitionProduceData(0, keyed())]
    topics = [TopicProduceData(name, None, data) for name in "tu"]
    assert not _is_usual_of_several(ProduceRequest(None, 1, 500, topics))


def answers(partitions: dict[int, bytes | None], **values: Any) -> dict[int, tuple[int, int]]:
    """Return (error, base offset) of each partition."""
    simulation = Simulation()
    simulation.topic(partitions=150, replicas=1)
    client = simulation.connect()
    client.send(produce("t", partitions=partitions, **values))
    ((_, frame),) = client.answers
    return Produced(frame).partitions


@pytest.mark.parametrize("acks", [1, -1, 2])
def test_very_many_partitions_are_answered_as_few_are(acks: int) -> None:
    partitions: dict[int, bytes | None] = dict.fromkeys(range(0, 160, 2), keyed())
    partitions[6] = b"no batch"
    partitions[99] = keyed(b"zipped", codec=Codec.LZ4)
    all_at_once = answers(partitions, acks=acks)
    for index in (0, 2, 4, 6, 98, 99, 158):
        assert answers({index: partitions[index]}, acks=acks) == {index: all_at_once[index]}
    assert {code for code, _ in all_at_once.values()} == ({0, 87, 3, 6} if acks != 2 else {21, 87, 3})


@pytest.mark.parametrize("broken", [None, bytes(13)])
def test_the_whole_request_fails(broken: bytes | None) -> None:
    """Null records, or an invalid header, fail the whole request, in slices as well."""
    partitions: dict[int, bytes | None] = dict.fromkeys(range(80), keyed())
    partitions[70] = broken
    assert {code for code, _ in answers(partitions, acks=1).values()} == ({-1} if broken is None else {2})


def test_acks_0_is_appended_and_not_answered() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", acks=0, records=keyed(*[b"v" * 1_000] * 500, codec=Codec.GZIP)))
    assert not client.answers
    assert simulation.partition().leader_log.log_end_offset == 500


def test_a_bomb_is_answered() -> None:
    """A batch has 300,000 records in few bytes, each with a bad timestamp: the response lists the first 10,000."""
    count = 300_000
    batch = batch_of(
        [],
        Codec.ZSTD,
        body=b"\x0c\0\0\0\1\1\0" * count,
        record_count=count,
        last_offset_delta=count - 1,
        base_timestamp_ms=TIME_MS + 86_400_000,
    )
    assert len(batch) < 1_000
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", acks=1, records=batch))
    ((_, frame),) = client.answers
    answer = Produced(frame)
    assert answer.partitions == {0: (32, -1)}
    assert len(answer.response.responses[0].partition_responses[0].record_errors) == 10_000


_GOOD = keyed(b"a", b"b")
_PIECES = st.sampled_from(
    [
        keyed(),
        _GOOD,
        _GOOD[:-1] + b"?",  # its checksum is another
        keyed(b"x", base_offset=7),
        keyed(b"late", producer_id=5, producer_epoch=0, base_sequence=3),
        keyed(b"first", producer_id=5, producer_epoch=0, base_sequence=0),
    ]
)


@given(st.dictionaries(st.integers(0, 153), _PIECES, min_size=2, max_size=16), st.sampled_from([1, -1, 2]))
def test_some_partitions_are_answered_as_each_alone(partitions: dict[int, bytes | None], acks: int) -> None:
    for index, result in answers(partitions, acks=acks).items():
        assert answers({index: partitions[index]}, acks=acks) == {index: result}
