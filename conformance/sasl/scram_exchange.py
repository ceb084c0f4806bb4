"""The client's side of a SCRAM exchange (RFC 5802), with messages as a test wants them."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
CLIENT_NONCE = "client-nonce"


class ScramExchange:
    """One exchange. `user` and `extensions` are as they stand in the message."""

    def __init__(self, mechanism: str, user: str, password: str, *, authzid: str = "", extensions: str = "") -> None:
        self._hash = HASHES[mechanism]
        self._password = password
        self._bare = f"n={user},r={CLIENT_NONCE}{extensions}"
        self._header = f"n,a={authzid}," if authzid else "n,,"
        self._signed = ""
        self._salted = b""

    def first(self) -> bytes:
        return (self._header + self._bare).encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the answer to the broker's first message."""
        fields = dict(pair.split("=", 1) for pair in server_first.decode().split(","))
        salt, iterations = b64decode(fields["s"]), int(fields["i"])
        self._salted = hashlib.pbkdf2_hmac(self._hash, self._password.encode(), salt, iterations)
        without_proof = f"c=biws,r={fields['r']}"
        self._signed = f"{self._bare},{server_first.decode()},{without_proof}"
        client_key = self._hmac(self._salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), self._signed.encode())
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def is_right(self, server_final: bytes) -> bool:
        """Return True if the broker has shown that it has the server key."""
        signature = self._hmac(self._hmac(self._salted, b"Server Key"), self._signed.encode())
        return server_final == f"v={b64encode(signature).decode()}".encode()

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)
