"""The mechanisms PLAIN, SCRAM and OAUTHBEARER with unsecured tokens, message by message (core/security/sasl/)."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis.strategies import lists, sampled_from
from support.sasl_client import USERS
from support.slices import count_slices

from conformance.sasl.scram_exchange import ScramExchange
from fakebroker.core.security.sasl.jaas_config import parse_login_module
from fakebroker.core.security.sasl.oauth_bearer import _INITIAL, OAuthBearerSaslServer, TokenRefused
from fakebroker.core.security.sasl.plain import PlainSaslServer, authenticator_of
from fakebroker.core.security.sasl.sasl_server import (
    MOST_BYTES,
    SaslAuthenticationError,
    SaslError,
    UnexpectedTokenError,
)
from fakebroker.core.security.sasl.scram import _CLIENT_FINAL, _CLIENT_FIRST, Credential, ScramSaslServer
from fakebroker.core.security.sasl.scram_formatter import (
    MECHANISMS,
    SHA_256,
    SHA_512,
    ScramMechanism,
    keys_of,
    random_text,
    salted,
    salted_in_slices,
)
from fakebroker.core.security.sasl.unsecured_jws import validate_unsecured

NOW_MS = 1_800_000_000_000
NOW_S = NOW_MS // 1000


def plain(token: bytes) -> str:
    server = PlainSaslServer(authenticator_of(parse_login_module(USERS), {}))
    assert server.evaluate_response(token) == b""
    assert server.is_complete
    return server.authorization_id


@pytest.mark.parametrize("token", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_plain_accepts_the_password_of_a_user(token: bytes) -> None:
    assert plain(token) == "alice"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0" * 9, "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0secret", "Authentication failed: Invalid username or password"),
        (b"\0\xff\xfe\0\xff", "Authentication failed: Invalid username or password"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_plain_refuses_with_the_message_of_kafka(token: bytes, message: str) -> None:
    with pytest.raises(SaslAuthenticationError) as refused:
        plain(token)
    assert str(refused.value) == message


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda mechanism_: mechanism_.name)
@pytest.mark.parametrize("password", ["secret", "wörd", "x" * 200])
def test_a_password_is_salted_in_slices_to_the_same_bytes(mechanism: ScramMechanism, password: str) -> None:
    made, slices = count_slices(salted_in_slices(mechanism, password, b"salt", 4096))
    assert made == salted(mechanism, password, b"salt", 4096)
    assert slices == 21  # of 200 iterations


def test_users_of_another_login_module_do_not_count() -> None:
    other = parse_login_module('a.b.PlainLoginModule required user_alice="secret";')
    assert not authenticator_of(other, {})("alice", "secret")
    assert not authenticator_of(None, {})("alice", "secret")


MECHANISM_OF = {"SCRAM-SHA-256": SHA_256, "SCRAM-SHA-512": SHA_512}


def scram_server(mechanism: ScramMechanism = SHA_256) -> ScramSaslServer:
    keys = keys_of(mechanism, salted(mechanism, "secret", b"salt", 4096), b"salt", 4096)
    weak = keys._replace(iterations=4095)
    users = {"alice": keys, "a,b=c": keys, "weak": weak}
    tokens = {"id": Credential(keys, "owner", NOW_MS)}
    random = Random(1)
    return ScramSaslServer(mechanism, users.get, tokens.get, lambda: random_text(random))


@pytest.mark.parametrize("name", MECHANISM_OF)
@pytest.mark.parametrize(("user", "principal"), [("alice", "alice"), ("a=2Cb=3Dc", "a,b=c")])
def test_scram_accepts_the_password_of_a_user(name: str, user: str, principal: str) -> None:
    server, exchange = scram_server(MECHANISM_OF[name]), ScramExchange(name, user, "secret", authzid="")
    assert exchange.is_right(server.evaluate_response(exchange.final(server.evaluate_response(exchange.first()))))
    assert (server.is_complete, server.authorization_id, server.by_token) == (True, principal, False)


def test_a_scram_login_with_a_delegation_token_acts_as_its_owner() -> None:
    server, exchange = scram_server(), ScramExchange("SCRAM-SHA-256", "id", "secret", extensions=",tokenauth=true")
    assert exchange.is_right(server.evaluate_response(exchange.final(server.evaluate_response(exchange.first()))))
    assert (server.authorization_id, server.expires_ms, server.by_token) == ("owner", NOW_MS, True)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,n=nobody,r=x",
        b"n,,n=id,r=x",
        b"n,,n=alice,r=x,tokenauth=true",
        b"n,,n=weak,r=x",
        b"n,,n=a=2cb,r=x",
        b"n,,n=a=3Db=2Dc,r=x",
        b"y,,n=alice,r=x",
        b"p=tls-unique,,n=alice,r=x",
        b"n,,n=alice,r=",
        b"n,,n=,r=x",
        b"n,,n=al\0ice,r=x",
        b"n,,n=\xc3\xa9,r=x",
        b"n,,r=x,n=alice",
        b"n,,n=alice,r=x\n",
        b"n,,n=alice,r=x,i=2147483648,",
        b"n,,n=" + b"a" * 500_000,
        b"n,,n=alice,r=x" + b",a=b" * 100_000 + b",",
    ],
)
def test_scram_refuses_a_first_message_without_telling_why(message: bytes) -> None:
    with pytest.raises(SaslError):
        scram_server().evaluate_response(message)


PIECES = [
    "n,",
    "a=",
    "n=",
    ",r=",
    ",",
    "c=",
    "biws",
    ",p=",
    "QQ==",
    "x",
    "=2C",
    "=3D",
    "=",
    "é",
    "\x7f",
    "\x01",
    "auth=",
    "y z",
]


@pytest.mark.parametrize("pattern", [_CLIENT_FIRST, _CLIENT_FINAL, _INITIAL], ids=["first", "final", "token"])
@given(pieces=lists(sampled_from(PIECES), max_size=14))
@example(pieces=["n,", ",", "n=", "x", "=2C", "x", ",r=", "x", ",", "x", "=", "x"])
@example(pieces=["c=", "biws", ",r=", "x", ",", "x", "=", "x", ",p=", "QQ=="])
@example(pieces=["n,", "a=", "x", "=3D", ",", "\x01", "auth=", "x", "\x01", "x", "=", "y z", "\x01", "\x01"])
def test_runs_that_are_never_given_back_change_no_verdict(pattern: re.Pattern[str], pieces: list[str]) -> None:
    """Kafka's patterns give back."""
    message = "".join(pieces)
    declared = re.compile(pattern.pattern.replace("++", "+").replace("*+", "*"))
    assert declared.pattern != pattern.pattern
    expected, match = declared.fullmatch(message), pattern.fullmatch(message)
    assert (expected and expected.groupdict()) == (match and match.groupdict())


