"""Signatures of tokens, and the public keys that verify them: of this cluster, of a file, or of a server.

Theory   `sasl.oauthbearer.jwks.endpoint.url` may name a file with a set of keys (RFC 7517): `file:///keys.json`. It is
         read when the listeners open, as in Kafka. Keys of a server are in http_keys.py, and public_keys.py chooses the
         key of a token. Only algorithms with a public key are accepted: an HMAC with the public key as its secret is no
         signature, nor is `none`. Other members of a token's header have no effect, as in jose4j, except `crit`.
         A key that cannot be used is left out, even if no other is left, as jose4j does it; the log has a warning.
Source   clients/.../security/oauthbearer/internals/secured/JwksFileVerificationKeyResolver.java @ 4.4;
         jose4j's JsonWebKeySet (run with sets of such keys) @ 0.9.6.
Differs  Keys of the types oct and OKP are left out, too. jose4j takes them, for HS256 to HS512 and EdDSA.
Errors   ConfigError for a file that cannot be used, TokenRefused for a token.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from fakebroker.core.errors import ConfigError
from fakebroker.core.security.sasl.oauth_bearer import TokenRefused
from fakebroker.core.security.sasl.signed_jwt import Verify
from fakebroker.extras import not_installed
from fakebroker.server.oauth.jose import read_object, read_token
from fakebroker.server.oauth.public_keys import ALGORITHMS, KEY_TYPES, PublicKey, chosen, read_key
from fakebroker.server.security.setting_files import read_setting_file

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey

log = logging.getLogger("fakebroker")

SETTING: Final = "sasl.oauthbearer.jwks.endpoint.url"
EXTRA: Final = "security"
_OF_SERVERS: Final = ("http", "https")
_NESTED: Final = ("jwt", "application/jwt")  # the types of the content of a token in a token
_TOLD: Final = 3  # keys that cannot be used, in the log
_TOLD_CHARACTERS: Final = 80


def verified_claims(
    token: str, find_key: Callable[[Mapping[str, Any]], ECKey | RSAKey], algorithms: Sequence[str]
) -> Mapping[str, Any]:
    """Return the claims of a token with a valid signature. `find_key` gets its header. Raise TokenRefused."""
    from joserfc import jws
    from joserfc.errors import JoseError

    registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)
    try:
        read = read_token(token)
        algorithm = registry.get_alg(read.header["alg"])
        key = find_key(read.header)
        algorithm.check_key(key)
        if not algorithm.verify(b"%b.%b" % (read.header_part, read.claims_part), read.signature, key):
            raise ValueError("its signature is not valid")
    except (JoseError, ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise TokenRefused(f"Could not validate the access token: {type(error).__name__} {error}") from None
    return read.claims


def verifier_of(url: str) -> Verify:
    """Return the check of signatures with the keys of a file. Raise ConfigError, and ModuleNotFoundError without the
    extra."""
    path = _file(url)
    keys, left_out = parse_keys(read_setting_file(SETTING, path), path)
    if left_out:
        log.warning(left_out)
    return lambda token: verify_with(keys, token)


def verify_with(
    keys: Sequence[PublicKey], token: str, on_missing: Callable[[object], None] | None = None
) -> Mapping[str, Any]:
    """Return the claims of a token that one of the keys has signed. Raise TokenRefused. `on_missing` gets the id of a
    key that is not among them."""

    def find_key(header: Mapping[str, Any]) -> ECKey | RSAKey:
        if (header.get("cty") or "").lower() in _NESTED:
            raise ValueError("a token in a token is not read")
        public_key = chosen(keys, header)
        if public_key is None:
            if on_missing is not None:
                on_missing(header.get("kid"))
            raise ValueError(f"no key with the id {header.get('kid')!r} is for {header['alg']}")
        if not public_key.is_long_enough:
            raise ValueError(f"the key with the id {public_key.key_id!r} is too short")
        return public_key.key

    return verified_claims(token, find_key, ALGORITHMS)


def is_of_server(url: str) -> bool:
    """Return True if the URL names a server, and not a file. The case of its scheme has no meaning."""
    return url.partition(":")[0].lower() in _OF_SERVERS


def _file(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return unquote(parts.path)
    except ValueError:  # half of the brackets of an address
        pass
    raise ConfigError(
        f"{SETTING}={url}: keys are read from a file, as in file:///keys.json, or at the start from a "
        "server, as in https://localhost/keys"
    )


def parse_keys(content: bytes, where: str) -> tuple[list[PublicKey], str]:
    """Return the keys of a set, and a sentence about those that cannot be used, if any. Raise ConfigError, and
    ModuleNotFoundError without the extra."""
    try:
        import joserfc.jwk  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            not_installed("a check of signed tokens", error.name or "joserfc", EXTRA), name="joserfc"
        ) from None
    keys: list[PublicKey] = []
    wrong: list[str] = []
    try:
        for number, entry in enumerate(_entries(read_object(content))):
            if entry.get("kty") not in KEY_TYPES:
                wrong.append(f"keys[{number}] is of the type {_short(entry.get('kty'))}, and not EC or RSA")
                continue
            try:
                keys.append(read_key(entry))
            except Exception as error:
                wrong.append(f"keys[{number}] {type(error).__name__} {_short(str(error))}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{SETTING}: {where} is no set of keys (JWKS): {type(error).__name__} {error}") from None
    if not wrong:
        return keys, ""
    more = f", and {len(wrong) - _TOLD} more" if len(wrong) > _TOLD else ""
    return keys, f"{SETTING}: {where} has keys that cannot be used: {', '.join(wrong[:_TOLD])}{more}"


def _entries(key_set: Any) -> list[dict[str, Any]]:
    """Return the entries of a set. Raise TypeError or KeyError for what is no set."""
    entries = [{} if entry is None else entry for entry in key_set["keys"]]  # for jose4j null is a key, and unusable
    if not isinstance(key_set["keys"], list) or not all(isinstance(entry, dict) for entry in entries):
        raise TypeError("a set has a list of objects as its keys")
    return entries


def _short(value: object) -> str:
    """Return a value of a set for a line of the log."""
    text = ascii(value)
    return text if len(text) <= _TOLD_CHARACTERS else f"{text[:_TOLD_CHARACTERS]}..."
