"""Ids and HMACs of delegation tokens: each cluster makes its own, a case and a transcript have stand-ins.

Theory   `token_id(1)` and `token_hmac(1)` stand for the first token that a response to CreateDelegationToken tells, in
         what is sent behind it and in transcripts. They have the lengths of real ones.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from conformance.targets.wire import Sent
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_response

_CREATE = 38
_ID_LENGTH, _HMAC_LENGTH = 22, 64


def token_id(number: int) -> str:
    """Stand for the id of the `number`th token, from 1 on."""
    return f"token-{number:0{_ID_LENGTH - 6}d}"


def token_hmac(number: int) -> bytes:
    """Stand for the HMAC of the `number`th token, from 1 on."""
    return f"HMAC of token {number}".encode().ljust(_HMAC_LENGTH, b".")


class TokenIds:
    """The tokens of one run of a case, and their stand-ins."""

    def __init__(self) -> None:
        self._stand_ins: dict[bytes, bytes] = {}  # by the real ids and HMACs

    def real(self, data: bytes) -> bytes:
        """Return the bytes to send, with what this cluster gave."""
        for real, stand_in in self._stand_ins.items():
            data = data.replace(stand_in, real)
        return data

    def stand_ins(self, sent: Sent | None, frame: bytes) -> bytes:
        """Return a response with stand-ins; a new token is learned."""
        if sent is not None and sent.api_key == _CREATE:
            with suppress(ProtocolError):
                self._learn(sent.version, frame)
        for real, stand_in in self._stand_ins.items():
            frame = frame.replace(real, stand_in)
        return frame

    def _learn(self, version: int, frame: bytes) -> None:
        answer: Any = decode_response(_CREATE, version, frame)[1]
        real_id, hmac = answer.token_id.encode(), bytes(answer.hmac)
        if (len(real_id), len(hmac)) == (_ID_LENGTH, _HMAC_LENGTH):
            number = len(self._stand_ins) // 2 + 1
            self._stand_ins |= {real_id: token_id(number).encode(), hmac: token_hmac(number)}
