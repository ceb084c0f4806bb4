"""Effects: requests of the cluster to its surroundings. They are plain values; the shell performs them in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fakebroker.network.connection import Connection
from fakebroker.protocol.answers.pieces import FrameInPieces, Part


class Send(NamedTuple):
    """Write whole frames to the connection, in order: all responses of one turn of the core. One frame may be several
    parts."""

    connection: Connection
    parts: Sequence[Part]

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)


class SendInPieces(NamedTuple):
    """Write a large frame, as the socket takes it. An `AwaitWrite` follows, and nothing else is sent until that is
    done."""

    connection: Connection
    frame: FrameInPieces


class PauseReading(NamedTuple):
    """Stop reading the socket: the connection has a current request (Kafka mutes the channel)."""

    connection: Connection


class ResumeReading(NamedTuple):
    """Read again: the response was sent and no complete request is left in the buffer."""

    connection: Connection


class AwaitWrite(NamedTuple):
    """Call `Cluster.set_write_blocked(connection, False)` when all that was sent before is written, possibly at
    once."""

    connection: Connection


class Close(NamedTuple):
    """Close the connection after what was sent before, or, if it `is_dead`, at once, without unwritten bytes. `reason`
    is one sentence for the log."""

    connection: Connection
    reason: str
    is_dead: bool = False


class Listen(NamedTuple):
    """Accept connections to a broker from now on."""

    broker_id: int


class StopListening(NamedTuple):
    """Refuse connections to a broker from now on."""

    broker_id: int


class ChangeListeners(NamedTuple):
    """Open and close ports, so that the broker has its `added_listeners` of now (broker_registry.py)."""

    broker_id: int


class Reset(NamedTuple):
    """Reset the connection (RST) after what was sent before. A `Close` of it follows."""

    connection: Connection


class InternalError(NamedTuple):
    """A bug of ours. `what` names the code that failed; a client with a request has got its response."""

    what: str
    error: Exception


class Warn(NamedTuple):
    """A warning for the user of the broker: one sentence for the log."""

    text: str


Effect = (
    Send | SendInPieces | PauseReading | ResumeReading | AwaitWrite | Close | Reset | Listen | StopListening
    | ChangeListeners | InternalError | Warn
)  # fmt: skip
