"""The compact form of signed tokens (JWS, RFC 7515), and JSON, as jose4j reads both.

Theory   Base64: characters that do not belong to it are left out, it ends at the first "=", and the characters of both
         alphabets are valid. JSON is UTF-8 without a byte order mark, and bad bytes become U+FFFD. A member may not be
         there twice, in nested objects neither. NaN and Infinity are no JSON. Control characters are valid in texts.
Source   org.jose4j: json.JsonUtil, jws.JsonWebSignature, jwx.JsonWebStructure.checkCrit and base64url @ 0.9.6. This
         is the library of Kafka 4.4. It was run with the cases of the tests.
Differs  A comma or colon too many or too few, zeros before a number and unknown escapes are refused here. So are
         integers of more than 4300 digits, and about a thousand levels of nesting. Half of a surrogate pair in UTF-8
         becomes three U+FFFD.
Errors   ValueError for a text of the wrong form.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

_PARTS: Final = 3
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/_-]")
_KNOWN: Final = "b64"  # all that a `crit` may name


class CompactToken(NamedTuple):
    """A token with a signature that is not verified yet."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signature: bytes
    header_part: bytes
    """This and the next one are signed, with a dot between them."""
    claims_part: bytes


def read_token(token: str) -> CompactToken:
    """Read a token of three parts. Raise ValueError or RecursionError."""
    parts = token.split(".")
    if len(parts) != _PARTS:
        raise ValueError(f"a signed token has {_PARTS} parts, and not {len(parts)}")
    header = read_object(_decoded(parts[0]))
    _check_critical(header.get("crit"))
    is_plain = header.get("b64") is False
    claims = read_object(parts[1].encode(errors="replace") if is_plain else _decoded(parts[1]))
    header_part, claims_part = (part.encode("ascii", "replace") for part in parts[:2])
    return CompactToken(header, claims, _decoded(parts[2]), header_part, claims_part)


def read_object(content: bytes) -> dict[str, Any]:
    """Read an object of JSON. Raise ValueError or RecursionError."""
    text = content.decode(errors="replace")
    decoded = json.loads(text, strict=False, parse_constant=_refuse_constant, object_pairs_hook=_members)
    if not isinstance(decoded, dict):
        raise ValueError("the JSON is no object")
    return decoded


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"{name!a} is there twice")
        members[name] = value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _check_critical(names: object) -> None:
    if names is None:
        return
    if not isinstance(names, list):
        raise ValueError("'crit' is no list")
    if unknown := [name for name in names if name != _KNOWN]:
        raise ValueError(f"'crit' names {unknown[0]!r}")


def _decoded(part: str) -> bytes:
    kept = _NOT_BASE64.sub("", part.partition("=")[0])
    if len(kept) % 4 == 1:
        kept = kept[:-1]
    return urlsafe_b64decode(kept + "=" * (-len(kept) % 4))
