"""What a producer wants done on the network. `connection` is a number that it gives, another one for each attempt."""

from __future__ import annotations

from typing import NamedTuple, final

from timingwheel.mypyc import mypyc_attr


class Connect(NamedTuple):
    """Begin to; `connected` or `connection_lost` says what came of it."""

    connection: int
    host: str
    port: int


@mypyc_attr(acyclic=True)
@final
class SendBytes:
    """Whole frames, to a connection that is there; if it was lost while the sender slept, they go nowhere."""

    __slots__ = ("connection", "data")

    def __init__(self, connection: int, data: bytes) -> None:
        self.connection = connection
        self.data = data


class Disconnect(NamedTuple):
    """At once. Nothing more is heard of it. `reason`: what the broker did wrong, if that is why."""

    connection: int
    reason: str = ""


Effect = Connect | SendBytes | Disconnect
