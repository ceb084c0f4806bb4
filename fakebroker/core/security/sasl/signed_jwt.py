"""The check of signed tokens (JWT, RFC 7519).

Theory   The signature is verified outside (server/oauth), with a library and the keys that the cluster itself has made.
         The claims are checked here. Every refusal is the status `invalid_token`; the reason is for the log.
Source   clients/.../security/oauthbearer/{BrokerJwtValidator,OAuthBearerValidatorCallbackHandler}.java,
         internals/secured/{SerializedJwt,ClaimValidationUtils}.java @ 4.4; jose4j's NumericDateValidator and
         IssValidator.
Differs  Kafka gets the keys from `sasl.oauthbearer.jwks.endpoint.url`; here they are the cluster's own, and the setting
         has no effect. Kafka does not start without an expected audience and issuer, unless unverified ones are
         allowed; here each is checked if it is set.
Units    wall milliseconds; times in a token are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from fakebroker.core.security.sasl.oauth_bearer import OAuthBearerToken, TokenRefused

Verify: TypeAlias = Callable[[str], Mapping[str, Any]]
"""Verify the signature of a token, and return its claims. Raise TokenRefused."""

_PARTS: Final = 3
_MALFORMED: Final = "Malformed JWT provided; expected three sections (header, payload, and signature)"


class JwtRules(NamedTuple):
    """The claims that a token needs. An empty audience or issuer is not checked."""

    audience: Sequence[str] = ()
    issuer: str = ""
    scope_claim: str = "scope"
    subject_claim: str = "sub"
    clock_skew_ms: int = 0


def validate_signed(token: str, verify: Verify, rules: JwtRules, now_ms: int) -> OAuthBearerToken:
    """Check a signed token. Raise TokenRefused."""
    token = token.strip()
    parts = token.split(".")
    if len(parts) != _PARTS or not all(part.strip() for part in parts):
        raise TokenRefused(_MALFORMED)
    claims = verify(token)
    expires_ms = _checked_times(claims, rules, now_ms)
    if rules.audience and not set(_texts(claims, "aud")) & set(rules.audience):
        raise TokenRefused(f"the audience {claims.get('aud')} is none of {', '.join(rules.audience)}")
    if rules.issuer and claims.get("iss") != rules.issuer:
        raise TokenRefused(f"the issuer {claims.get('iss')} is not {rules.issuer}")
    _check_scope(claims, rules.scope_claim)
    return OAuthBearerToken(_subject(claims, rules.subject_claim), expires_ms)


def no_keys(token: str) -> Mapping[str, Any]:
    """Refuse each token: the cluster has made no key yet."""
    raise TokenRefused("Could not validate the access token: this cluster has signed no token")


def _checked_times(claims: Mapping[str, Any], rules: JwtRules, now_ms: int) -> int:
    """Check the times of a token, and return when it expires."""
    expiry, issued, begins = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
    if expiry is None or issued is None:
        raise TokenRefused(f"the claim {'exp' if expiry is None else 'iat'} is missing")
    if now_ms - rules.clock_skew_ms >= expiry * 1000:
        raise TokenRefused(f"the token has expired at {expiry} s; it is {now_ms} ms")
    if begins is not None and now_ms + rules.clock_skew_ms < begins * 1000:
        raise TokenRefused(f"the token begins at {begins} s; it is {now_ms} ms")
    if expiry < issued or expiry < (begins or 0):
        raise TokenRefused("the token expires before it begins")
    if expiry < 0 or issued < 0:
        raise TokenRefused("exp and iat must be non-negative")
    return expiry * 1000


def _seconds(claims: Mapping[str, Any], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1 << 53:
        raise TokenRefused(f"the claim {name} is no number of seconds")
    return int(value)


def _subject(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value.strip():
        raise TokenRefused(f"{name} value must be a text that is not blank")
    return value.strip()


def _check_scope(claims: Mapping[str, Any], name: str) -> None:
    scopes = [scope.strip() for scope in _texts(claims, name)]
    if not all(scopes):
        raise TokenRefused(f"{name} value must not contain only whitespace")
    if len(set(scopes)) != len(scopes):
        raise TokenRefused(f"{name} value must not contain duplicates")


def _texts(claims: Mapping[str, Any], name: str) -> list[str]:
    value = claims.get(name)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    if not all(isinstance(each, str) for each in value):
        raise TokenRefused(f"the claim {name} is no list of texts")
    return value
