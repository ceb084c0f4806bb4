"""What can be wrong with bytes."""

from __future__ import annotations

__all__ = ["InvalidRecordError", "ProtocolError"]


class ProtocolError(Exception):
    """The peer sent nonsense. Its text is one plain sentence for the log; the connection is beyond repair."""


class InvalidRecordError(Exception):
    """A record batch is not what its header says. This is an answer to the client, not the end of the connection."""
