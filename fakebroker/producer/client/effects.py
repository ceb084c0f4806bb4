"""The effects of a producer on the network. `connection` is a number that differs for each attempt."""

from __future__ import annotations

from typing import NamedTuple, final

from timingwheel.mypyc import mypyc_attr


class Connect(NamedTuple):
    """Start to connect; `connected` or `connection_lost` reports the result."""

    connection: int
    host: str
    port: int


@mypyc_attr(acyclic=True)
@final
class SendBytes:
    """Send complete frames on a connection. If it was lost while the sender slept, drop them."""

    __slots__ = ("connection", "data")

    def __init__(self, connection: int, data: bytes) -> None:
        self.connection = connection
        self.data = data


class CloseConnection(NamedTuple):
    """Close the connection at once. It has no more events. `reason` names the broker's protocol error, if that is
    why."""

    connection: int
    reason: str = ""


Effect = Connect | SendBytes | CloseConnection
