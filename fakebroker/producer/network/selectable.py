"""The connections themselves, as the network client sees them: what it wants done, and what has happened.

Theory   The client tells it to connect, send and close, and it does so in its own time. What happened since the last
         poll is in its lists until they are taken: requests whose last byte has left, answers, connections that ended,
         and those that were made. A connection that the client itself closed is in none of them.
Units    monotonic milliseconds.
Source   clients/.../common/network/Selectable.java.
"""

from __future__ import annotations

from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(acyclic=True)
class Happened:
    """Since the last poll, each in the order in which it happened; of a node at most one answer."""

    __slots__ = ("completed_receives", "completed_sends", "connected", "disconnected")

    def __init__(self) -> None:
        self.completed_sends: list[int] = []
        self.completed_receives: list[tuple[int, object, int]] = []  # node, answer, for how long it throttles
        self.disconnected: list[int] = []
        self.connected: list[int] = []


@mypyc_attr(allow_interpreted_subclasses=True)
class Selectable:
    def connect(self, node: Node, now_ms: int) -> None:
        """Begin to."""
        raise NotImplementedError

    def close(self, node: int) -> None:
        """At once, with whatever was to be sent. Nothing if it is not there."""
        raise NotImplementedError

    def send(self, request: ClientRequest, now_ms: int) -> None:
        raise NotImplementedError

    def is_channel_ready(self, node: int) -> bool:
        """Whether it is connected."""
        raise NotImplementedError

    def take(self, now_ms: int) -> Happened:
        """What happened, and forget it."""
        raise NotImplementedError

    def next_idle_ms(self) -> int | None:
        """When `take` next ends a connection, if nothing happens until then."""
        raise NotImplementedError
