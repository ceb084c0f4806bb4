"""Logins that are made to hurt: each ends, is answered with nothing that it may not see, and other clients go on."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode

import pytest
from support.requests import request
from support.sasl_client import CONFIG, METADATA, SASL_AUTHENTICATE, SaslClient
from support.simulation import Simulation

from fakebroker.core.journal.events import ConnectionClosed, Login, Request
from fakebroker.core.journal.journal import Journal, to_lines
from fakebroker.protocol.framing import encode_frame

LIMIT = 524_288  # sasl.server.max.receive.size
ROOM = LIMIT - 100  # for a token in a request
DELAY_MS = 100


def unsecured(**claims: object) -> bytes:
    parts = ({"alg": "none"}, claims)
    token = "".join(f"{urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip('=')}." for part in parts)
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


LARGE = {
    "zeros": b"\0" * ROOM,
    "letters": b"a" * ROOM,
    "scram name": b"n,,n=" + b"a" * (ROOM - 20) + b",r=x",
    "scram extensions": (b"n,,n=a,r=x" + b",a=b" * LIMIT)[: ROOM - 1] + b",",
    "scram escapes": b"n,,n=" + b"=2C" * (ROOM // 3 - 4),
    "oauth pairs": (b"n,,\x01auth=Bearer x\x01" + b"a=b\x01" * LIMIT)[:ROOM],
    "oauth authzid": b"n,a=" + b"=2C" * (ROOM // 3 - 40) + unsecured(sub="a", exp=4e9)[2:],
    "oauth dots": b"n,,\x01auth=Bearer " + b"a." * (ROOM // 2 - 20) + b"\x01\x01",
    "oauth equals": b"n,,\x01auth=Bearer a" + b"=" * (ROOM - 40) + b"\x01\x01",
}


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def simulation(journal: Journal) -> Simulation:
    return Simulation(brokers=1, config=CONFIG, journal=journal)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
@pytest.mark.parametrize("kind", LARGE)
def test_a_large_token_is_refused(simulation: Simulation, journal: Journal, kind: str, mechanism: str) -> None:
    client = SaslClient(simulation)
    client.handshake(mechanism)
    client.authenticate(LARGE[kind])
    if client.client.closed_ms is None:
        client.authenticate(b"\x01")
    simulation.advance(DELAY_MS)
    assert client.closed is not None
    events = [event for event in journal if isinstance(event, ConnectionClosed | Login)]
    assert events
    assert all(len(event.reason) < 1_100 for event in events)
    assert SaslClient(simulation).plain().error_code == 0


@pytest.mark.parametrize("exp", [1e300, 1e308, 4e18])
def test_a_token_of_an_endless_life_is_one_of_a_long_life(simulation: Simulation, exp: float) -> None:
    client = SaslClient(simulation)
    client.handshake("OAUTHBEARER")
    assert client.authenticate(unsecured(sub="a", exp=exp)).session_lifetime.days > 1_000_000
    assert client.answers()


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\u202e", "a" * 10_000, "<script>", "\x7f\x01"])
def test_a_principal_with_any_characters_is_escaped_in_the_journal(
    simulation: Simulation, journal: Journal, name: str
) -> None:
    client = SaslClient(simulation)
    client.handshake("OAUTHBEARER")
    assert client.authenticate(unsecured(sub=name, exp=4e9)).error_code == 0
    assert client.principal == f"User:{name}"
    [line] = list(to_lines(event for event in journal if isinstance(event, Login)))
    text = line if isinstance(line, str) else bytes(line).decode()
    assert text.rstrip("\n").isascii()
    assert text.rstrip("\n").isprintable()


def test_a_journal_keeps_no_more_of_a_long_name_than_a_thousand_characters(
    simulation: Simulation, journal: Journal
) -> None:
    client = SaslClient(simulation)
    client.handshake("OAUTHBEARER")
    assert client.authenticate(unsecured(sub="a" * 20_000, exp=4e9)).error_code == 0
    assert client.principal == "User:" + "a" * 20_000
    assert client.answers()
    events = [event for event in journal if isinstance(event, Login | Request)]
    assert [type(event) for event in events] == [Login, Request]
    assert {event.principal for event in events} == {"User:" + "a" * 1_000}


def test_nothing_but_the_apis_of_logins_is_answered_before_the_login(simulation: Simulation) -> None:
    for api_key in range(100):
        if api_key in (17, 18):
            continue
        client = SaslClient(simulation)
        client.client.send(encode_frame(api_key.to_bytes(2, "big") + b"\0\0\0\0\0\1\xff\xff" + b"\0" * 20))
        simulation.advance(DELAY_MS)
        assert client.client.answers == [], api_key
        assert client.closed is not None, api_key


def test_many_half_finished_logins_do_not_disturb_another(simulation: Simulation) -> None:
    waiting = [SaslClient(simulation) for _ in range(200)]
    for client in waiting:
        client.handshake("SCRAM-SHA-256")
        client.client.send((ROOM).to_bytes(4, "big"), b"x" * 100)
    other = SaslClient(simulation)
    other.plain()
    assert other.answers()
    assert all(client.client.closed_ms is None for client in waiting)
    simulation.advance(600_001)  # connections.max.idle.ms
    assert all(client.client.closed_ms is not None for client in waiting)


def test_a_refused_client_cannot_go_on_within_the_delay(simulation: Simulation) -> None:
    client = SaslClient(simulation)
    client.plain(password="wrong")
    for frame in (
        request(METADATA, 9, {"topics": None}),
        request(SASL_AUTHENTICATE, 2, {"auth_bytes": b"\0alice\0secret"}),
    ):
        client.client.send(frame)
    simulation.advance(DELAY_MS)
    assert len(client.client.answers) == 2  # of the handshake and of the refusal
    assert client.principal == "User:ANONYMOUS"
    assert client.closed is not None
