"""What the core asks its surroundings to do. Values only: the shell performs them, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fakebroker.core.connection import Connection


class Send(NamedTuple):
    """Write `data` (whole frames) to the connection."""

    connection: Connection
    data: bytes


class PauseReading(NamedTuple):
    """Stop reading the socket: the connection has a request in hand (Kafka mutes the channel)."""

    connection: Connection


class ResumeReading(NamedTuple):
    """Read again: the last request was answered and nothing complete is left in the buffer."""

    connection: Connection


class AwaitWrite(NamedTuple):
    """Tell `Cluster.set_write_blocked(connection, False)` when all that was sent before is written, maybe at once."""

    connection: Connection


class Close(NamedTuple):
    """Close the connection after what was sent before. `reason` is one sentence for the log."""

    connection: Connection
    reason: str


class InternalError(NamedTuple):
    """A bug of ours. `what` says in the course of what; a client that waits has had its answer."""

    what: str
    error: Exception


Effect = Send | PauseReading | ResumeReading | AwaitWrite | Close | InternalError
