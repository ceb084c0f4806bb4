"""The client's side of a SCRAM exchange (RFC 5802), for valid and invalid messages.

It shares no code with the broker's side (core/security/sasl/), so that tests compare two implementations.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
CLIENT_NONCE = "client-nonce"


class ScramExchange:
    """One exchange. `user` and `extensions` go into the message unchanged: the caller escapes them, or does not."""

    def __init__(self, mechanism: str, user: str, password: str, *, authzid: str = "", extensions: str = "") -> None:
        self._hash = HASHES[mechanism]
        self._password = password
        self._first_bare = f"n={user},r={CLIENT_NONCE}{extensions}"
        self._gs2_header = f"n,a={authzid}," if authzid else "n,,"
        self._auth_message = ""
        self._salted_password = b""

    def first(self) -> bytes:
        return (self._gs2_header + self._first_bare).encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the client's final message, the response to the broker's first one."""
        fields = dict(pair.split("=", 1) for pair in server_first.decode().split(","))
        salt, iterations = b64decode(fields["s"]), int(fields["i"])
        self._salted_password = hashlib.pbkdf2_hmac(self._hash, self._password.encode(), salt, iterations)
        # Base 64 of "n,,": also with an authzid, as Kafka does not compare it with the header.
        without_proof = f"c=biws,r={fields['r']}"
        self._auth_message = f"{self._first_bare},{server_first.decode()},{without_proof}"
        client_key = self._hmac(self._salted_password, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), self._auth_message.encode())
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def is_right(self, server_final: bytes) -> bool:
        """Return True if the broker's final message is signed with the right server key."""
        signature = self._hmac(self._hmac(self._salted_password, b"Server Key"), self._auth_message.encode())
        return server_final == f"v={b64encode(signature).decode()}".encode()

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)
