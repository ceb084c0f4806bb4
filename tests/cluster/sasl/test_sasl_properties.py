"""Any frames on a connection with SASL: no bug shows, and no client is authenticated without a password."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import doses
from support.requests import request
from support.sasl_client import CONFIG, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, SaslClient
from support.simulation import Simulation

from fakebroker.protocol.framing import encode_frame

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", ""]
PIECES = [b"\0", b"\x01", b"alice", b"bob", b"n,,", b"n=", b"r=x", b"=2C", b"a=", b",", b"c=biws", b"p=AAAA", b"auth="]
PIECES += [b"Bearer ", b".", b"\xff", b"tokenauth=true", urlsafe_b64encode(b'{"alg":"none"}'), urlsafe_b64encode(b"{}")]


def tokens() -> st.SearchStrategy[bytes]:
    return st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))


def whole_frames() -> st.SearchStrategy[bytes]:
    """Return requests of a login without its password, requests of other APIs, and garbage."""
    return st.one_of(
        st.builds(
            lambda name, version: request(SASL_HANDSHAKE, version, {"mechanism": name}),
            st.sampled_from(MECHANISMS),
            st.integers(0, 1),
        ),
        st.builds(
            lambda token, version: request(SASL_AUTHENTICATE, version, {"auth_bytes": token}),
            tokens(),
            st.integers(0, 2),
        ),
        tokens().map(encode_frame),
        st.sampled_from([request(18, 0, {}), request(METADATA, 9, {"topics": None}), request(10, 0, {"key": "g"})]),
        st.binary(min_size=8, max_size=60).map(lambda data: encode_frame(b"\0" + data)),
    )


def mutated() -> st.SearchStrategy[bytes]:
    def change(frame: bytes, at: int, byte: int) -> bytes:
        place = 4 + at % (len(frame) - 4) if len(frame) > 4 else 0
        return frame[:place] + bytes([byte]) + frame[place + 1 :]

    return st.builds(change, whole_frames(), st.integers(0, 200), st.integers(0, 255))


@pytest.mark.parametrize("session_ms", ["0", "5000"])
@settings(max_examples=doses.count(80, 3000), deadline=None)
@given(frames=st.lists(st.one_of(whole_frames(), mutated()), max_size=6))
def test_no_client_is_authenticated_without_a_password(session_ms: str, frames: Sequence[bytes]) -> None:
    simulation = Simulation(brokers=1, config=CONFIG | {"connections.max.reauth.ms": session_ms})
    client = SaslClient(simulation)
    for frame in frames:
        client.client.send(frame)  # a bug of ours raises here
    simulation.advance(200)
    assert client.principal == "User:ANONYMOUS"
    assert SaslClient(simulation).plain().error_code == 0


@settings(max_examples=doses.count(100, 2000), deadline=None)
@given(frames=st.lists(st.one_of(whole_frames(), mutated()), max_size=6), password=st.sampled_from(["secret", "wrong"]))
def test_an_authenticated_client_stays_the_one_that_it_is(frames: Sequence[bytes], password: str) -> None:
    simulation = Simulation(brokers=1, config=CONFIG | {"connections.max.reauth.ms": "5000"})
    client = SaslClient(simulation)
    client.plain(password=password)
    for frame in frames:
        client.client.send(frame)
    simulation.advance(200)
    assert client.principal == ("User:alice" if password == "secret" else "User:ANONYMOUS")
