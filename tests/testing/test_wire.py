"""The frames of simulated clients are what kio writes, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.requests import produce
from support.simulation import Simulation

from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request
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


@given(strategies.produce_requests("t", 3))
def test_the_strategy_gives_requests_that_a_broker_reads(frame: bytes) -> None:
    header = decode_request_header(frame[4:], True)
    request = decode_request(wire.PRODUCE, wire.PRODUCE_VERSION, frame[4:], header.body_offset)
    assert request.topic_data[0].name == "t"  # type: ignore[attr-defined]


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
