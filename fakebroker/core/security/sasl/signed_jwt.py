"""The check of signed tokens (JWT, RFC 7519).

Theory   The signature is verified outside (server/oauth), with a library and the keys of the cluster, of a file or of a
         server. The claims are checked here. A refusal is the status `invalid_token`; the reason is for the log. Where
         Kafka's code throws an exception that it does not expect, the connection is closed.
Source   clients/.../security/oauthbearer/{BrokerJwtValidator,OAuthBearerValidatorCallbackHandler,OAuthBearerUtils}.java
         @ 4.4; jose4j's NumericDate and NumericDateValidator, IssValidator, SubValidator, JtiValidator.
Differs  Without `sasl.oauthbearer.jwks.endpoint.url` the keys are the cluster's own here.
         Kafka does not start without an expected audience and issuer, unless unverified ones are allowed; here each is
         checked if it is set.
Units    wall milliseconds; times in a token are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from fakebroker.core.security.sasl.oauth_bearer import OAuthBearerToken, TokenRefused
from fakebroker.core.security.sasl.sasl_server import UnexpectedTokenError

Verify: TypeAlias = Callable[[str], Mapping[str, Any]]
"""Verify the signature of a token, and return its claims. Raise TokenRefused."""

_PARTS: Final = 3
_LONG: Final = 1 << 63
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
    expiry, issued = _checked_times(claims, rules, now_ms)
    if rules.audience and not set(_texts(claims, "aud")) & set(rules.audience):
        raise TokenRefused(f"the audience {claims.get('aud')} is none of {', '.join(rules.audience)}")
    if rules.issuer and claims.get("iss") != rules.issuer:
        raise TokenRefused(f"the issuer {claims.get('iss')} is not {rules.issuer}")
    for name in ("iss", "sub", "jti", rules.subject_claim):
        if not isinstance(claims.get(name, ""), str | None):
            raise TokenRefused(f"the claim {name} is no text")
    _check_scope(claims, rules.scope_claim)
    expires_ms = _millis(expiry)
    if expires_ms < 0:
        raise TokenRefused("exp must be non-negative")
    subject = _subject(claims, rules.subject_claim)
    if _millis(issued) < 0:
        raise TokenRefused("iat must be non-negative")
    return OAuthBearerToken(subject, expires_ms)


def no_keys(token: str) -> Mapping[str, Any]:
    """Refuse each token: the cluster has made no key yet."""
    raise TokenRefused("Could not validate the access token: this cluster has signed no token")


def _checked_times(claims: Mapping[str, Any], rules: JwtRules, now_ms: int) -> tuple[int, int]:
    """Check the times of a token, and return when it expires and was issued, in seconds."""
    expiry, issued, begins = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
    if expiry is None or issued is None:
        raise TokenRefused(f"the claim {'exp' if expiry is None else 'iat'} is missing")
    if now_ms - rules.clock_skew_ms >= expiry * 1000:
        raise TokenRefused(f"the token has expired at {expiry} s; it is {now_ms} ms")
    if begins is not None and now_ms + rules.clock_skew_ms < begins * 1000:
        raise TokenRefused(f"the token begins at {begins} s; it is {now_ms} ms")
    if expiry < issued or expiry < (begins or 0):
        raise TokenRefused("the token expires before it begins")
    return expiry, issued


def _seconds(claims: Mapping[str, Any], name: str) -> int | None:
    """Return a time as a long of Java."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefused(f"the claim {name} is no number of seconds")
    if isinstance(value, float):
        return int(min(max(value, -_LONG), _LONG - 1))
    if not -_LONG <= value < _LONG:
        raise TokenRefused(f"the claim {name} is too large")
    return value


def _as_long(value: int) -> int:
    """Return the last 64 bits of an integer, as a multiplication of Java does."""
    return (value + _LONG) % (2 * _LONG) - _LONG


def _millis(seconds: int) -> int:
    """Return NumericDate.getValueInMillis. Raise UnexpectedTokenError where that is found to overflow."""
    millis = _as_long(seconds * 1000)
    if seconds and (millis > seconds) is not (seconds > 0):
        raise UnexpectedTokenError(f"{seconds} s are too many for a number of milliseconds")
    return millis


def _subject(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value.strip():
        raise TokenRefused(f"{name} value must be a text that is not blank")
    return value.strip()


def _check_scope(claims: Mapping[str, Any], name: str) -> None:
    """Check the scopes. In Kafka one that is no text is a ClassCastException."""
    value = claims.get(name)
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    scopes: set[str] = set()
    for given_scope in given:
        if not isinstance(given_scope, str | None):
            raise UnexpectedTokenError(f"{name} has {given_scope!r}, which is no text")
        scope = (given_scope or "").strip()
        if not scope:
            raise TokenRefused(f"{name} value must not contain only whitespace")
        if scope in scopes:
            raise TokenRefused(f"{name} value must not contain duplicates")
        scopes.add(scope)


def _texts(claims: Mapping[str, Any], name: str) -> list[str]:
    value = claims.get(name)
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    if not all(isinstance(element, str) for element in value):
        raise TokenRefused(f"the claim {name} is no list of texts")
    return value
