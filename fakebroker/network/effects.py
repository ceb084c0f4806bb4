"""What the cluster asks its surroundings to do. Values only: the shell performs them, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fakebroker.network.connection import Connection
from fakebroker.protocol.answers.pieces import FrameInPieces, Part


class Send(NamedTuple):
    """Write whole frames to the connection, in order: all answers of one turn of the core. One frame may be several
    parts."""

    connection: Connection
    parts: Sequence[Part]

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)


class SendInPieces(NamedTuple):
    """Write a large frame, as the socket takes it. An `AwaitWrite` follows, and until that is answered nothing else is
    sent."""

    connection: Connection
    frame: FrameInPieces


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
    """Close the connection after what was sent before, or, if it `is_dead`, at once: what is not written yet never is.
    `reason` is one sentence for the log."""

    connection: Connection
    reason: str
    is_dead: bool = False


class Listen(NamedTuple):
    """A broker takes connections from now on."""

    broker_id: int


class StopListening(NamedTuple):
    """A broker takes connections no more: they are refused."""

    broker_id: int


class Reset(NamedTuple):
    """Reset the connection (RST) after what was sent before. A `Close` of it follows."""

    connection: Connection


class InternalError(NamedTuple):
    """A bug of ours. `what` says in the course of what; a client that waits has had its answer."""

    what: str
    error: Exception


class Warn(NamedTuple):
    """Something that the user of the broker should know: one sentence for the log."""

    text: str


Effect = (
    Send | SendInPieces | PauseReading | ResumeReading | AwaitWrite | Close | Reset | Listen | StopListening
    | InternalError | Warn
)  # fmt: skip
