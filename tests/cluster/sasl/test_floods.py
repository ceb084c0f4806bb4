"""Floods of requests of a login on one connection: each is one request of a turn, and few of them are authenticated."""

from __future__ import annotations

from typing import Any

from support.requests import request
from support.sasl_client import (
    CONFIG,
    ILLEGAL_SASL_STATE,
    LISTENER,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SaslClient,
)
from support.simulation import Simulation

from fakebroker.core.journal.events import Login
from fakebroker.core.journal.journal import Journal
from fakebroker.network.effects import Send
from fakebroker.protocol.messages import decode_response

AT_ONCE = 64  # requests of one door
HANDSHAKE = request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
LOGIN = HANDSHAKE + request(SASL_AUTHENTICATE, 2, {"auth_bytes": b"\0alice\0secret"})
PAIRS = 200


def simulated(**config: str) -> tuple[Simulation, Journal]:
    journal = Journal()
    return Simulation(brokers=1, config=CONFIG | config, journal=journal), journal


def code_of(frame: bytes, api_key: int, version: int) -> int:
    response: Any = decode_response(api_key, version, frame)[1]
    return int(response.error_code)


def logins(journal: Journal) -> list[str]:
    return [event.error for event in journal if isinstance(event, Login)]


def test_ten_thousand_handshakes_of_one_connection_end_with_the_second() -> None:
    simulation, journal = simulated()
    client = SaslClient(simulation)
    client.client.send(HANDSHAKE * 10_000)
    simulation.advance(100)  # the delay of failed authentications
    assert [code_of(frame, SASL_HANDSHAKE, 1) for _, frame in client.client.answers] == [
        0,
        ILLEGAL_SASL_STATE,
    ]
    assert client.closed == (
        "failed authentication: Unexpected Kafka request of type SaslHandshake during SASL authentication."
    )
    assert logins(journal) == ["ILLEGAL_SASL_STATE"]


def test_a_flood_of_renewed_logins_renews_the_session_once_a_second() -> None:
    """The others are requests of an authenticated client in the wrong state, as in Kafka."""
    simulation, journal = simulated(**{"connections.max.reauth.ms": "60000"})
    client = SaslClient(simulation)
    client.plain()
    before = len(client.client.answers)
    client.client.send(LOGIN * PAIRS)
    answers = client.client.answers[before:]
    codes = [
        code_of(frame, key, version)
        for (_, frame), (key, version) in zip(
            answers, [(SASL_HANDSHAKE, 1), (SASL_AUTHENTICATE, 2)] * PAIRS, strict=True
        )
    ]
    assert codes == [0, 0] + [ILLEGAL_SASL_STATE] * (2 * PAIRS - 2)
    assert logins(journal) == ["NONE", "NONE"]
    simulation.advance(1_000)
    client.client.send(LOGIN * PAIRS)
    assert logins(journal) == ["NONE"] * 3
    assert client.closed is None


def test_a_turn_handles_so_many_requests_of_a_flood() -> None:
    simulation, journal = simulated(**{"connections.max.reauth.ms": "60000"})
    cluster = simulation.cluster
    connection = cluster.open_connection(1, "me:1", simulation.now, "10.0.0.1", LISTENER)
    cluster.receive(connection, LOGIN * PAIRS, simulation.now)
    turns = 0
    while True:
        turns += 1
        sent = b"".join(effect.data for effect in cluster.take_effects() if isinstance(effect, Send))
        assert 0 < count(sent) <= AT_ONCE
        if not cluster.has_work:
            break
        cluster.advance_to(simulation.now)
    assert turns == -(-2 * PAIRS // AT_ONCE)
    assert logins(journal) == ["NONE", "NONE"]


def count(data: bytes) -> int:
    """Return the number of frames."""
    count_ = start = 0
    while start < len(data):
        start += 4 + int.from_bytes(data[start : start + 4], "big")
        count_ += 1
    return count_
