"""Logins at listeners with settings that have no effect, or that are altered meanwhile; long messages of a login."""

from __future__ import annotations

from conformance.cases.security.sasl_logins import UNSECURED
from conformance.config_frames import BROKER, DELETE, SET, incremental
from conformance.frames import request
from conformance.scenario import Case, CatchUp, Hear, Pause, Send, Settle, Step

_HANDSHAKE, _AUTHENTICATE = 17, 36
_BOX = "sasl-settings"
_LISTENER = "SASL_PLAINTEXT"
_OF = "listener.name.sasl_plaintext."
_ALL = 99  # answers: until the connection is closed
_APPLIED_MS = 1_000  # Kafka applies settings after its response
_ZOE = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_zoe="secret";'

_ALTERED = {
    "login-module": (f"{_OF}plain.sasl.jaas.config", _ZOE),
    "no-login-module": (f"{_OF}plain.sasl.jaas.config", "rubbish"),
    "mechanisms": (f"{_OF}sasl.enabled.mechanisms", "OAUTHBEARER"),
    "mechanisms-of-all": ("sasl.enabled.mechanisms", "OAUTHBEARER"),
    "size": (f"{_OF}sasl.server.max.receive.size", "10"),
    "sessions": (f"{_OF}connections.max.reauth.ms", "5000"),
}


def _login(user: str, is_let_in: bool) -> list[Step]:
    token = {"auth_bytes": b"\0%s\0secret" % user.encode()}
    return [
        Send((request(_HANDSHAKE, 1, {"mechanism": "PLAIN"}, 1),), user, listener=_LISTENER),
        Hear(1, user),
        Send((request(_AUTHENTICATE, 2, token, 2),), user, listener=_LISTENER),
        Hear(1 if is_let_in else _ALL, user),
    ]


def _altered(what: str, name: str, value: str) -> Case:
    steps = [
        Send((incremental((BROKER, "1", [(name, SET, value)])),)),
        Settle(),
        CatchUp(),
        Pause(_APPLIED_MS),
        *_login("alice", True),
        *_login("zoe", False),
        Send((incremental((BROKER, "1", [(name, DELETE, None)]), correlation_id=3),)),
        Settle(),
        CatchUp(),
    ]
    why = "settings of an open listener that are altered (SaslChannelBuilder.reconfigurableConfigs)"
    return Case(f"sasl-altered/{what}", why, tuple(steps), box=_BOX)


def _long(what: str, mechanism: str, token: bytes) -> Case:
    """Return a case of a login that fails; after the challenge to a refused token the client sends one byte."""
    frames = [request(_AUTHENTICATE, 2, {"auth_bytes": token}, 2)]
    if what == "token":
        frames.append(request(_AUTHENTICATE, 2, {"auth_bytes": b"\x01"}, 3))
    steps: list[Step] = [Send((request(_HANDSHAKE, 1, {"mechanism": mechanism}, 1),), listener=_LISTENER)]
    for frame in frames:
        steps += [Hear(1), Send((frame,), listener=_LISTENER)]
    why = "messages of 40,000 bytes (OAuthBearerSaslServer, PlainSaslServer)"
    return Case(f"sasl-long/{what}", why, (*steps, Hear(_ALL)), box=_BOX)


# There are no cases of a long name of SCRAM and of many extensions: Kafka 4.4 does not respond to them, and the
# connection stays open. Probably its patterns overflow the stack.
_LONG = {
    "token": ("OAUTHBEARER", b"n,,\x01auth=Bearer " + b"x" * 40_000 + b"\x01\x01"),
    "password": ("PLAIN", b"\0alice\0" + b"x" * 40_000),
}


def _ignored(what: str, mechanism: str, token: bytes, listener: str) -> Case:
    """Return a case of a login that succeeds; a request is answered behind it."""
    steps = (
        Send((request(_HANDSHAKE, 1, {"mechanism": mechanism}, 1),), listener=listener),
        Hear(1),
        Send((request(_AUTHENTICATE, 2, {"auth_bytes": token}, 2),), listener=listener),
        Hear(1),
        Settle(),
    )
    why = "settings without a prefix (SaslChannelBuilder.createServerCallbackHandlers, ChannelBuilders.create)"
    return Case(f"sasl-ignored/{what}", why, steps, box=_BOX)


CASES: list[Case] = [
    _ignored("handler", "OAUTHBEARER", UNSECURED, _LISTENER),
    _ignored("client-auth", "PLAIN", b"\0alice\0secret", "SASL_SSL"),
    *(_altered(what, name, value) for what, (name, value) in _ALTERED.items()),
    *(_long(what, mechanism, token) for what, (mechanism, token) in _LONG.items()),
]
