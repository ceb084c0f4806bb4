"""Signed tokens of OAUTHBEARER, and attacks on their signatures (core/security/sasl/signed_jwt.py)."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

import pytest
from support.sasl_client import CONFIG, SaslClient
from support.simulation import START_WALL_MS, Simulation

from fakebroker.core.security.sasl.oauth_bearer import TokenRefused
from fakebroker.core.security.sasl.signed_jwt import JwtRules, validate_signed
from fakebroker.server.oauth.tokens import TokenSigner, unsecured

NOW_S = START_WALL_MS // 1000
HOUR_S = 3600
SIGNER = TokenSigner()
PREFIX = "listener.name.sasl_plaintext.oauthbearer."
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


def claims(**others: Any) -> dict[str, Any]:
    values = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + HOUR_S} | others
    return {name: value for name, value in values.items() if value is not ...}


def validate(token: str, **rules: Any) -> Any:
    return validate_signed(token, SIGNER.verify, JwtRules(**rules), START_WALL_MS)


def text_of(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).decode().rstrip("=")


def test_a_signed_token_has_a_principal_and_an_end() -> None:
    assert validate(SIGNER.sign(claims())) == ("alice", START_WALL_MS + HOUR_S * 1000)
    assert validate(f" {SIGNER.sign(claims())}\n").principal_name == "alice"


@pytest.mark.parametrize(
    ("others", "rules"),
    [
        ({"aud": "kafka"}, {"audience": ("kafka",)}),
        ({"aud": ["a", "kafka"]}, {"audience": ("kafka", "b")}),
        ({"iss": "https://here"}, {"issuer": "https://here"}),
        ({"name": "alice"}, {"subject_claim": "name"}),
        ({"exp": NOW_S}, {"clock_skew_ms": 1}),
        ({"nbf": NOW_S + 1}, {"clock_skew_ms": 1000}),
        ({"scope": ["a", "b"]}, {}),
        ({"scope": 5}, {}),
    ],
)
def test_claims_that_are_accepted(others: dict[str, Any], rules: dict[str, Any]) -> None:
    assert validate(SIGNER.sign(claims(**others)), **rules).principal_name == "alice"


@pytest.mark.parametrize(
    ("others", "rules"),
    [
        ({"exp": NOW_S}, {}),
        ({"exp": ...}, {}),
        ({"iat": ...}, {}),
        ({"exp": "x"}, {}),
        ({"exp": NOW_S + 10, "iat": NOW_S + 20}, {}),
        ({"iat": -1}, {}),
        ({"nbf": NOW_S + 1}, {}),
        ({"sub": ...}, {}),
        ({"sub": " "}, {}),
        ({"sub": 5}, {}),
        ({"scope": ["a", "a"]}, {}),
        ({"scope": " "}, {}),
        ({"aud": "other"}, {"audience": ("kafka",)}),
        ({}, {"audience": ("kafka",)}),
        ({"iss": "https://there"}, {"issuer": "https://here"}),
    ],
)
def test_claims_that_are_refused(others: dict[str, Any], rules: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused) as refused:
        validate(SIGNER.sign(claims(**others)), **rules)
    assert refused.value.status == "invalid_token"


def confused(algorithm: str = "HS256") -> str:
    """Return a token that is signed with the public key as the secret of an HMAC."""
    head = f"{text_of({'alg': algorithm, 'kid': 'fakebroker'})}.{text_of(claims())}"
    secret = json.dumps(SIGNER.jwks["keys"][0]).encode()
    return f"{head}.{text_of(hmac.digest(secret, head.encode(), 'sha256'))}"


def swapped() -> str:
    """Return a token with the claims of one token and the signature of another."""
    head, _, signature = SIGNER.sign(claims()).split(".")
    return f"{head}.{text_of(claims(sub='admin'))}.{signature}"


ATTACKS = {
    "no algorithm": unsecured(claims()),
    "no algorithm, with a signature": unsecured(claims()) + "AAAA",
    "the public key as secret": confused(),
    "an unknown algorithm": confused("XX1"),
    "another's claims": swapped(),
    "another key": TokenSigner().sign(claims()),
    "a key in the header": f"{text_of({'alg': 'ES256', 'jwk': TokenSigner().jwks['keys'][0]})}."
    + ".".join(TokenSigner().sign(claims()).split(".")[1:]),
    "an unknown critical header": f"{text_of({'alg': 'ES256', 'kid': 'fakebroker', 'crit': ['x'], 'x': 1})}."
    + ".".join(SIGNER.sign(claims()).split(".")[1:]),
    "nothing": "",
    "two parts": "a.b",
    "a mebibyte": "a" * 400_000 + "." + "b" * 400_000 + "." + "c" * 200_000,
    "nested header": f"{text_of(b'[' * 50_000)}.{text_of(claims())}.AAAA",
    "header that is no object": f"{text_of([1])}.{text_of(claims())}.AAAA",
    "empty signature": SIGNER.sign(claims()).rpartition(".")[0] + ".",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_refused_as_invalid_tokens(attack: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        validate(ATTACKS[attack])
    assert (refused.value.status, refused.value.scope) == ("invalid_token", None)


@pytest.fixture
def simulation() -> Simulation:
    settings = {f"{PREFIX}sasl.server.callback.handler.class": HANDLER, "connections.max.idle.ms": "-1"}
    simulation = Simulation(brokers=1, config=CONFIG | settings)
    simulation.cluster.sasl.mechanisms.verify = SIGNER.verify
    return simulation


def login(simulation: Simulation, token: str) -> tuple[SaslClient, Any]:
    client = SaslClient(simulation)
    client.handshake("OAUTHBEARER")
    return client, client.authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode())


def test_a_session_lasts_as_long_as_its_token(simulation: Simulation) -> None:
    client, answer = login(simulation, SIGNER.sign(claims()))
    assert (answer.auth_bytes, answer.session_lifetime) == (b"", timedelta(hours=1))
    assert client.principal == "User:alice"
    simulation.advance(HOUR_S * 1000)
    assert client.answers()
    simulation.advance(1)
    assert not client.answers()
    _, answer = login(simulation, SIGNER.sign(claims()))
    assert answer.session_lifetime == timedelta(0)  # within sasl.oauthbearer.clock.skew.seconds
    simulation.advance(30_000)
    _, answer = login(simulation, SIGNER.sign(claims()))
    assert answer.auth_bytes == b'{"status":"invalid_token"}'


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack not in ("nothing", "a mebibyte")])
def test_a_refused_token_gets_the_challenge_and_then_the_failure(simulation: Simulation, attack: str) -> None:
    client, answer = login(simulation, ATTACKS[attack])
    assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
    assert client.authenticate(b"\x01") is None
    simulation.advance(100)
    assert b'{"status":"invalid_token"}' in client.client.answers[-1][1]
    assert client.closed is not None


def test_a_token_above_the_limit_of_frames_is_not_read(simulation: Simulation) -> None:
    client, answer = login(simulation, ATTACKS["a mebibyte"])
    assert answer is None
    simulation.advance(100)
    assert client.closed == "failed authentication: Failing SASL authentication due to invalid receive size"
