"""A public key of a set (JWKS), and the choice of the one that verifies a token.

Theory   A key fits a token if it has the type of the token's algorithm, and the `kid` of the token's header, if there
         is one. Its `use`, `key_ops` and thumbprints of a certificate must not speak against it, but may be
         missing. If several keys fit, those stay that have no `alg`, or that of the token. If these are several, and
         the algorithm has a curve, those with that curve stay. The first one is taken, right or wrong: no other one is
         tried. The `alg` of a key that fits alone has no effect.
Source   org.jose4j.jwk.{VerificationJwkSelector,SelectorSupport,SimpleJwkFilter,JsonWebKey,PublicJsonWebKey} and
         org.jose4j.jwx.KeyValidationSupport @ 0.9.6, the library of Kafka 4.4; tests/support/key_sets.py has sets on
         which jose4j was run, and tests/conformance/test_keys_of_a_server.py runs Kafka with them.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha1, sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from joserfc.jwk import ECKey, RSAKey

CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
ALGORITHMS: Final = (*CURVES, "RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
KEY_TYPES: Final = ("EC", "RSA")
_MATERIAL: Final = ("kty", "n", "e", "crv", "x", "y")  # to complete the private members of RSA can take minutes
_TEXTS: Final = ("kid", "use", "alg", "x5t", "x5t#S256", "x5u")
_LEAST_BITS: Final = 2048  # of an RSA key


class PublicKey(NamedTuple):
    """A key, and what its set says of it. None stands for what it does not say."""

    key: ECKey | RSAKey
    key_type: str
    key_id: str | None
    use: str | None
    algorithm: str | None
    operations: Sequence[Any] | None
    curve: str | None
    thumbprints: Mapping[str, str | None]

    @property
    def is_long_enough(self) -> bool:
        """Return False for a key of RSA that is too short to verify a token."""
        return self.key_type != "RSA" or self.key.public_key.key_size >= _LEAST_BITS


def read_key(entry: Mapping[str, Any]) -> PublicKey:
    """Return the key of an entry, which is of one of KEY_TYPES. Raise an Exception of any kind for one that cannot be
    used."""
    from joserfc.jwk import import_key

    for name in _TEXTS:
        _require_text(entry, name)
    operations = entry.get("key_ops")
    if not isinstance(operations, list | None):
        raise TypeError(f"'key_ops' is no list: {operations!r}")
    key: Any = import_key({name: entry[name] for name in _MATERIAL if name in entry})
    certificate = _certificate(entry, key)
    return PublicKey(
        key=key,
        key_type=entry["kty"],
        key_id=entry.get("kid"),
        use=entry.get("use"),
        algorithm=entry.get("alg"),
        operations=operations,
        curve=entry["crv"] if entry["kty"] == "EC" else None,
        thumbprints={
            "x5t": _thumbprint(entry.get("x5t"), certificate, sha1),
            "x5t#S256": _thumbprint(entry.get("x5t#S256"), certificate, sha256),
        },
    )


def chosen(keys: Sequence[PublicKey], header: Mapping[str, Any]) -> PublicKey | None:
    """Return the key for a token with this header, and one of ALGORITHMS. Raise TypeError if the header is wrong."""
    for name in ("kid", "x5t", "x5t#S256"):
        _require_text(header, name)
    algorithm = header["alg"]
    curve = CURVES.get(algorithm)
    fitting = [key for key in keys if key.key_type == ("RSA" if curve is None else "EC") and _fits(key, header)]
    if len(fitting) > 1:
        fitting = [key for key in fitting if key.algorithm in (None, algorithm)]
    if len(fitting) > 1 and curve is not None:
        fitting = [key for key in fitting if key.curve == curve]
    return fitting[0] if fitting else None


def _fits(key: PublicKey, header: Mapping[str, Any]) -> bool:
    if header.get("kid") not in (None, key.key_id) or key.use not in (None, "sig"):
        return False
    if key.operations is not None and "verify" not in key.operations:
        return False
    return all(header.get(name) is None or of_key in (None, header[name]) for name, of_key in key.thumbprints.items())


def _require_text(members: Mapping[str, Any], name: str) -> None:
    if not isinstance(members.get(name), str | None):
        raise TypeError(f"{name!r} is no text: {members[name]!r}")


def _certificate(entry: Mapping[str, Any], key: ECKey | RSAKey) -> Certificate | None:
    """Return the first certificate of a key, if there is one. Raise ValueError for one of another key."""
    from cryptography.x509 import load_der_x509_certificate

    if "x5c" not in entry:
        return None
    certificates = [load_der_x509_certificate(b64decode(text)) for text in entry["x5c"]]
    if certificates and certificates[0].public_key() != key.public_key:
        raise ValueError("the first certificate of 'x5c' has another key")
    return certificates[0] if certificates else None


def _thumbprint(given: str | None, certificate: Certificate | None, digest: Any) -> str | None:
    from cryptography.hazmat.primitives.serialization import Encoding

    if given is not None or certificate is None:
        return given
    return urlsafe_b64encode(digest(certificate.public_bytes(Encoding.DER)).digest()).decode().rstrip("=")
