"""Logins by SASL: each mechanism right and wrong, at each version, and requests out of order."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from hashlib import pbkdf2_hmac
from typing import Any

from conformance.frames import request
from conformance.sasl.scram_exchange import HASHES, ScramExchange
from conformance.scenario import Case, CatchUp, Hear, Pause, SaslFinal, Send, Settle, Step
from fakebroker.protocol.framing import encode_frame

_HANDSHAKE, _AUTHENTICATE, _VERSIONS, _METADATA = 17, 36, 18, 3
_LISTENER = "SASL_PLAINTEXT"
_ALL = 99  # answers: until the connection is closed
_END_S = 4_000_000_000  # 2096
_BARE = -1  # in place of a version: tokens without headers


def _send(*frames: bytes) -> Send:
    return Send(frames, listener=_LISTENER)


def _handshake(mechanism: str, version: int = 1) -> bytes:
    return request(_HANDSHAKE, version, {"mechanism": mechanism}, 1)


def _token(token: bytes, version: int = 2, correlation_id: int = 2) -> bytes:
    if version == _BARE:
        return encode_frame(token)
    return request(_AUTHENTICATE, version, {"auth_bytes": token}, correlation_id)


def _api_versions(version: int, name: str = "c", **values: Any) -> bytes:
    given = {"client_software_name": name, "client_software_version": "1", "cluster_id": None, "node_id": -1} | values
    return request(_VERSIONS, version, given, 9)


def _good(name: str, why: str, mechanism: str, tokens: Sequence[bytes], version: int = 2) -> Case:
    """Return a case of a login that succeeds; a request is answered behind it."""
    steps: list[Step] = [_send(_handshake(mechanism, 0 if version == _BARE else 1)), Hear(1)]
    for number, token in enumerate(tokens):
        steps += [_send(_token(token, version, 2 + number)), Hear(1)]
    return Case(f"sasl-{name}", why, (*steps, Settle()), box="sasl")


def _bad(name: str, why: str, mechanism: str, tokens: Sequence[bytes], version: int = 2) -> Case:
    """Return a case of a login that fails with its last token."""
    good = _good(name, why, mechanism, tokens[:-1], version)
    last = _send(_token(tokens[-1], version, 1 + len(tokens)))
    return Case(good.name, why, (*good.steps[:-1], last, Hear(_ALL)), box="sasl")


# PLAIN.

_PLAIN_GOOD = {"right": b"\0alice\0secret", "authzid": b"alice\0alice\0secret", "another": b"\0bob\0word"}
_PLAIN_BAD = {
    "wrong-password": b"\0alice\0wrong",
    "unknown-user": b"\0nobody\0secret",
    "no-user": b"\0\0secret",
    "no-password": b"\0alice\0",
    "empty": b"",
    "one-part": b"alice",
    "two-parts": b"alice\0secret",
    "four-parts": b"\0alice\0secret\0",
    "six-parts": b"\0\0\0\0\0",
    "another-authzid": b"bob\0alice\0secret",
    "another-authzid-wrong-password": b"bob\0alice\0wrong",
    "no-utf8": b"\0\xff\xfe\0secret",
    "control-characters": b"\0a\x1b[2J\n\0secret",
}
_PLAIN = [
    *(
        _good(
            f"plain/{what}-v{version}", "PLAIN: valid and invalid logins (PlainSaslServer)", "PLAIN", [token], version
        )
        for what, token in _PLAIN_GOOD.items()
        for version in range(3)
    ),
    *(
        _good(f"plain/{what}-bare", "PLAIN: valid and invalid logins (PlainSaslServer)", "PLAIN", [token], _BARE)
        for what, token in _PLAIN_GOOD.items()
    ),
    *(
        _bad(f"plain/{what}", "PLAIN: valid and invalid logins (PlainSaslServer)", "PLAIN", [token])
        for what, token in _PLAIN_BAD.items()
    ),
    *(
        _bad(
            f"plain/{what}-v{version}",
            "PLAIN: valid and invalid logins (PlainSaslServer)",
            "PLAIN",
            [_PLAIN_BAD[what]],
            version,
        )
        for what in ("wrong-password", "empty")
        for version in (0, 1, _BARE)
    ),
]

# SCRAM.


def _user(name: str, mechanism: str, password: str = "secret") -> Send:
    salt = b"salt of conformance"
    salted = pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, 4096)
    upsertion = {
        "name": name,
        "mechanism": list(HASHES).index(mechanism) + 1,
        "iterations": 4096,
        "salt": salt,
        "salted_password": salted,
    }
    return Send((request(51, 0, {"deletions": [], "upsertions": [upsertion]}, 1),), conn="admin")


_SETUP: tuple[Step, ...] = (
    *(_user(name, mechanism) for mechanism in HASHES for name in ("carol", "d,e=f")),
    _user("only-512", "SCRAM-SHA-512"),
    Settle("admin"),
    CatchUp(),
)


def _scram(name: str, first: bytes, final: SaslFinal | bytes | None, mechanism: str, version: int, ends: Step) -> Case:
    steps: list[Step] = [*_SETUP, _send(_handshake(mechanism, 0 if version == _BARE else 1)), Hear(1)]
    steps.append(_send(_token(first, version)))
    if final is not None:
        steps += [Hear(1), _send(_token(final, version, 3)) if isinstance(final, bytes) else final]
    steps += [Hear(1), ends] if isinstance(ends, Settle) else [ends]
    return Case(f"sasl-scram/{name}", "SCRAM: valid and invalid logins (ScramSaslServer)", tuple(steps), box="sasl")


def _scram_login(
    name: str, ends: Step, mechanism: str = "SCRAM-SHA-256", user: str = "carol", version: int = 2, **final: Any
) -> Case:
    given = {"password": "secret", "extensions": ""} | final
    exchange = ScramExchange(mechanism, user, given["password"], extensions=given["extensions"])
    step = SaslFinal(mechanism, user, version=version, **given)
    return _scram(name, exchange.first(), step, mechanism, version, ends)


_SPOILED = {
    "another-nonce": ("r=client-nonce", "r=client-nonceX"),
    "no-proof": (",p=.*", ""),
    "short-proof": ("p=.*", "p=AAAA"),
    "no-base64": ("p=.*", "p=!!!!"),
    "wrong-proof": ("p=.*", "p=" + "A" * 43 + "="),
    "another-channel": ("c=biws", "c=bixh"),
    "an-extension": (",p=", ",x=y,p="),
    "trailing-newline": ("$", "\n"),
}
_FIRST = {
    "unknown-user": b"n,,n=nobody,r=client-nonce",
    "user-of-another-mechanism": b"n,,n=only-512,r=client-nonce",
    "unknown-token": b"n,,n=carol,r=client-nonce,tokenauth=true",
    "empty": b"",
    "garbage": b"\xff\0\x01",
    "channel-binding": b"p=tls-unique,,n=carol,r=client-nonce",
    "channel-binding-offered": b"y,,n=carol,r=client-nonce",
    "no-nonce": b"n,,n=carol,r=",
    "no-name": b"n,,n=,r=client-nonce",
    "another-authzid": b"n,a=bob,n=carol,r=client-nonce",
    "bad-escape": b"n,,n=a=2cb,r=client-nonce",
    "no-ascii": "n,,n=é,r=client-nonce".encode(),
    "final-first": b"c=biws,r=client-nonce,p=AAAA",
}
_SCRAM = [
    *(
        _scram_login(f"{mechanism[10:]}-right-v{version}".replace("--1", "-bare"), Settle(), mechanism, version=version)
        for mechanism in HASHES
        for version in (0, 1, 2, _BARE)
    ),
    *(
        _scram_login(f"{mechanism[10:]}-wrong-v{version}", Hear(_ALL), mechanism, version=version, password="wrong")
        for mechanism in HASHES
        for version in (0, 1, 2, _BARE)
    ),
    _scram_login("escaped-name", Settle(), user="d=2Ce=3Df"),
    _scram_login("an-extension-first", Settle(), extensions=",x=y"),
    _scram_login("tokenauth-false", Settle(), extensions=",tokenauth=false"),
    *(
        _scram_login(f"final-{what}", Settle() if what == "an-extension" else Hear(_ALL), spoil=spoil)
        for what, spoil in _SPOILED.items()
    ),
    *(_scram(f"first-{what}", first, None, "SCRAM-SHA-256", 2, Hear(_ALL)) for what, first in _FIRST.items()),
    *(
        _scram(f"first-{what}-bare", _FIRST[what], None, "SCRAM-SHA-256", _BARE, Hear(_ALL))
        for what in ("unknown-user", "another-authzid", "garbage")
    ),
    _scram(
        "first-twice",
        _FIRST["unknown-user"].replace(b"nobody", b"carol"),
        b"n,,n=carol,r=x",
        "SCRAM-SHA-256",
        2,
        Hear(_ALL),
    ),
]

# OAUTHBEARER.


def _part(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _jwt(header: object = None, signature: str = "", **claims: Any) -> str:
    body = {"sub": "dave", "exp": _END_S, "iat": 1} | claims
    said = {key: value for key, value in body.items() if value is not None}
    return f"{_part({'alg': 'none'} if header is None else header)}.{_part(said)}.{signature}"


def _bearer(token: str, authzid: str = "", pairs: str = "", scheme: str = "Bearer") -> bytes:
    return f"n,{authzid},\x01auth={scheme} {token}\x01{pairs}\x01".encode()


_NONE, _NAN = '{"alg":"none"}', '{"alg":"none","x":NaN}'
_OAUTH_GOOD = {
    "right": _bearer(_jwt()),
    "authzid": _bearer(_jwt(), "a=dave"),
    "extensions": _bearer(_jwt(), pairs="trace=1 2\x01Other=\t\x01"),
    "lower-case": _bearer(_jwt(), scheme="bearer"),
    "scope-list": _bearer(_jwt(scope=["a", " ", 5])),
    "no-iat": _bearer(_jwt(iat=None)),
    "fraction": _bearer(_jwt(exp=_END_S + 0.25)),
    "nested": _bearer(_jwt(x={"a": [[{"b": None}]]})),
    "header-behind": _bearer(f"{_part(_NONE + ' trailing')}.{_jwt().split('.')[1]}."),
}
UNSECURED = _OAUTH_GOOD["right"]
_OAUTH_REFUSED = {
    "expired": _jwt(exp=1000),
    "expires-before-issued": _jwt(exp=_END_S, iat=_END_S + 1),
    "issued-later": _jwt(iat=_END_S - 1),
    "no-exp": _jwt(exp=None),
    "exp-is-text": _jwt(exp="4000000000"),
    "no-sub": _jwt(sub=None),
    "sub-is-number": _jwt(sub=5),
    "sub-is-blank": _jwt(sub=" "),
    "sub-is-list": _jwt(sub=["dave"]),
    "scope-is-number": _jwt(scope=5),
    "hs256": _jwt({"alg": "HS256"}, "AAAA"),
    "alg-null": _jwt({"alg": None}),
    "alg-upper-case": _jwt({"alg": "NONE"}),
    "signature": _jwt(signature="AAAA"),
    "two-parts": _jwt().rstrip("."),
    "four-parts": _jwt() + ".",
    "no-json": f"{_part('no json')}.{_part({})}.",
    "empty-header": f"{_part('')}.{_part({})}.",
    "not-base64": "+.+.",
    "deep": f"{_part('[' * 1001 + ']' * 1001)}.{_part({})}.",
    "nan": f"{_part(_NAN)}.{_part({})}.",
    "one-char": "A.A.",
}
_OAUTH_BAD = {
    "empty": b"",
    "error-first": b"\x01",
    "no-pairs": b"n,,\x01\x01",
    "no-token": b"n,,\x01auth=Bearer\x01\x01",
    "two-tokens": b"n,,\x01auth=Bearer a b\x01\x01",
    "bad-name": b"n,,\x01a1=b\x01auth=Bearer x\x01\x01",
    "another-authzid": _bearer(_jwt(), "a=bob"),
    "another-scheme": _bearer(_jwt(), scheme="Basic"),
    "no-alg": _bearer(_jwt({"typ": "JWT"})),
    "channel-binding": b"y" + _bearer(_jwt())[1:],
    "no-end": _bearer(_jwt())[:-1],
}
_ERROR_SEEN = b"\x01"
_OAUTH = [
    *(
        _good(f"oauth/{what}", "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)", "OAUTHBEARER", [token])
        for what, token in _OAUTH_GOOD.items()
    ),
    *(
        _good(
            f"oauth/right-v{version}",
            "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)",
            "OAUTHBEARER",
            [_OAUTH_GOOD["right"]],
            version,
        )
        for version in (0, 1)
    ),
    _good(
        "oauth/right-bare",
        "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)",
        "OAUTHBEARER",
        [_OAUTH_GOOD["right"]],
        _BARE,
    ),
    *(
        _bad(
            f"oauth/{what}",
            "OAUTHBEARER: unsigned tokens (OAuthBearerUnsecuredJws)",
            "OAUTHBEARER",
            [_bearer(token), _ERROR_SEEN],
        )
        for what, token in _OAUTH_REFUSED.items()
    ),
    *(
        _bad(
            f"oauth/expired-v{version}",
            "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)",
            "OAUTHBEARER",
            [_bearer(_OAUTH_REFUSED["expired"]), _ERROR_SEEN],
            version,
        )
        for version in (0, 1, _BARE)
    ),
    *(
        _bad(f"oauth/{what}", "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)", "OAUTHBEARER", [token])
        for what, token in _OAUTH_BAD.items()
    ),
    _good(
        "oauth/right-after-expired",
        "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)",
        "OAUTHBEARER",
        [_bearer(_OAUTH_REFUSED["expired"]), _OAUTH_GOOD["right"]],
    ),
    _bad(
        "oauth/garbage-after-expired",
        "OAUTHBEARER: valid and invalid logins (OAuthBearerSaslServer)",
        "OAUTHBEARER",
        [_bearer(_OAUTH_REFUSED["expired"]), b"\x02"],
    ),
]

# What may come when.

_LOGIN = (_handshake("PLAIN"), _token(b"\0alice\0secret"))
_SASL_STATE = "which requests are allowed in which SASL state (SaslServerAuthenticator)"


def _ends(name: str, *sends: Sequence[bytes]) -> Case:
    """Return a case in which the last write ends the connection; the others are each answered."""
    steps: list[Step] = []
    for frames in sends[:-1]:
        steps += [_send(*frames), Hear(len(frames))]
    return Case(f"sasl-state/{name}", _SASL_STATE, (*steps, _send(*sends[-1]), Hear(_ALL)), box="sasl")


def _goes_on(name: str, *sends: Sequence[bytes]) -> Case:
    steps: list[Step] = []
    for frames in sends:
        steps += [_send(*frames), Hear(len(frames))]
    return Case(f"sasl-state/{name}", _SASL_STATE, (*steps, Settle()), box="sasl")


_OTHERS: dict[str, bytes] = {
    "metadata": request(_METADATA, 12, {"topics": None}, 5),
    "api-versions": request(_VERSIONS, 0, {}, 5),
    "handshake": _handshake("PLAIN"),
    "find-coordinator": request(10, 2, {"key": "g", "key_type": 0}, 5),
    "heartbeat": request(12, 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}, 5),
    "list-groups": request(16, 4, {"states_filter": []}, 5),
    "describe-cluster": request(60, 0, {"include_cluster_authorized_operations": False}, 5),
}
_STATE = [
    *(_ends(f"first-{what}", [frame]) for what, frame in _OTHERS.items() if what not in ("handshake", "api-versions")),
    *(_ends(f"during-{what}", [_LOGIN[0]], [frame]) for what, frame in _OTHERS.items()),
    _ends("first-authenticate", [_LOGIN[1]]),
    _ends("first-empty", [encode_frame(b"")]),
    _ends("first-gssapi", [encode_frame(b"\x60\x82\x01\x02\x06\x09")]),
    _ends("first-plain", [encode_frame(b"\0alice\0secret")]),
    _ends("first-unknown-api", [encode_frame(b"\x7f\xff\0\0\0\0\0\1\xff\xff")]),
    _ends("first-too-large", [(524_289).to_bytes(4, "big")]),
    _ends("first-negative", [b"\xff\xff\xff\xff"]),
    _ends("tls", [b"\x16\x03\x01\x02\x00\x01\x00\x01"]),
    *(_goes_on(f"versions-v{version}", [_api_versions(version)], _LOGIN[:1], _LOGIN[1:]) for version in range(6)),
    *(_ends(f"versions-twice-v{version}", [_api_versions(version)], [_api_versions(version)]) for version in (0, 3)),
    _goes_on("versions-invalid", [_api_versions(3, "-")], [_api_versions(3)], _LOGIN[:1], _LOGIN[1:]),
    _goes_on("versions-unknown", [encode_frame(b"\0\x12\x7f\xff\0\0\0\x09\xff\xff\0")], _LOGIN[:1], _LOGIN[1:]),
    _goes_on(
        "versions-of-another-cluster", [_api_versions(5, cluster_id="another", node_id=7)], _LOGIN[:1], _LOGIN[1:]
    ),
    _ends("versions-of-half-a-cluster-then-metadata", [_api_versions(5, cluster_id="another")], [_OTHERS["metadata"]]),
    _ends("versions-then-metadata", [_api_versions(3)], [_OTHERS["metadata"]]),
    _ends("handshake-v2", [encode_frame(b"\0\x11\0\2\0\0\0\1\xff\xff\0\5PLAIN")]),
    *(
        _ends(f"mechanism-{mechanism.lower() or 'none'}-v{version}", [_handshake(mechanism, version)])
        for mechanism in ("GSSAPI", "plain", "", "SCRAM-SHA-1")
        for version in range(2)
    ),
    _ends("authenticate-v3", _LOGIN[:1], [encode_frame(b"\0\x24\0\3\0\0\0\1\xff\xff\0\1\0")]),
    _ends("authenticate-garbage", _LOGIN[:1], [encode_frame(b"\0\x24\0\1\0\0\0\1\xff\xff")]),
    _ends("during-empty", _LOGIN[:1], [encode_frame(b"")]),
    _ends("during-bare", _LOGIN[:1], [encode_frame(b"\0alice\0secret")]),
    _ends("during-too-large", _LOGIN[:1], [(524_289).to_bytes(4, "big")]),
    _ends("bare-header", [_handshake("PLAIN", 0)], [_LOGIN[1]]),
    _goes_on("pipelined", [*_LOGIN, _OTHERS["list-groups"]]),
    _goes_on("again", _LOGIN[:1], _LOGIN[1:], [_handshake("PLAIN")], [_LOGIN[1]]),
    _goes_on("again-v0", _LOGIN[:1], _LOGIN[1:], [_handshake("GSSAPI", 0)], [_token(b"", 0)]),
    _goes_on("versions-after", _LOGIN[:1], _LOGIN[1:], [_api_versions(3)]),
]

# Sessions of two seconds and a half.

_OTHER_LOGIN = (_handshake("PLAIN"), _token(b"\0bob\0word"))


def _session(name: str, *steps: Step) -> Case:
    begin = (_send(*_LOGIN[:1]), Hear(1), _send(*_LOGIN[1:]), Hear(1))
    return Case(
        f"sasl-sessions/{name}",
        "sessions and re-authentication (KIP-368: KafkaChannel, ReauthInfo)",
        (*begin, *steps),
        box="sasl-sessions",
    )


_AGAIN = (_send(_LOGIN[0]), Hear(1), _send(_LOGIN[1]), Hear(1))
_SESSIONS = [
    _session("requests", Settle(), Settle()),
    _session("expired", Pause(2600), _send(_OTHERS["list-groups"]), Hear(_ALL)),
    _session("expired-and-renewed", Pause(2600), *_AGAIN, Settle()),
    _session("renewed", *_AGAIN, Settle()),
    _session("renewed-twice-in-a-second", *_AGAIN, _send(_LOGIN[0]), Hear(1), Settle()),
    _session("renewed-twice", *_AGAIN, Pause(1100), *_AGAIN, Settle()),
    _session("another-principal", _send(_OTHER_LOGIN[0]), Hear(1), _send(_OTHER_LOGIN[1]), Hear(_ALL)),
    _session("wrong-password", _send(_LOGIN[0]), Hear(1), _send(_token(b"\0alice\0wrong")), Hear(_ALL)),
    _session("another-mechanism", _send(_handshake("SCRAM-SHA-256")), Hear(1), _send(_LOGIN[1]), Hear(_ALL)),
    _session("unsupported-mechanism", _send(_handshake("GSSAPI")), Hear(_ALL)),
    _session("request-during-renewal", _send(_LOGIN[0]), Hear(1), _send(_OTHERS["list-groups"]), Hear(_ALL)),
    _session("versions-during-renewal", _send(_LOGIN[0]), Hear(1), _send(_api_versions(3)), Hear(_ALL)),
    _session(
        "renewed-bare",
        _send(_handshake("PLAIN", 0)),
        Hear(1),
        _send(_token(b"\0alice\0secret", _BARE)),
        Hear(1),
        Settle(),
    ),
    _session(
        "another-principal-bare",
        _send(_handshake("PLAIN", 0)),
        Hear(1),
        _send(_token(b"\0bob\0word", _BARE)),
        Hear(_ALL),
    ),
    _session("authenticate-without-handshake", _send(_LOGIN[1]), Hear(1), Settle()),
]

CASES: list[Case] = [*_PLAIN, *_SCRAM, *_OAUTH, *_STATE, *_SESSIONS]
