"""The index of faults by request: it never omits a fault that matches."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faulty import FaultyCluster
from support.requests import ONE_RECORD, produce

from fakebroker.cluster.faults.index import only_place, place_in
from fakebroker.core.journal.fault_events import FaultFired
from fakebroker.protocol.headers import decode_request_header

NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=249)


ANYWHERE = (b"", b"")


def found(version: int, frame: bytes, offset: int) -> tuple[bytes, bytes]:
    start, end = place_in(version, frame, offset)
    return only_place(version, frame[start:end])


INDEXES = st.integers(-(2**31), 2**31 - 1)


@given(st.integers(3, 12), NAMES, st.none() | st.text(max_size=200), st.sets(INDEXES, min_size=1, max_size=3))
def test_the_place_of_a_request_for_one(version: int, name: str, transactional_id: str | None, at: set[int]) -> None:
    partitions: dict[int, bytes | None] = dict.fromkeys(at, b"")
    frame = produce(name, partitions=partitions, version=version, transactional_id=transactional_id)[4:]
    offset = decode_request_header(frame, version >= 9).body_offset
    place = (name.encode(), min(at).to_bytes(4, "big", signed=True)) if len(at) == 1 else ANYWHERE
    assert found(version, frame, offset) in (place, ANYWHERE)
    if len(name) < 127 and len((transactional_id or "").encode()) < 126:
        assert found(version, frame, offset) == place


@given(st.uuids(), INDEXES)
def test_by_its_id(topic_id: UUID, index: int) -> None:
    frame = produce(topic_id, index, version=13)[4:]
    assert found(13, frame, decode_request_header(frame, True).body_offset) == (
        topic_id.bytes,
        index.to_bytes(4, "big", signed=True),
    )


@given(st.lists(st.tuples(st.sampled_from("tu"), st.none() | st.sampled_from([0, 1])), max_size=6), st.data())
def test_those_that_fit_are_found_in_their_order(said: list[tuple[str, int | None]], data: st.DataObject) -> None:
    kafka = FaultyCluster(partitions=2)
    for topic, partition in said:
        where: dict[str, object] = {"topic": topic} if partition is None else {"topic": topic, "partition": partition}
        kafka.add({"api": "Produce", **where}, "shrink_isr", "every_time")
    indexes = data.draw(st.sets(st.sampled_from([0, 1]), min_size=1))
    kafka.connect().send(produce("t", partitions=dict.fromkeys(indexes, ONE_RECORD)))
    kafka.connect().send(produce("t", partitions=dict.fromkeys(indexes, ONE_RECORD)))  # what was found is known now
    fit = [f"f{n}" for n, (topic, at) in enumerate(said, 1) if topic == "t" and (at is None or at in indexes)]
    assert [event.fault for event in kafka.told(FaultFired)] == fit * 2


@pytest.mark.parametrize("version", [8, 12, 13])
def test_what_is_known_of_a_place_is_forgotten_when_faults_come_and_go(version: int) -> None:
    kafka = FaultyCluster(partitions=2)
    client = kafka.connect()
    topic = kafka.cluster.controller.metadata.topic("t")
    assert topic is not None
    fires = []
    for number in range(9):
        if number == 3:
            armed = kafka.add({"api": "Produce", "topic": "t", "partition": 0}, "shrink_isr", "every_time")
            kafka.add({"api": "Produce", "topic": "t", "partition": 1}, "shrink_isr", "every_time")
        if number == 6:
            kafka.cluster.faults.remove(armed)
        client.send(produce(topic.topic_id if version == 13 else "t", 0, version=version))
        fires.append(len(kafka.told(FaultFired)))
    assert fires == [0, 0, 0, 1, 2, 3, 3, 3, 3]


def test_the_place_of_the_request_before_is_not_taken_for_another() -> None:
    kafka = FaultyCluster(partitions=2)
    client = kafka.connect()
    kafka.add({"api": "Produce", "topic": "t", "partition": 1}, "shrink_isr", "every_time")
    fires = []
    for partition, version in [(0, 8), (0, 8), (0, 8), (1, 8), (1, 8), (1, 12), (0, 12), (0, 8), (1, 8)]:
        client.send(produce("t", partition, version=version))
        fires.append(len(kafka.told(FaultFired)))
    assert fires == [0, 0, 0, 1, 2, 3, 3, 3, 4]


@given(st.integers(3, 13), st.binary(max_size=40))
def test_whatever_comes_it_says_something(version: int, data: bytes) -> None:
    topic, partition = found(version, data, 0)
    assert len(partition) == 4 if topic else not partition


@pytest.mark.parametrize("is_removed", [False, True])
def test_without_a_request_in_flight_a_fault_has_no_listener(is_removed: bool) -> None:
    kafka = FaultyCluster()
    armed = kafka.add({"api": "Produce", "topic": "t", "at": "after_append"}, {"delay": 5}, "every_time")
    kafka.add({"api": "Produce", "topic": "other"}, "disconnect")
    listeners = list(kafka.cluster.probe.listeners)
    client = kafka.connect()
    client.send(produce("t", 0))
    assert len(kafka.cluster.probe.listeners) == len(listeners) + 1
    if is_removed:
        kafka.cluster.faults.remove(armed)
    kafka.advance(5)
    assert client.produced() == [{0: (0, 0)}]
    assert kafka.cluster.probe.listeners == listeners
