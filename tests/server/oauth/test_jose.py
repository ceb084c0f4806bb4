"""Signed tokens and sets of keys of an unusual form (server/oauth/jose.py). The results are those of jose4j 0.9.6,
which was run with these cases."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from support.simulation import START_WALL_MS

pytest.importorskip("joserfc", reason="the extra security is not installed")

from joserfc import jws

from fakebroker.core.errors import ConfigError
from fakebroker.core.security.sasl.oauth_bearer import TokenRefused
from fakebroker.core.security.sasl.signed_jwt import JwtRules, validate_signed
from fakebroker.server.oauth.jose import read_object
from fakebroker.server.oauth.jwks import parse_keys, verify_with
from fakebroker.server.oauth.tokens import TokenSigner

SIGNER = TokenSigner()
KEY_SET = json.dumps(SIGNER.jwks).encode()
HEADER = b'{"alg":"ES256"}'
CLAIMS = b'{"sub":"d"}'
BOM = b"\xef\xbb\xbf"
NOW_S = START_WALL_MS // 1000


def base64_of(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def signed(header_part: str, claims_part: str) -> str:
    head = f"{header_part}.{claims_part}"
    signature = jws.JWSRegistry.algorithms["ES256"].sign(head.encode(), SIGNER.key)
    return f"{head}.{base64_of(signature)}"


def claims_of(token: str) -> Any:
    """Return the claims of a token, or None if it is refused."""
    try:
        return verify_with(parse_keys(KEY_SET, "here")[0], token)
    except TokenRefused:
        return None


def with_member(member: bytes) -> bytes:
    return HEADER[:-1] + b"," + member + b"}"


@pytest.mark.parametrize("read_by", ["the keys of a set", "the key of the cluster"])
@pytest.mark.parametrize(
    ("header", "claims"),
    [
        (b'{"alg":"none","alg":"ES256"}', CLAIMS),
        (b'{"alg":"ES256","x":{"y":1,"y":1}}', CLAIMS),
        (HEADER, b'{"sub":"admin","sub":"d"}'),
        (HEADER, b'{"s\\u0075b":"admin","sub":"d"}'),
        (HEADER, b'{"x":[{"y":1,"y":1}]}'),
        (b'{"alg":"ES256","x":NaN}', CLAIMS),
        (HEADER, b'{"exp":NaN}'),
        (HEADER, b'{"exp":-Infinity}'),
        (BOM + HEADER, CLAIMS),
        (HEADER, BOM + CLAIMS),
        (HEADER.decode().encode("utf-16"), CLAIMS),
        (HEADER, CLAIMS.decode().encode("utf-16")),
        (HEADER, CLAIMS.decode().encode("utf-32-le")),
        (HEADER, b"null"),
        (HEADER, b"[]"),
        (HEADER, b""),
        (HEADER, CLAIMS + b"x"),
        (b'{"alg":1}', CLAIMS),
        (b'{"alg":["ES256"]}', CLAIMS),
        (b'{"kid":"fakebroker"}', CLAIMS),
    ],
)
def test_a_token_is_refused_whose_json_jose4j_does_not_read(header: bytes, claims: bytes, read_by: str) -> None:
    token = signed(base64_of(header), base64_of(claims))
    if read_by == "the keys of a set":
        assert claims_of(token) is None
        return
    with pytest.raises(TokenRefused):
        SIGNER.verify(token)


@pytest.mark.parametrize(
    ("claims", "read"),
    [
        (b'{"sub":"d\n"}', {"sub": "d\n"}),
        (b'{"sub":"\x00\x01\t\x7f"}', {"sub": "\x00\x01\t\x7f"}),
        (b'{"sub":"\xff"}', {"sub": "\ufffd"}),
        (b'{"sub":"\xe2\x28\xa1\xc0\xaf"}', {"sub": "\ufffd(\ufffd\ufffd\ufffd"}),
        (b' {"x":1e999} \r\n', {"x": float("inf")}),
        (b"{}", {}),
    ],
)
def test_claims_are_read_as_jose4j_reads_them(claims: bytes, read: Any) -> None:
    assert claims_of(signed(base64_of(HEADER), base64_of(claims))) == read


@pytest.mark.parametrize(
    "member", [b'"x":"\n"', b'"x":"\xff"', b'"x":1e999', b'"typ":1', b'"kid":null', b'"zip":"DEF"']
)
def test_other_members_of_a_header_have_no_effect(member: bytes) -> None:
    assert claims_of(signed(base64_of(with_member(member)), base64_of(CLAIMS))) == {"sub": "d"}


@pytest.mark.parametrize(
    ("critical", "is_valid"),
    [
        ("null", True),
        ("[]", True),
        ('["b64"]', True),
        ('["b64","b64"]', True),
        ("{}", False),
        ('""', False),
        ('"b64"', False),
        ("0", False),
        ("false", False),
        ('["x"]', False),
        ('["alg"]', False),
        ("[null]", False),
        ("[[]]", False),
    ],
)
def test_only_b64_may_be_critical(critical: str, is_valid: bool) -> None:
    header = with_member(f'"crit":{critical}'.encode())
    assert (claims_of(signed(base64_of(header), base64_of(CLAIMS))) is not None) is is_valid


@pytest.mark.parametrize(
    ("member", "claims_part"),
    [
        ('"b64":false', CLAIMS.decode()),
        ('"b64":false,"crit":["b64"]', CLAIMS.decode()),
        ('"b64":true', base64_of(CLAIMS)),
        ('"b64":null', base64_of(CLAIMS)),
        ('"b64":"false"', base64_of(CLAIMS)),
    ],
)
def test_claims_are_not_in_base64_if_b64_is_false(member: str, claims_part: str) -> None:
    assert claims_of(signed(base64_of(with_member(member.encode())), claims_part)) == {"sub": "d"}


@pytest.mark.parametrize("change", ["{}=", "{}==", "{}=QUFB", "\n{}", "!{}", " {} ", "\u00e9{}"])
def test_characters_outside_base64_are_left_out(change: str) -> None:
    header_part, claims_part = base64_of(HEADER), base64_of(CLAIMS)
    head, _, signature = signed(header_part, claims_part).rpartition(".")
    assert claims_of(f"{head}.{change.format(signature)}") == {"sub": "d"}
    if change.isascii():
        assert claims_of(signed(change.format(header_part), change.format(claims_part))) == {"sub": "d"}


def test_a_signature_may_have_the_other_alphabet_of_base64() -> None:
    while not {"-", "_"} <= set(token := signed(base64_of(HEADER), base64_of(CLAIMS))):
        pass
    assert claims_of(token.replace("-", "+").replace("_", "/")) == {"sub": "d"}


@pytest.mark.parametrize("change", ["{}A", "{}AA", "AA{}", "", "{}.", "{}.x"])
def test_a_signature_of_another_length_is_refused(change: str) -> None:
    head, _, signature = signed(base64_of(HEADER), base64_of(CLAIMS)).rpartition(".")
    assert claims_of(f"{head}.{change.format(signature)}") is None


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_time_that_is_no_number_of_json_is_an_invalid_token(claim: str, value: float) -> None:
    token = SIGNER.sign({"sub": "alice", "iat": NOW_S, "exp": NOW_S + 3600} | {claim: value})
    with pytest.raises(TokenRefused) as refused:
        validate_signed(token, SIGNER.verify, JwtRules(), START_WALL_MS)
    assert refused.value.status == "invalid_token"


@pytest.mark.parametrize(
    "content",
    [
        KEY_SET.replace(b'{"keys"', b'{"keys":[],"keys"', 1),
        KEY_SET.replace(b'"kid"', b'"kid":"other","kid"', 1),
        KEY_SET.replace(b'"kid"', b'"x":NaN,"kid"', 1),
        BOM + KEY_SET,
        KEY_SET.decode().encode("utf-16"),
        b"[" * 100_000,
        b"null",
    ],
)
def test_a_set_of_keys_is_refused_that_jose4j_does_not_read(content: bytes) -> None:
    with pytest.raises(ConfigError, match="is no set of keys"):
        parse_keys(content, "here")


def test_a_set_of_keys_may_have_bad_bytes_in_its_texts() -> None:
    keys, left_out = parse_keys(KEY_SET.replace(b"fakebroker", b"\xff\n"), "here")
    assert ([key.key_id for key in keys], left_out) == (["\ufffd\n"], "")


def test_a_member_that_is_there_twice_is_found_among_many() -> None:
    """A search through all members before it would take minutes."""
    members = ",".join(f'"{number}":0' for number in range(100_000))
    with pytest.raises(ValueError, match="'99999' is there twice"):
        read_object(f'{{{members},"99999":0}}'.encode())
