"""The check of unsecured tokens: JSON Web Signatures with the algorithm "none", which any client can make.

Source   clients/.../oauthbearer/internals/unsecured/{OAuthBearerUnsecuredValidatorCallbackHandler,
         OAuthBearerUnsecuredJws,OAuthBearerValidationUtils,OAuthBearerScopeUtils}.java @ 4.4; Jackson's limit of 1000
         levels of nesting, and its forms of text: UTF-8, UTF-16 and UTF-32, with or without a byte order mark.
Units    wall milliseconds; times in a token are seconds.
"""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final, NoReturn

from fakebroker.core.errors import ConfigError
from fakebroker.core.security.sasl.oauth_bearer import OAuthBearerToken, TokenRefused
from fakebroker.core.security.sasl.sasl_server import UnexpectedTokenError

_PARTS: Final = 3
_BASE64_URL: Final = re.compile(r"[A-Za-z0-9_-]*={0,2}")
_SCOPE_ITEM: Final = re.compile(r"[\x23-\x5b\x5d-\x7e\x21]+")
_LEVELS: Final = 1000
_BRACKET: Final = re.compile(r"[\[\]{}]")
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_INSUFFICIENT: Final = "insufficient_scope"
_OPTION: Final = "unsecuredValidator"
_LAST_MS: Final = 2.0**62
_BLANKS: Final = " \t\r\n"


def validate_unsecured(token: str, options: Mapping[str, str], now_ms: int) -> OAuthBearerToken:
    """Check an unsecured token. `options` are those of the login module. Raise TokenRefused."""
    principal_claim = _option(options, "PrincipalClaimName") or "sub"
    scope_claim = _option(options, "ScopeClaimName") or "scope"
    required = _required_scope(_option(options, "RequiredScope"))
    skew_ms = _skew_ms(_option(options, "AllowableClockSkewMs"))
    claims = _claims(token)
    scope = _scope(claims, scope_claim)
    expiry = _number(claims, "exp")
    if expiry is None:
        raise TokenRefused("No expiration time in JWT")
    principal = claims.get(principal_claim)
    if not isinstance(principal, str) or not principal.strip():
        raise TokenRefused(f"No principal name in JWT claim: {principal_claim}")
    issued = _number(claims, "iat")
    if issued is not None and 1000 * issued > now_ms + skew_ms:
        raise TokenRefused(f"The token was issued at {issued} s, which is after {now_ms} ms and {skew_ms} ms of skew")
    if now_ms - skew_ms >= 1000 * expiry:
        raise TokenRefused(f"The token has expired at {expiry} s; it is {now_ms} ms, with {skew_ms} ms of skew")
    if issued is not None and expiry <= issued:
        raise TokenRefused(f"The token expires at {expiry} s, which is not after it was issued, {issued} s")
    if missing := [item for item in required if item not in scope]:
        wanted = f"[{', '.join(required)}]"
        raise TokenRefused(f"The token lacks the scope {missing[0]}", _INSUFFICIENT, wanted)
    return OAuthBearerToken(principal, math.floor(min(expiry * 1000, _LAST_MS) + 0.5))


def _claims(token: str) -> Mapping[str, Any]:
    """Return the claims of a token of the right form. The checks are in Kafka's order."""
    if ".." in token:
        raise TokenRefused("Malformed compact serialization contains '..'")
    parts = token.rstrip(".").split(".") + [""] * token.endswith(".")
    if len(parts) != _PARTS:
        raise TokenRefused("Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded values")
    header, claims = _object(parts[0]), _object(parts[1])
    if "alg" not in header:
        raise UnexpectedTokenError("JWS header must have an Algorithm value")
    if header["alg"] != "none":
        raise TokenRefused("Unsecured JWS must have 'none' for an algorithm")
    if parts[2]:
        raise TokenRefused("Unsecured JWS must not contain a digital signature")
    return claims


def _object(part: str) -> Mapping[str, Any]:
    """Return the fields of a JSON object; none if it is something else. Nested objects are the empty text, as
    Jackson's `asText` has them."""
    text = _decoded(part)
    if not text.strip(_BLANKS):
        return {}
    if _is_too_deep(text):
        raise TokenRefused("malformed JSON")
    try:
        parsed, _ = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text.lstrip(_BLANKS))
    except (ValueError, RecursionError):
        raise TokenRefused("malformed JSON") from None
    return {name: _converted(value) for name, value in parsed.items()} if isinstance(parsed, dict) else {}


def _decoded(part: str) -> str:
    if not _BASE64_URL.fullmatch(part) or len(part.rstrip("=")) % 4 == 1 or ("=" in part and len(part) % 4):
        raise TokenRefused("malformed Base64 URL encoded value")
    try:
        content = urlsafe_b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4))
        return content.decode(json.detect_encoding(content))
    except Base64Error:
        raise TokenRefused("malformed Base64 URL encoded value") from None
    except UnicodeDecodeError:
        raise TokenRefused("malformed JSON") from None


def _is_too_deep(text: str) -> bool:
    """Return True if brackets are nested deeper than Jackson reads. Brackets in texts count too."""
    return max(accumulate(map(_STEPS.__getitem__, _BRACKET.findall(text))), default=0) > _LEVELS


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _converted(value: object) -> object:
    if isinstance(value, list):
        return [_as_text(element) for element in value]
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, dict | list):
        return ""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise TokenRefused(f"The '{name}' claim was not of type Number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _scope(claims: Mapping[str, Any], name: str) -> set[str]:
    value = claims.get(name)
    if isinstance(value, str):
        value = [value]
    elif value is not None and not isinstance(value, list):
        raise TokenRefused(f"The '{name}' claim was not of type List")
    return {item.strip() for item in value or () if item.strip()}


def _option(options: Mapping[str, str], name: str) -> str:
    return options.get(_OPTION + name, "").strip()


def _required_scope(text: str) -> list[str]:
    items = [item for item in text.split(" ") if item]
    for item in items:
        if not _SCOPE_ITEM.fullmatch(item):
            raise ConfigError(f"Invalid scope value: {item}")
    return items


def _skew_ms(text: str) -> int:
    if not text:
        return 0
    if not re.fullmatch(r"[+-]?[0-9]{1,10}", text):
        raise ConfigError(f'For input string: "{text}"')
    if int(text) < 0:
        raise ConfigError(f"Allowable clock skew millis must not be negative: {text}")
    return int(text)
