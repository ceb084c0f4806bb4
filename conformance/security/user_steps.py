"""Steps of cases with several users: the harness grants, and users that have logged in over TLS try.

Theory   The harness is User:ANONYMOUS at the listener PLAINTEXT of the box "users", and a super user. Each case has
         users of its own, which log in at SASL_SSL: `user("alice", case)`. So what one case grants is nothing to
         another one, the cluster's own resource included. They log in with unsecured tokens, so a name needs no
         credential. Their version of SaslAuthenticate does not say when the session ends.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from conformance.frames import request
from conformance.scenario import Case, Hear, Send, Settle, Step, Topic
from conformance.security.acl_steps import IN_FORCE, acl, create_acls
from conformance.transactions.steps import numbered

SASL_SSL = "SASL_SSL"
BOX = "users"
SUPER_USER = "admin"
_HANDSHAKE, _AUTHENTICATE = 17, 36
_NO_LIFETIME = 0  # a version without session_lifetime_ms
_END_S = 4_000_000_000  # 2096
_ADMIN = "harness"  # a connection


def user(letter: str, case: str) -> str:
    """Return the name of a user of a case."""
    return f"{letter}-{hashlib.sha256(case.encode()).hexdigest()[:6]}"


def bearer(token: str) -> bytes:
    """Return the first message of a login by OAUTHBEARER."""
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()


def login(name: str, conn: str, *, host: str = "127.0.0.1") -> tuple[Step, ...]:
    """Return the steps of a login of this user on a new connection."""
    parts = ({"alg": "none"}, {"sub": name, "exp": _END_S})
    token = "".join(f"{urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip('=')}." for part in parts)
    frames = (
        request(_HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"}, 1),
        request(_AUTHENTICATE, _NO_LIFETIME, {"auth_bytes": bearer(token)}, 2),
    )
    return Send(frames, conn, host=host, listener=SASL_SSL), Hear(2, conn)


def grant(text: str, principal: str) -> dict[str, Any]:
    """Return an entry of CreateAcls. "TOPIC t READ" allows, "-TOPIC t READ" denies; a name that ends in "*" is a
    prefix, unless it is only that; a host may stand behind."""
    kind, name, operation, *host = text.removeprefix("-").split(" ")
    is_prefix = name.endswith("*") and name != "*"
    return acl(
        kind,
        name.removesuffix("*") if is_prefix else name,
        operation,
        permission="DENY" if text.startswith("-") else "ALLOW",
        pattern="PREFIXED" if is_prefix else "LITERAL",
        principal=principal,
        host=host[0] if host else "*",
    )


def grants(*pairs: tuple[str, str]) -> tuple[Step, ...]:
    """Return the steps in which the harness gives pairs of a principal and a text as in `grant`, with semicolons."""
    made = [grant(text.strip(), principal) for principal, texts in pairs for text in texts.split(";") if text.strip()]
    return *harness(create_acls(*made)), *IN_FORCE


def harness(*frames: bytes) -> tuple[Step, ...]:
    """Return steps of the harness."""
    return Send(numbered(frames), _ADMIN), Settle(_ADMIN)


def asks(conn: str, *frames: bytes) -> tuple[Step, ...]:
    """Return the steps of a user that has logged in on this connection: requests, one after the other."""
    steps: tuple[Step, ...] = ()
    for number, frame in enumerate(frames, 3):
        named = frame[:8] + number.to_bytes(4) + frame[12:]
        steps += (Send((named,), conn), Hear(1, conn))
    return steps


def user_case(
    name: str,
    why: str,
    given: Mapping[str, str],
    *steps: Step,
    topics: tuple[Topic, ...] = (),
    before: tuple[Step, ...] = (),
) -> Case:
    """Return a case. The harness does the steps `before`, and gives each user, by letter, what it may do. All users log
    in on connections of their letters. Then come the steps."""
    logins = (step for letter in given for step in login(user(letter, name), letter))
    acls = [(f"User:{user(letter, name)}", texts) for letter, texts in given.items() if texts]
    return Case(name, why, (*before, *(grants(*acls) if acls else ()), *logins, *steps), topics, box=BOX)
