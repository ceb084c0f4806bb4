"""`python -m conformance.sasl.sign_tokens` makes the signed tokens of cases, and the file of public keys: `signed/`.

Theory   A case is the same bytes on every run, and a signature is not. So tokens are signed once and kept, and the
         private keys are thrown away. To add a token, make all of them anew and ask Kafka again.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "signed"
TOKENS, KEYS = FOLDER / "tokens.json", FOLDER / "jwks.json"
AUDIENCE, ISSUER = "kafka", "https://issuer.example"
_ISSUED_S, _END_S, _LATER_S = 1_700_000_000, 4_000_000_000, 3_900_000_000
_CLAIMS: dict[str, Any] = {"sub": "dave", "iss": ISSUER, "aud": AUDIENCE, "iat": _ISSUED_S, "exp": _END_S}

# By name: claims that are other than those above; None leaves one out.
CLAIMS: dict[str, dict[str, Any]] = {
    "right": {},
    "audience-list": {"aud": ["other", AUDIENCE]},
    "second-audience": {"aud": "second"},
    "wrong-audience": {"aud": "other"},
    "no-audience": {"aud": None},
    "audience-number": {"aud": 5},
    "audience-list-number": {"aud": [AUDIENCE, 5]},
    "audience-empty": {"aud": []},
    "wrong-issuer": {"iss": ISSUER + "/"},
    "no-issuer": {"iss": None},
    "issuer-list": {"iss": [ISSUER]},
    "expired": {"exp": _ISSUED_S + 1},
    "no-expiry": {"exp": None},
    "expiry-text": {"exp": str(_END_S)},
    "expiry-fraction": {"exp": _END_S + 0.5},
    "expiry-huge": {"exp": 1 << 60},
    "expires-before-issued": {"iat": _END_S + 1},
    "issued-later": {"iat": _LATER_S},
    "no-issued": {"iat": None},
    "issued-text": {"iat": "1"},
    "issued-negative": {"iat": -1},
    "not-before-past": {"nbf": 1},
    "not-before-later": {"nbf": _LATER_S},
    "not-before-text": {"nbf": "1"},
    "no-sub": {"sub": None},
    "sub-blank": {"sub": " "},
    "sub-with-blanks": {"sub": " dave "},
    "sub-number": {"sub": 5},
    "sub-list": {"sub": ["dave"]},
    "scope": {"scope": "a b"},
    "scope-list": {"scope": ["a", "b"]},
    "scope-empty": {"scope": ""},
    "scope-blank": {"scope": ["a", " "]},
    "scope-twice": {"scope": ["a", "a"]},
    "scope-twice-with-blanks": {"scope": ["a", " a"]},
    "scope-number": {"scope": 5},
    "scope-list-number": {"scope": ["a", 5]},
    "scope-object": {"scope": {"a": 1}},
    "scope-list-null": {"scope": ["a", None]},
    "scope-number-after-twice": {"scope": ["a", "a", 5]},
    "scope-and-sub-number": {"scope": [5], "sub": 5},
    "scope-number-and-sub-blank": {"scope": [5], "sub": ""},
    "id-number": {"jti": 5},
    "expiry-largest": {"exp": (1 << 63) - 1},
    "expiry-larger": {"exp": 1 << 64},
    "expiry-of-many-bits": {"exp": (1 << 64) + _END_S},
    "expiry-overflows-unseen": {"exp": 30_000_000_000_000_000},
    "expiry-fraction-huge": {"exp": 1e300},
    "issued-huge-negative": {"iat": -(1 << 60)},
    "expiry-true": {"exp": True},
    "own-claims": {"sub": None, "name": "eve", "roles": ["a"], "scope": [5]},
    "own-claims-and-sub-number": {"sub": 5, "name": "eve"},
    "own-claims-and-scope": {"name": "eve", "roles": 5, "iss": None, "aud": None},
    "own-claims-and-roles-number": {"name": "eve", "roles": [5]},
    "own-claims-and-audience-number": {"name": "eve", "aud": 5},
    "own-claims-and-issuer-number": {"name": "eve", "iss": 5},
}


def main() -> None:
    from joserfc import jws
    from joserfc.jwk import ECKey, RSAKey

    ec, other_ec = (ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"}) for _ in range(2))
    rsa = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
    encrypts = ECKey.generate_key("P-256", {"kid": "enc"})
    algorithms = ["ES256", "RS256", "RS384", "PS256"]

    def signed(claims: dict[str, Any], key: Any = ec, alg: str = "ES256", **header: Any) -> str:
        protected = {"alg": alg, "kid": key.kid} | header
        said = {name: value for name, value in protected.items() if value is not None}
        payload = json.dumps({name: value for name, value in (_CLAIMS | claims).items() if value is not None})
        return jws.serialize_compact(said, payload.encode(), key, algorithms)

    def unsigned(header: Mapping[str, Any], signature: bytes = b"") -> str:
        return f"{_text(json.dumps(header).encode())}.{_text(json.dumps(_CLAIMS).encode())}.{_text(signature)}"

    def by_hmac(secret: bytes) -> str:
        content = unsigned({"alg": "HS256", "kid": "rsa"}).rpartition(".")[0]
        return f"{content}.{_text(hmac.digest(secret, content.encode(), 'sha256'))}"

    right = signed({})
    head, body, signature = right.split(".")
    tokens = {name: signed(claims) for name, claims in CLAIMS.items()} | {
        "right-rs256": signed({}, rsa, "RS256"),
        "right-rs384": signed({}, rsa, "RS384"),
        "right-ps256": signed({}, rsa, "PS256"),
        "no-kid": signed({}, kid=None),
        "no-kid-rs256": signed({}, rsa, "RS256", kid=None),
        "no-kid-wrong-key": signed({}, other_ec, kid=None),
        "typ": signed({}, typ="at+jwt"),
        "unknown-kid": signed({}, kid="other"),
        "kid-of-another-type": signed({}, kid="rsa"),
        "wrong-key": signed({}, other_ec),
        "key-for-encryption": signed({}, encrypts),
        "key-in-the-header": signed({}, other_ec, kid=None, jwk=other_ec.as_dict(private=False)),
        "alg-none": unsigned({"alg": "none"}),
        "alg-none-signed": unsigned({"alg": "none", "kid": "ec"}, b"AAAA"),
        "hs256-pem": by_hmac(rsa.as_pem(private=False)),
        "hs256-der": by_hmac(rsa.as_der(private=False)),
        "other-claims": f"{head}.{signed({'sub': 'eve'}).split('.')[1]}.{signature}",
        "other-header": f"{_text(json.dumps({'alg': 'ES256', 'kid': 'ec', 'typ': 'JWT'}).encode())}.{body}.{signature}",
        "signature-cut": right[:-4],
        "signature-of-der": f"{head}.{body}.{_text(_der(urlsafe_b64decode(signature + '==')))}",
        "no-signature": f"{head}.{body}.",
        "two-parts": f"{head}.{body}",
        "four-parts": f"{right}.x",
        "no-json": f"{head}.{_text(b'no json')}.{signature}",
        "no-object": jws.serialize_compact({"alg": "ES256", "kid": "ec"}, b"[1]", ec, algorithms),
    }
    FOLDER.mkdir(exist_ok=True)
    keys = [key.as_dict(private=False) for key in (rsa, ec)] + [encrypts.as_dict(private=False) | {"use": "enc"}]
    KEYS.write_text(json.dumps({"keys": keys}, indent=1) + "\n")
    TOKENS.write_text(json.dumps(tokens, indent=1) + "\n")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _der(signature: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    half = len(signature) // 2
    return encode_dss_signature(int.from_bytes(signature[:half]), int.from_bytes(signature[half:]))


if __name__ == "__main__":
    main()