@pytest.mark.parametrize("more", [0, 1])
def test_a_scram_message_has_a_length(more: int) -> None:
    start = b"n,,n=alice,r=x,a="
    message = start + b"b" * (MOST_BYTES + more - len(start))
    server = scram_server()
    assert server.claims(message) == ("" if more else "alice")
    if not more:
        assert server.evaluate_response(message)
        return
    with pytest.raises(SaslError, match="the message has 32769 bytes; at most 32768 are read"):
        server.evaluate_response(message)


def test_iterations_of_a_client_cost_the_broker_nothing() -> None:
    """A client that claims 2^31 iterations is answered with those of the credential."""
    assert b",i=4096" in scram_server().evaluate_response(b"n,,n=alice,r=x,i=2147483648")


def test_scram_refuses_another_authorization_id() -> None:
    with pytest.raises(SaslAuthenticationError):
        scram_server().evaluate_response(b"n,a=bob,n=alice,r=x")


def finals(first: str) -> dict[str, bytes]:
    nonce = first.split(",")[0].removeprefix("r=")
    proof = "A" * 43 + "="
    return {
        "another nonce": f"c=biws,r={nonce}x,p={proof}".encode(),
        "an old nonce": f"c=biws,r=client-nonce,p={proof}".encode(),
        "wrong proof": f"c=biws,r={nonce},p={proof}".encode(),
        "no proof": f"c=biws,r={nonce}".encode(),
        "no base64": f"c=biws,r={nonce},p=!!!!".encode(),
        "nothing": b"",
        "the first again": b"n,,n=alice,r=client-nonce",
    }


