"""Nonces of brokers, and what is signed with them: transcripts have stand-ins.

Theory   The broker's part of a nonce is new in each exchange, and so is its signature. In what is noted `BROKER` stands
         for the nonce, and `RIGHT` for a signature that is right.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.sasl.scram_exchange import CLIENT_NONCE, ScramExchange
from conformance.scenario import SaslFinal
from conformance.targets.wire import Sent
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import LENGTH_BYTES, encode_frame
from fakebroker.protocol.messages import decode_response, encode_response, request_frame

_KEY = 36
_NONCE = re.compile(rb"r=" + CLIENT_NONCE.encode() + rb"[0-9a-z]{18,26},s=")
_STAND_IN = f"r={CLIENT_NONCE}BROKER,s=".encode()


class ScramExchanges:
    """The exchanges of one run of a case, by connection."""

    def __init__(self) -> None:
        self._exchanges: dict[str, ScramExchange] = {}

    def final(self, step: SaslFinal, answer: bytes) -> bytes:
        """Return the frame of the client's final message, after the last answer on the connection."""
        exchange = ScramExchange(step.mechanism, step.user, step.password, extensions=step.extensions)
        self._exchanges[step.conn] = exchange
        first = answer if step.version < 0 else bytes(_message(step.version, answer).auth_bytes)
        token = exchange.final(first)
        if step.spoil:
            before, after = step.spoil
            token = re.sub(before.encode(), after.encode(), token)
        if step.version < 0:
            return encode_frame(token)
        return request_frame(_KEY, step.version, {"auth_bytes": token}, step.correlation_id, "conformance")

    def stand_ins(self, conn: str, sent: Sent | None, frame: bytes) -> bytes:
        """Return a response with stand-ins."""
        if sent is None:
            return self._replaced(conn, frame)
        if sent.api_key != _KEY:
            return frame
        with suppress(ProtocolError):
            message = _message(sent.version, frame)
            token = bytes(message.auth_bytes)
            other = self._replaced(conn, token)
            if other != token:
                number = int.from_bytes(frame[:LENGTH_BYTES], "big", signed=True)
                return encode_response(replace(message, auth_bytes=other), number)[LENGTH_BYTES:]
        return frame

    def _replaced(self, conn: str, token: bytes) -> bytes:
        exchange = self._exchanges.get(conn)
        if exchange is not None and exchange.is_right(token):
            return b"v=RIGHT"
        return _NONCE.sub(_STAND_IN, token)


def _message(version: int, frame: bytes) -> Any:
    return decode_response(_KEY, version, frame)[1]
