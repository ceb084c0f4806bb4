"""One client connection, as the broker's network thread sees it: one request at a time.

Theory   Kafka mutes a channel from the receipt of a request until its response is written. So a parked acks=all produce
         blocks every later request of its connection, responses are in request order, and the timeout of a later
         request starts only when its turn comes: N stuck requests answer at T, 2T, 3T.

           READY --request--> BUSY --responded--> READY          any --close--> CLOSED

         While BUSY the socket is not read; what had arrived before stays in the decoder.
Source   clients/.../network/KafkaChannel.java ChannelMuteState; core/.../network/SocketServer.scala Processor.
Differs  Throttling is not there yet, so Kafka's five states are these three.
"""

from __future__ import annotations

from enum import Enum

from fakebroker.protocol.framing import FrameDecoder


class State(Enum):
    READY = "ready"
    BUSY = "busy"
    CLOSED = "closed"


class Event(Enum):
    REQUEST = "request"
    RESPONDED = "responded"
    CLOSE = "close"


TRANSITIONS = {
    (State.READY, Event.REQUEST): State.BUSY,
    (State.BUSY, Event.RESPONDED): State.READY,
    (State.READY, Event.CLOSE): State.CLOSED,
    (State.BUSY, Event.CLOSE): State.CLOSED,
}


class Connection:
    """State of one connection to one broker. `peer` names the other side in logs."""

    __slots__ = ("broker_id", "decoder", "peer", "reading_paused", "state", "write_blocked")

    def __init__(self, broker_id: int, peer: str, max_request_bytes: int) -> None:
        self.broker_id = broker_id
        self.peer = peer
        self.decoder = FrameDecoder(max_request_bytes)
        self.state = State.READY
        self.reading_paused = False
        # The peer does not take its answers: the response in hand counts as unsent, nothing more is handled.
        self.write_blocked = False

    def on(self, event: Event) -> None:
        """Take the transition; an event that cannot be is a bug of ours."""
        try:
            self.state = TRANSITIONS[self.state, event]
        except KeyError:
            raise AssertionError(f"{event} in {self.state} on the connection from {self.peer}") from None

    @property
    def can_handle(self) -> bool:
        return self.state is State.READY and not self.write_blocked
