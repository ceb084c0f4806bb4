"""The functions of SCRAM (RFC 5802) over the hash of a mechanism.

Source   clients/.../security/scram/internals/{ScramFormatter,ScramMechanism}.java @ 4.4.
"""

from __future__ import annotations

import hashlib
import hmac
from random import Random
from typing import Final, NamedTuple

from fakebroker.protocol.slices import Slices

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16_384
_ITERATIONS_OF_A_SLICE: Final = 200
_NONCE_BITS: Final = 130
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"  # of numbers with base 36


class ScramMechanism(NamedTuple):
    """A mechanism: its number in requests, its name, and the name of its hash."""

    number: int
    name: str
    hash_name: str


SHA_256: Final = ScramMechanism(1, "SCRAM-SHA-256", "sha256")
SHA_512: Final = ScramMechanism(2, "SCRAM-SHA-512", "sha512")
MECHANISMS: Final = {mechanism.number: mechanism for mechanism in (SHA_256, SHA_512)}


class ScramKeys(NamedTuple):
    """The keys that the broker keeps in place of a password: Kafka's ScramCredential. They let no client log in."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


def keys_of(mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int) -> ScramKeys:
    """Return the keys of a salted password."""
    client_key = hmac_of(mechanism, salted_password, b"Client Key")
    server_key = hmac_of(mechanism, salted_password, b"Server Key")
    return ScramKeys(iterations, salt, hash_of(mechanism, client_key), server_key)


def salted_in_slices(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> Slices[bytes]:
    """Return the same as `salted`, in slices. All slices together take longer: `salted` is one call of OpenSSL."""
    key, hash_name = password.encode(), mechanism.hash_name
    block = hmac.digest(key, salt + b"\0\0\0\1", hash_name)
    salted = int.from_bytes(block, "big")
    for iteration in range(1, iterations):
        block = hmac.digest(key, block, hash_name)
        salted ^= int.from_bytes(block, "big")
        if iteration % _ITERATIONS_OF_A_SLICE == 0:
            yield
    return salted.to_bytes(len(block), "big")


def salted(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Return the salted password: Hi() of RFC 5802, without its normalization, as in Kafka."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def hmac_of(mechanism: ScramMechanism, key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, mechanism.hash_name)


def hash_of(mechanism: ScramMechanism, data: bytes) -> bytes:
    return hashlib.new(mechanism.hash_name, data).digest()


def xor(first: bytes, second: bytes) -> bytes:
    """Return the exclusive or of two byte strings. Raise ValueError if their lengths differ."""
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def random_text(random: Random) -> str:
    """Return 130 random bits as a number with base 36: a nonce, or the salt of a delegation token."""
    number, digits = random.getrandbits(_NONCE_BITS), ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits or "0"


def username_of(sasl_name: str) -> str:
    """Return the name with "=2C" and "=3D" replaced by comma and equals sign. Raise ValueError for another escape."""
    username = sasl_name.replace("=2C", ",")
    if "=" in username.replace("=3D", ""):
        raise ValueError(f"Invalid username: {sasl_name}")
    return username.replace("=3D", "=")
