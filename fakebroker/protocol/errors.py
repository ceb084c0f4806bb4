"""What can be wrong with bytes."""

from __future__ import annotations

from fakebroker.protocol.error_code import ErrorCode

__all__ = ["InvalidRecordError", "ProtocolError"]


class ProtocolError(Exception):
    """The peer sent nonsense. Its text is one plain sentence for the log; the connection is beyond repair."""


class InvalidRecordError(Exception):
    """A record batch is not what its header says. This is an answer to the client, not the end of the connection."""


class KafkaError(Exception):
    """An answer, not a fault of the connection: `code` goes to the client, the text is its error message."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
