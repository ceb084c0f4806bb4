"""Errors of bytes and of requests."""

from __future__ import annotations

from fakebroker.protocol.error_code import ErrorCode

__all__ = ["InvalidRecordError", "ProtocolError"]


class ProtocolError(Exception):
    """Invalid bytes from a peer. Its text is one plain sentence for the log; the connection has to be closed."""


class InvalidRecordError(Exception):
    """A record batch does not match its header. The client gets an error; the connection goes on."""


class KafkaError(Exception):
    """An error in a response: `code` goes to the client, the text is its error message. The connection goes on."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
