"""consumer_byte_rate: fetched bytes are counted, and withheld above the quota (apis/reading/fetch_answer.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.messages import decode_response
from support.requests import FETCH, batch, fetch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.quota.quota import DEFAULT, QuotaEntity
from fakebroker.network.connection import ChannelMuteState

RATE = 100  # bytes a second; 1000 in a window


def throttled(*sizes: int) -> tuple[Simulation, SimulatedClient]:
    simulation = Simulation()
    simulation.topic()
    simulation.cluster.members.client_quotas.alter(QuotaEntity(None, DEFAULT), {"consumer_byte_rate": RATE})
    for size in sizes:
        simulation.connect().send(produce("t", records=batch(bytes(size))))
    return simulation, simulation.connect()


def answered(client: SimulatedClient, version: int = 12) -> Any:
    return decode_response(FETCH, version, client.answers[-1][1])[1]


def records(answer: Any) -> int:
    return sum(len(part.records or b"") for topic in answer.responses for part in topic.partitions)


def test_what_is_too_much_is_not_sent_and_the_client_muted_for_it() -> None:
    simulation, client = throttled(2_000)
    client.send(fetch("t", version=12))
    answer = answered(client)

    assert (answer.error_code, answer.responses) == (0, ())
    throttle_time_ms = round(answer.throttle_time.total_seconds() * 1000)
    assert 10_000 < throttle_time_ms < 12_000  # some 2100 bytes
    assert client.connection.state is ChannelMuteState.THROTTLED
    simulation.advance(throttle_time_ms)
    assert client.connection.state is ChannelMuteState.READY


def test_what_was_not_sent_does_not_count() -> None:
    simulation, client = throttled(2_000)
    for _ in range(3):
        client.send(fetch("t", version=12))
        assert round(answered(client).throttle_time.total_seconds()) == 11
        simulation.advance(12_000)


def test_what_is_less_is_sent_and_counts() -> None:
    _, client = throttled(500)
    client.send(fetch("t", version=12))
    assert answered(client).throttle_time.total_seconds() == 0
    assert records(answered(client)) > 500
    client.send(fetch("t", version=12))
    assert answered(client).throttle_time.total_seconds() > 0
    assert records(answered(client)) == 0


def test_no_more_is_read_at_once_than_a_window_has() -> None:
    _, client = throttled(350, 350, 350)
    client.send(fetch("t", version=12, max_bytes=100_000))
    answer = answered(client)
    # A thousand bytes, and what is around them.
    assert 0 < answer.throttle_time.total_seconds() < 2


@pytest.mark.parametrize("client_id", ["other", "test"])
def test_it_is_of_the_client_that_has_it(client_id: str) -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.cluster.members.client_quotas.alter(QuotaEntity(None, client_id), {"consumer_byte_rate": RATE})
    client = simulation.connect()
    client.send(produce("t", records=batch(bytes(2_000))), fetch("t", version=12))
    assert (records(answered(client)) == 0) == (client_id == "test")


def test_followers_are_not_throttled() -> None:
    _, client = throttled(2_000)
    client.send(fetch("t", version=12, replica_id=2))
    assert answered(client).throttle_time.total_seconds() == 0


def test_a_session_does_not_begin_with_an_empty_answer() -> None:
    _, client = throttled(2_000)
    client.send(fetch("t", version=12, session_epoch=0))
    assert answered(client).session_id == 0
