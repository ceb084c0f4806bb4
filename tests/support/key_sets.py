"""Sets of public keys with tokens: what jose4j 0.9.6, the library of Kafka 4.4, makes of them.

Source   jose4j's JwtConsumer with its VerificationJwkSelector was run with each row of CHOICES. Kafka 4.4 judges the
         same tokens in tests/conformance/test_keys_of_a_server.py.
"""

from __future__ import annotations

import json
import warnings
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

OURS, OTHER = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
WIDER = ECKey.generate_key("P-384")
RSA, OTHER_RSA = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
with warnings.catch_warnings(action="ignore"):
    SHORT = RSAKey.generate_key(1024)

CLAIMS = {"sub": "alice"}
ACCEPTED, REFUSED, MISSING = "accepted", "the wrong key was taken", "no key fits"


def certificate_of(key: ECKey) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "keys")])
    begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2126, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key)
    builder = builder.serial_number(1).not_valid_before(begin).not_valid_after(end)
    assert key.private_key is not None
    return builder.sign(key.private_key, SHA256()).public_bytes(Encoding.DER)


def thumbprint(certificate: bytes, digest: Any) -> str:
    return urlsafe_b64encode(digest(certificate).digest()).decode().rstrip("=")


CERTIFICATE = certificate_of(OURS)
X5C = [b64encode(CERTIFICATE).decode()]
X5T, X5T_S256 = thumbprint(CERTIFICATE, sha1), thumbprint(CERTIFICATE, sha256)


def entry(key: Any, **members: Any) -> dict[str, Any]:
    return dict(key.as_dict(private=False)) | {name.replace("_S256", "#S256"): value for name, value in members.items()}


def signed(key: Any, header: Mapping[str, Any], claims: Mapping[str, Any] = CLAIMS) -> str:
    """Return a token with any header."""
    parts = [json.dumps(part).encode() for part in (header, claims)]
    signed = b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = jws.JWSRegistry.algorithms[header["alg"]].sign(signed, key)
    return b".".join((signed, urlsafe_b64encode(signature).rstrip(b"="))).decode()


