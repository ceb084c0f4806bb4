"""Logins with signed tokens: signatures, keys and claims, right and wrong."""

from __future__ import annotations

import json

from conformance.frames import request
from conformance.sasl.sign_tokens import TOKENS
from conformance.scenario import Case, Hear, Send
from conformance.security.user_steps import bearer

_HANDSHAKE, _AUTHENTICATE = 17, 36
_LISTENER = "SASL_PLAINTEXT"
_NO_LIFETIME, _WITH_LIFETIME = 0, 1  # versions of SaslAuthenticate
_ERROR_SEEN = b"\x01"  # is sent after a refusal; after a login it is a request that may not come
_WHY = "OAUTHBEARER: signed tokens (BrokerJwtValidator, JwksFileVerificationKeyResolver, jose4j)"


def _case(name: str, token: str, version: int = _NO_LIFETIME, box: str = "signed") -> Case:
    """Return a case of one login. Behind it comes what a client of a refused token sends: so either side ends."""
    messages = (
        request(_HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"}, 1),
        request(_AUTHENTICATE, version, {"auth_bytes": bearer(token)}, 2),
        request(_AUTHENTICATE, version, {"auth_bytes": _ERROR_SEEN}, 3),
    )
    steps = [step for message in messages for step in (Send((message,), listener=_LISTENER), Hear(1))]
    return Case(f"sasl-signed/{name}", _WHY, tuple(steps), box=box)


_TOKENS: dict[str, str] = json.loads(TOKENS.read_text())

CASES: list[Case] = [
    *(_case(name, token) for name, token in _TOKENS.items()),
    *(
        _case(f"any-{name}", _TOKENS[name], box="signed-any")
        for name in _TOKENS
        if name.startswith("own-claims") or name in ("right", "wrong-audience", "wrong-key", "id-number")
    ),
    *(_case(f"{name}-v1", _TOKENS[name], _WITH_LIFETIME) for name in ("right", "expiry-fraction", "expired")),
]
