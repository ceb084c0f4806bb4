"""One client connection, as the broker's network thread sees it: one request at a time.

Theory   Kafka mutes a channel from the receipt of a request until its response is written and the resulting throttling
         is over. So a parked acks=all produce blocks every later request of its connection, and responses are in
         request order. The timeout of a later request starts only at its turn: N stuck requests get their responses at
         T, 2T, 3T.

           WAITING --admitted--> READY --request--> BUSY --responded--> READY
                                                     | throttle_started
                                                     v
                      THROTTLED <--responded-- BUSY_THROTTLED
                        | throttle_ended              | throttle_ended
                        v                             v
                      READY                          BUSY             any state but CLOSED --close--> CLOSED

         Only a READY connection is read. Earlier bytes stay in the decoder. WAITING: the broker has max.connections
         already; the connection is open but not read until another one is closed.
Source   clients/.../network/KafkaChannel.java ChannelMuteState, handleChannelMuteEvent, maybeUnmute;
         core/.../network/SocketServer.scala Processor @ 4.0.
Differs  Kafka's MUTED lasts from muting to REQUEST_RECEIVED, and from the last of RESPONSE_SENT and THROTTLE_ENDED to
         unmuting, with nothing in between; it and NOT_MUTED are READY here. BUSY is MUTED_AND_RESPONSE_PENDING,
         THROTTLED is MUTED_AND_THROTTLED, BUSY_THROTTLED is MUTED_AND_THROTTLED_AND_RESPONSE_PENDING.
         WAITING is no state of a channel in Kafka: its acceptor thread blocks with the socket in hand.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

from fakebroker.core.security.identity import ANONYMOUS, PLAINTEXT, Listener
from fakebroker.network.trail import Trail
from fakebroker.protocol.answers.pieces import Part
from fakebroker.protocol.framing import FrameDecoder
from fakebroker.protocol.large_frame import LargeFrame
from timingwheel import TimerTask
from timingwheel.mypyc import mypyc_attr


@final
class ChannelMuteState:
    """One of the states above, compared by identity. All of them are in STATES."""

    __slots__ = ("name", "number")

    WAITING: ClassVar[ChannelMuteState]
    READY: ClassVar[ChannelMuteState]
    BUSY: ClassVar[ChannelMuteState]
    BUSY_THROTTLED: ClassVar[ChannelMuteState]
    THROTTLED: ClassVar[ChannelMuteState]
    CLOSED: ClassVar[ChannelMuteState]

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def __repr__(self) -> str:
        return f"ChannelMuteState.{self.name}"


@final
class Event:
    """An event of a connection, compared by identity. All of them are in EVENTS."""

    __slots__ = ("name", "number")

    ADMITTED: ClassVar[Event]
    REQUEST: ClassVar[Event]
    RESPONDED: ClassVar[Event]
    THROTTLE_STARTED: ClassVar[Event]
    THROTTLE_ENDED: ClassVar[Event]
    CLOSE: ClassVar[Event]

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def __repr__(self) -> str:
        return f"Event.{self.name}"


_STATES = ("WAITING", "READY", "BUSY", "BUSY_THROTTLED", "THROTTLED", "CLOSED")
_EVENTS = ("ADMITTED", "REQUEST", "RESPONDED", "THROTTLE_STARTED", "THROTTLE_ENDED", "CLOSE")
STATES: Final = [ChannelMuteState(number, name) for number, name in enumerate(_STATES)]
EVENTS: Final = [Event(number, name) for number, name in enumerate(_EVENTS)]
(
    ChannelMuteState.WAITING,
    ChannelMuteState.READY,
    ChannelMuteState.BUSY,
    ChannelMuteState.BUSY_THROTTLED,
    ChannelMuteState.THROTTLED,
    ChannelMuteState.CLOSED,
) = STATES
(
    Event.ADMITTED,
    Event.REQUEST,
    Event.RESPONDED,
    Event.THROTTLE_STARTED,
    Event.THROTTLE_ENDED,
    Event.CLOSE,
) = EVENTS

TRANSITIONS: Final[dict[tuple[ChannelMuteState, Event], ChannelMuteState]] = {
    (ChannelMuteState.WAITING, Event.ADMITTED): ChannelMuteState.READY,
    (ChannelMuteState.READY, Event.REQUEST): ChannelMuteState.BUSY,
    (ChannelMuteState.BUSY, Event.RESPONDED): ChannelMuteState.READY,
    (ChannelMuteState.BUSY, Event.THROTTLE_STARTED): ChannelMuteState.BUSY_THROTTLED,
    (ChannelMuteState.BUSY_THROTTLED, Event.RESPONDED): ChannelMuteState.THROTTLED,
    (ChannelMuteState.BUSY_THROTTLED, Event.THROTTLE_ENDED): ChannelMuteState.BUSY,
    (ChannelMuteState.THROTTLED, Event.THROTTLE_ENDED): ChannelMuteState.READY,
    **{(state, Event.CLOSE): ChannelMuteState.CLOSED for state in STATES if state is not ChannelMuteState.CLOSED},
}
# The transitions by number, because each request makes two of them.
_AFTER: Final[list[list[ChannelMuteState | None]]] = [
    [TRANSITIONS.get((state, event)) for event in EVENTS] for state in STATES
]

_READY: Final = ChannelMuteState.READY
_CLOSED: Final = ChannelMuteState.CLOSED


@mypyc_attr(allow_interpreted_subclasses=True)
class Work:
    """The rest of the work on a request that is handled in slices."""

    __slots__ = ()

    def go_on(self) -> bool:
        """Do the next slice. Return True if there is more."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Plan:
    """A plan for the current request: it receives the response instead of the network."""

    def take(self, frame: bytes | None) -> None:
        """Receive the response; None if the request has none."""
        raise NotImplementedError

    def take_last(self, frame: bytes, reason: str) -> None:
        """Receive the response to a client that is refused, and the reason: the plan closes the connection."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Run until the next blocking action."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Authenticator:
    """The authentication of a connection: it sees each frame before a request is made of it."""

    @property
    def is_complete(self) -> bool:
        """True if the client is authenticated, and no re-authentication has begun."""
        raise NotImplementedError

    def takes(self, frame: bytes | LargeFrame) -> bool:
        """Return True if the frame was part of the authentication, and is dealt with."""
        raise NotImplementedError

    def refuse_frame(self) -> None:
        """Fail, because a frame is too large or has a negative length."""
        raise NotImplementedError


@final
class Connection:
    """State of one connection to one broker.

    number           counts the connections of a cluster, from 1
    listener         the listener that accepted it
    authenticator    the authentication of its client, until that is complete for ever; None without SASL
    principal        the authenticated user
    mechanism        the mechanism of SASL by which the client has authenticated; empty if it has not
    by_token         the client has authenticated with a delegation token
    software         name and version of the client, if it has sent them (KIP-511)
    peer             names the other side in logs
    address          its IP address, by which max.connections.per.ip counts; empty if it has none
    write_blocked    a response is not completely written yet: it counts as unsent, so nothing more is handled
    last_active_ms   when it last read or wrote, once admitted, for connections.max.idle.ms
    throttle         the timer's task that ends the throttling, if one is pending
    request          the frame at its turn, until its handling begins
    memory_bytes     bytes of queued.max.request.bytes that the current request takes
    work             the rest of the current request, if it is handled in slices
    is_queued        it is in the ready queue: it may have a request, or has work
    answers          its responses of this turn of the core, which are sent together; None if there are none
    unwritten_bytes  the size of these responses
    plan             receives the response to the current request, if that is not simply written
    trail            what its events tell
    attachment       data of other modules: compiled classes have no weak references
    """

    __slots__ = (
        "address",
        "answers",
        "attachment",
        "authenticator",
        "broker_id",
        "by_token",
        "decoder",
        "is_queued",
        "last_active_ms",
        "listener",
        "mechanism",
        "memory_bytes",
        "number",
        "peer",
        "plan",
        "principal",
        "reading_paused",
        "request",
        "software",
        "state",
        "throttle",
        "trail",
        "unwritten_bytes",
        "work",
        "write_blocked",
    )

    def __init__(
        self,
        broker_id: int,
        peer: str,
        address: str,
        max_request_bytes: int,
        number: int = 0,
        listener: Listener = PLAINTEXT,
    ) -> None:
        self.number = number
        self.broker_id = broker_id
        self.listener = listener
        self.authenticator: Authenticator | None = None
        self.principal = ANONYMOUS
        self.mechanism = ""
        self.by_token = False
        self.software = "unknown", "unknown"
        self.peer = peer
        self.address = address
        self.decoder = FrameDecoder(max_request_bytes)
        self.state = ChannelMuteState.WAITING
        self.reading_paused = False
        self.write_blocked = False
        self.last_active_ms = 0
        self.throttle: TimerTask | None = None
        self.request: bytes | LargeFrame | None = None
        self.work: Work | None = None
        self.plan: Plan | None = None
        self.is_queued = False
        self.memory_bytes = 0
        self.answers: list[Part] | None = None
        self.unwritten_bytes = 0
        self.trail = Trail()
        self.attachment: object = None

    def on(self, event: Event) -> None:
        """Make the transition. An event that is impossible in this state is a bug of ours."""
        after = _AFTER[self.state.number][event.number]
        if after is None:
            raise AssertionError(f"{event} in {self.state} on the connection from {self.peer}")
        self.state = after

    @property
    def can_handle(self) -> bool:
        return self.state is _READY and not self.write_blocked

    @property
    def is_closed(self) -> bool:
        return self.state is _CLOSED
