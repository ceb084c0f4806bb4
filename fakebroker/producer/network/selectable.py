"""The connections, as the network client uses them: commands to them, and their events.

Theory   The client tells it to connect, send and close, which happens asynchronously. The events since the last poll
         are kept until they are taken: completed writes, responses, closed connections, and new connections. A
         connection that the client itself closed is not among them.
Units    monotonic milliseconds.
Source   clients/.../common/network/Selectable.java.
"""

from __future__ import annotations

from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(acyclic=True)
class PollResult:
    """The events since the last poll, each list in the order of occurrence, with at most one response for each node."""

    __slots__ = ("completed_receives", "completed_sends", "connected", "disconnected")

    def __init__(self) -> None:
        self.completed_sends: list[int] = []
        self.completed_receives: list[tuple[int, object, int]] = []  # node, response, throttle time
        self.disconnected: list[int] = []
        self.connected: list[int] = []


@mypyc_attr(allow_interpreted_subclasses=True)
class Selectable:
    def connect(self, node: Node, now_ms: int) -> None:
        """Start to connect."""
        raise NotImplementedError

    def close(self, node: int) -> None:
        """Close the connection at once and drop what was to be sent. Do nothing if there is none."""
        raise NotImplementedError

    def send(self, request: ClientRequest, now_ms: int) -> None:
        raise NotImplementedError

    def is_channel_ready(self, node: int) -> bool:
        """Return True if the node is connected."""
        raise NotImplementedError

    def take(self, now_ms: int) -> PollResult:
        """Return the events since the last call, and forget them."""
        raise NotImplementedError

    def next_idle_ms(self) -> int | None:
        """Return when `take` next closes an idle connection, if nothing happens until then."""
        raise NotImplementedError
