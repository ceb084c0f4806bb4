"""The client's side of TLS 1.3 behind the handshake, by hand: Python's `ssl` cannot change keys.

Source   RFC 8446, 4.6.3 (KeyUpdate), 5.2 (records), 7.1 to 7.3 (keys). The secret is in the file of
         `SSLContext.keylog_filename`.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

CIPHER = "TLS_AES_256_GCM_SHA384"
_HANDSHAKE, APPLICATION_DATA = 22, 23
_KEY_UPDATE = b"\x18\0\0\x01\0"  # which asks for no update of the broker's key


class WritingKeys:
    """The keys by which a client encrypts, from its first record behind the handshake on."""

    def __init__(self, keylog: Path) -> None:
        lines = [line.split() for line in keylog.read_text().splitlines()]
        (secret,) = [line[2] for line in lines if line[0] == "CLIENT_TRAFFIC_SECRET_0"]
        self._use(bytes.fromhex(secret))

    def _use(self, secret: bytes) -> None:
        self._secret = secret
        self._aead = AESGCM(_expanded(secret, b"key", 32))
        self._iv = int.from_bytes(_expanded(secret, b"iv", 12), "big")
        self._records = 0

    def record(self, content: bytes, kind: int = APPLICATION_DATA) -> bytes:
        """Return the next record."""
        header = b"\x17\x03\x03" + (len(content) + 17).to_bytes(2, "big")
        nonce = (self._iv ^ self._records).to_bytes(12, "big")
        self._records += 1
        return header + self._aead.encrypt(nonce, content + bytes((kind,)), header)

    def key_update(self) -> bytes:
        """Return the record that changes the key, and use the next key from now on."""
        record = self.record(_KEY_UPDATE, _HANDSHAKE)
        self._use(_expanded(self._secret, b"traffic upd", 48))
        return record


def _expanded(secret: bytes, label: bytes, size: int) -> bytes:
    info = size.to_bytes(2, "big") + bytes((6 + len(label),)) + b"tls13 " + label + b"\0"
    return HKDFExpand(SHA384(), size, info).derive(secret)