# A set, the key of the token, the members of its header, and what becomes of it.
CHOICES: dict[str, tuple[list[dict[str, Any]], Any, dict[str, Any], str]] = {
    "the first of two": ([entry(OURS), entry(OTHER)], OURS, {}, ACCEPTED),
    "the second is not tried": ([entry(OTHER), entry(OURS)], OURS, {}, REFUSED),
    "the second of a kid is not tried": ([entry(OTHER, kid="a"), entry(OURS, kid="a")], OURS, {"kid": "a"}, REFUSED),
    "kid": ([entry(OTHER, kid="b"), entry(OURS, kid="a")], OURS, {"kid": "a"}, ACCEPTED),
    "kid of another": ([entry(OURS, kid="b")], OURS, {"kid": "a"}, MISSING),
    "a key without kid": ([entry(OURS)], OURS, {"kid": "a"}, MISSING),
    "kid null in the header": ([entry(OURS, kid="b")], OURS, {"kid": None}, ACCEPTED),
    "kid that is no text": ([entry(OURS)], OURS, {"kid": 5}, REFUSED),
    "alg of one of two": ([entry(OTHER, alg="ES384"), entry(OURS, alg="ES256")], OURS, {}, ACCEPTED),
    "alg of one, none of the other": ([entry(OTHER, alg="x"), entry(OURS)], OURS, {}, ACCEPTED),
    "a key without alg in front": ([entry(OTHER), entry(OURS, alg="ES256")], OURS, {}, REFUSED),
    "alg of no key of two": ([entry(OTHER, alg="x"), entry(OURS, alg="ES384")], OURS, {}, MISSING),
    "another alg of the only key": ([entry(OURS, alg="ES384")], OURS, {}, ACCEPTED),
    "another alg of the only key of RSA": ([entry(RSA, alg="RS512")], RSA, {"alg": "PS256"}, ACCEPTED),
    "alg of two keys of RSA": ([entry(OTHER_RSA, alg="RS512"), entry(RSA, alg="RS256")], RSA, {}, ACCEPTED),
    "alg null": ([entry(OTHER, alg="x"), entry(OURS, alg=None)], OURS, {}, ACCEPTED),
    "use": ([entry(OTHER, use="enc"), entry(OURS, use="sig")], OURS, {}, ACCEPTED),
    "use of the only key": ([entry(OURS, use="enc")], OURS, {}, MISSING),
    "an unknown use": ([entry(OURS, use="other")], OURS, {}, MISSING),
    "use null": ([entry(OURS, use=None)], OURS, {}, ACCEPTED),
    "key_ops": ([entry(OTHER, key_ops=["sign"]), entry(OURS, key_ops=["verify"])], OURS, {}, ACCEPTED),
    "key_ops of the only key": ([entry(OURS, key_ops=["sign"])], OURS, {}, MISSING),
    "no key_ops": ([entry(OURS, key_ops=[])], OURS, {}, MISSING),
    "unknown key_ops": ([entry(OURS, key_ops=["other", 5, "verify"])], OURS, {}, ACCEPTED),
    "key_ops that use contradicts": ([entry(OURS, use="sig", key_ops=["verify", "encrypt"])], OURS, {}, ACCEPTED),
    "key_ops null": ([entry(OURS, key_ops=None)], OURS, {}, ACCEPTED),
    "key_ops that are no list": ([entry(OTHER, key_ops="verify"), entry(OURS)], OURS, {}, ACCEPTED),
    "curve of two": ([entry(WIDER), entry(OURS)], OURS, {}, ACCEPTED),
    "curve of the only key": ([entry(WIDER)], OURS, {}, REFUSED),
    "alg is looked at before the curve": ([entry(WIDER, alg="ES256"), entry(OURS, alg="x")], OURS, {}, REFUSED),
    "curve of none of two": ([entry(WIDER), entry(WIDER)], OURS, {}, MISSING),
    "another type": ([entry(RSA), entry(OURS)], OURS, {}, ACCEPTED),
    "a key of RSA that is too short": ([entry(SHORT)], SHORT, {}, REFUSED),
    "x5t": ([entry(OTHER, x5t="x"), entry(OURS, x5t=X5T)], OURS, {"x5t": X5T}, ACCEPTED),
    "x5t of a certificate": ([entry(OTHER, x5t="x"), entry(OURS, x5c=X5C)], OURS, {"x5t": X5T}, ACCEPTED),
    "x5t#S256 of a certificate": ([entry(OURS, x5c=X5C)], OURS, {"x5t#S256": X5T_S256}, ACCEPTED),
    "x5t#S256 of another certificate": ([entry(OURS, x5c=X5C)], OURS, {"x5t#S256": X5T}, MISSING),
    "x5t of another": ([entry(OURS, x5t="x")], OURS, {"x5t": X5T}, MISSING),
    "x5t of a key without": ([entry(OURS)], OURS, {"x5t": X5T}, ACCEPTED),
    "a certificate of another key": ([entry(OTHER, x5c=X5C), entry(OURS)], OURS, {}, ACCEPTED),
    "x5c that is no certificate": ([entry(OTHER, x5c=["AAAA"]), entry(OURS)], OURS, {}, ACCEPTED),
    "x5c null": ([entry(OTHER, x5c=None), entry(OURS)], OURS, {}, ACCEPTED),
    "no certificates": ([entry(OURS, x5c=[])], OURS, {"x5t": X5T}, ACCEPTED),
    "a member that is no text": ([entry(OTHER, alg=5), entry(OTHER, x5u=5), entry(OURS)], OURS, {}, ACCEPTED),
    "other members of the header": (
        [entry(OURS)],
        OURS,
        {"nonce": 5, "jku": 5, "typ": None, "x5c": ["y" * 9_999]},
        ACCEPTED,
    ),
    "crit": ([entry(OURS)], OURS, {"crit": ["x"], "x": 1}, REFUSED),
    "crit of a known member": ([entry(OURS, kid="a")], OURS, {"crit": ["kid"], "kid": "a"}, REFUSED),
    "a token in a token": ([entry(OURS)], OURS, {"cty": "JWT"}, REFUSED),
    "cty that is no text": ([entry(OURS)], OURS, {"cty": 5}, REFUSED),
}


def set_and_token(name: str, claims: Mapping[str, Any] = CLAIMS) -> tuple[list[dict[str, Any]], str, str]:
    """Return the keys of a set, a token, and what becomes of it."""
    keys, key, header, result = CHOICES[name]
    return keys, signed(key, {"alg": "ES256" if isinstance(key, ECKey) else "RS256"} | header, claims), result
