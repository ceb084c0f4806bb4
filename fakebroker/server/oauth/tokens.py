"""Tokens for logins by OAUTHBEARER, for the user of a cluster: `kafka.oauth.token("alice", lifetime_ms=3_600_000)`.

Theory   The cluster is an authorization server too. It signs a token with a key of its own, on its own clock, and its
         brokers know the public key. A listener checks signatures if its `sasl.server.callback.handler.class` is
         org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler. By default, as in Kafka, it
         accepts unsecured tokens alone: `token(..., is_signed=False)` makes one.
Source   RFC 7515, RFC 7519.
Units    milliseconds; the times in a token are whole seconds.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fakebroker.core.arguments import MAPPING_OR_NONE, STRING, WHOLE_NUMBER, require
from fakebroker.server.oauth.jwks import verified_claims

if TYPE_CHECKING:
    from joserfc.jwk import ECKey

_ALGORITHM: Final = "ES256"
_CURVE: Final = "P-256"
_KEY_ID: Final = "fakebroker"
_HOUR_MS: Final = 3_600_000


class TokenSigner:
    """The key of a cluster, made with the first token. A token has to be signed with it, by its own algorithm: neither
    `alg: none` nor an HMAC with the public key as its secret is a signature."""

    def __init__(self) -> None:
        self._key: ECKey | None = None

    @property
    def key(self) -> ECKey:
        if self._key is None:
            from joserfc.jwk import ECKey

            self._key = ECKey.generate_key(_CURVE, {"kid": _KEY_ID, "alg": _ALGORITHM, "use": "sig"}, private=True)
        return self._key

    @property
    def jwks(self) -> dict[str, Any]:
        """The public key, as a set (RFC 7517)."""
        return {"keys": [self.key.as_dict(private=False)]}

    def sign(self, claims: Mapping[str, Any]) -> str:
        from joserfc import jwt

        return jwt.encode({"alg": _ALGORITHM, "kid": _KEY_ID}, dict(claims), self.key)

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token with a valid signature. Raise TokenRefused."""
        return verified_claims(token, self._find_key, [_ALGORITHM])

    def _find_key(self, header: Mapping[str, Any]) -> ECKey:
        key_id = header.get("kid")
        if key_id not in (None, _KEY_ID):
            raise ValueError(f"no key has the id {key_id!r}")
        return self.key


class OAuth:
    """The tokens of a cluster."""

    def __init__(self, new_token: Callable[[Callable[[int], dict[str, Any]], bool], str], signer: TokenSigner) -> None:
        """`new_token` makes a token of the claims at a time, signed or not."""
        self._new_token = new_token
        self._signer = signer

    @property
    def jwks(self) -> dict[str, Any]:
        """The public keys with which brokers check signatures (RFC 7517)."""
        return self._signer.jwks

    def token(
        self,
        subject: str,
        *,
        lifetime_ms: int = _HOUR_MS,
        claims: Mapping[str, Any] | None = None,
        is_signed: bool = True,
    ) -> str:
        """Return a token for a user, valid from now on, on the cluster's clock. It expires at the end of the second in
        which its lifetime ends. `claims` are added; a claim of None is left out, so that a test can make a token that
        is refused."""
        require(STRING, subject=subject)
        require(WHOLE_NUMBER, lifetime_ms=lifetime_ms)
        require(MAPPING_OR_NONE, claims=claims)

        def claims_at(now_ms: int) -> dict[str, Any]:
            times = {"iat": now_ms // 1000, "exp": -(-(now_ms + lifetime_ms) // 1000)}
            all_claims = {"sub": subject, **times, **(claims or {})}
            return {name: value for name, value in all_claims.items() if value is not None}

        return self._new_token(claims_at, is_signed)


def unsecured(claims: Mapping[str, Any]) -> str:
    """Return a token with the algorithm "none"."""
    parts = ({"alg": "none"}, claims)
    return "".join(f"{urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip('=')}." for part in parts)