@pytest.mark.parametrize("which", finals("r=x"))
def test_scram_refuses_a_final_message_without_telling_why(which: str) -> None:
    server = scram_server()
    first = server.evaluate_response(b"n,,n=alice,r=client-nonce").decode()
    with pytest.raises(SaslError):
        server.evaluate_response(finals(first)[which])
    assert not server.is_complete


def test_a_proof_of_another_length_is_unexpected_in_kafka() -> None:
    server = scram_server()
    nonce = server.evaluate_response(b"n,,n=alice,r=x").decode().split(",")[0]
    with pytest.raises(UnexpectedTokenError):
        server.evaluate_response(f"c=biws,{nonce},p=AAAA".encode())


def part(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def unsecured(header: object = None, **claims: Any) -> str:
    body = {"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S} | claims
    return f"{part(header or {'alg': 'none'})}.{part({key: value for key, value in body.items() if value is not ...})}."


def test_an_unsecured_token_has_a_principal_and_an_end() -> None:
    assert validate_unsecured(unsecured(), {}, NOW_MS) == ("alice", NOW_MS + 60_000)
    assert validate_unsecured(unsecured(exp=NOW_S + 0.5, iat=...), {}, NOW_MS) == ("alice", NOW_MS + 500)
    assert validate_unsecured(unsecured(exp=1e300), {}, NOW_MS).expires_ms > NOW_MS


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_an_unsecured_token_may_be_in_each_encoding_that_jackson_reads(encoding: str) -> None:
    header, claims = (
        urlsafe_b64encode(json.dumps(fields).encode(encoding)).decode()
        for fields in ({"alg": "none"}, {"sub": "alice", "exp": NOW_S + 60})
    )
    assert validate_unsecured(f"{header}.{claims}.", {}, NOW_MS).principal_name == "alice"


@pytest.mark.parametrize(
    ("options", "claims"),
    [
        ({"PrincipalClaimName": "name"}, {"name": "alice"}),
        ({"RequiredScope": "a b"}, {"scope": ["b", "a", "c"]}),
        ({"RequiredScope": " a ", "ScopeClaimName": "scp"}, {"scp": "a"}),
        ({"AllowableClockSkewMs": "1000"}, {"exp": NOW_S - 0.5, "iat": ...}),
        ({"AllowableClockSkewMs": "1000"}, {"iat": NOW_S + 1}),
    ],
)
def test_the_options_of_the_validator_are_applied(options: dict[str, str], claims: dict[str, Any]) -> None:
    given = {f"unsecuredValidator{name}": value for name, value in options.items()}
    assert validate_unsecured(unsecured(**claims), given, NOW_MS).principal_name == "alice"


@pytest.mark.parametrize(
    "token",
    [
        unsecured(exp=NOW_S),
        unsecured(exp=...),
        unsecured(exp="soon"),
        unsecured(exp=NOW_S + 1, iat=NOW_S + 1),
        unsecured(iat=NOW_S + 0.001),
        unsecured(iat="now"),
        unsecured(sub=...),
        unsecured(sub=5),
        unsecured(sub=" "),
        unsecured(scope=5),
        unsecured({"alg": "HS256"}),
        unsecured({"alg": None}),
        unsecured({"alg": "NONE"}),
        unsecured() + "c2lnbmF0dXJl",
        unsecured().rstrip("."),
        unsecured().replace(".", "..", 1),
        "a.b.c.d",
        "!." + part({}) + ".",
        part("[" * 2000 + "]" * 2000) + "." + part({}) + ".",
        part("[" + "[]," * 600 + "[" * 1000 + "]" * 1001) + "." + part({}) + ".",
        part('{"a":' * 100_000) + "." + part({}) + ".",
        part("{'alg': 'none'}") + "." + part({}) + ".",
        part('{"alg":"none","x":NaN}') + "." + part({}) + ".",
        unsecured(exp=float("nan")),
        unsecured(exp=float("inf")),
        unsecured(iat=-float("inf")),
    ],
)
def test_unsecured_tokens_that_are_refused(token: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        validate_unsecured(token, {}, NOW_MS)
    assert (refused.value.status, refused.value.scope) == ("invalid_token", None)


def test_a_missing_scope_is_named_in_the_challenge() -> None:
    server = OAuthBearerSaslServer(
        lambda token: validate_unsecured(token, {"unsecuredValidatorRequiredScope": "a b"}, NOW_MS)
    )
    challenge = server.evaluate_response(bearer(unsecured(scope="a")))
    assert challenge == b'{"status":"insufficient_scope", "scope":"[a, b]"}'


def test_a_header_without_an_algorithm_is_unexpected_in_kafka() -> None:
    with pytest.raises(UnexpectedTokenError):
        validate_unsecured(unsecured({"typ": "JWT"}), {}, NOW_MS)


def bearer(token: str, authzid: str = "", pairs: str = "") -> bytes:
    return f"n,{authzid},\x01auth=Bearer {token}\x01{pairs}\x01".encode()


def oauth() -> OAuthBearerSaslServer:
    return OAuthBearerSaslServer(lambda token: validate_unsecured(token, {}, NOW_MS))


@pytest.mark.parametrize(
    "message",
    [
        bearer(unsecured()),
        bearer(unsecured(), "a=alice"),
        bearer(unsecured(), pairs="trace=1 2\x01"),
        bearer(unsecured()).replace(b"Bearer", b"BEARER"),
    ],
)
def test_oauthbearer_accepts_a_token(message: bytes) -> None:
    server = oauth()
    assert server.evaluate_response(message) == b""
    assert (server.is_complete, server.authorization_id, server.expires_ms) == (True, "alice", NOW_MS + 60_000)


def test_a_refused_token_gets_a_challenge_and_then_the_failure() -> None:
    server = oauth()
    assert server.evaluate_response(bearer(unsecured(exp=1))) == b'{"status":"invalid_token"}'
    assert not server.is_complete
    with pytest.raises(SaslAuthenticationError) as refused:
        server.evaluate_response(b"\x01")
    assert str(refused.value) == '{"status":"invalid_token"}'


def test_after_a_refused_token_a_valid_one_may_come() -> None:
    server = oauth()
    server.evaluate_response(bearer(unsecured(exp=1)))
    server.evaluate_response(bearer(unsecured()))
    assert server.is_complete


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01auth=\x01\x01",
        b"n,,\x01a1=b\x01auth=Bearer x\x01\x01",
        bearer(unsecured())[:-1],
        bearer("x" * 30_000 + "!"),
    ],
)
def test_oauthbearer_refuses_another_message_without_telling_why(message: bytes) -> None:
    with pytest.raises(SaslError):
        oauth().evaluate_response(message)


@pytest.mark.parametrize("more", [0, 1])
def test_a_message_with_a_token_has_a_length(more: int) -> None:
    start, end = bearer(unsecured())[:-1], b"\x01\x01"
    message = start + b"a=" + b"b" * (MOST_BYTES + more - len(start) - 4) + end
    assert oauth().claims(message) == ("" if more else "alice")
    assert oauth().evaluate_response(message) == (b'{"status":"invalid_token"}' if more else b"")


def test_a_long_message_without_a_token_is_refused_without_telling_why() -> None:
    with pytest.raises(SaslError, match="the message has 40005 bytes; at most 32768 are read"):
        oauth().evaluate_response(b"n,,\x01\x01" + b"a=b\x01" * 10_000)


def test_another_authorization_id_than_the_principal_is_refused() -> None:
    with pytest.raises(SaslAuthenticationError, match=r"an authorization id \(bob\) that is different"):
        oauth().evaluate_response(bearer(unsecured(), "a=bob"))


def test_another_scheme_is_unexpected_in_kafka() -> None:
    with pytest.raises(UnexpectedTokenError):
        oauth().evaluate_response(bearer(unsecured()).replace(b"Bearer", b"Basic"))
