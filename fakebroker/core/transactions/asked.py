"""What brokers have asked a broker about transactions and are not told yet: if it stops, they hear that it is gone.

Source   clients/.../NetworkClient.java processDisconnection: who waits for a broker whose connection ends is told so at
         once @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final


@final
class Asked:
    """Of one broker. Each question is answered once, or told of the disconnection once."""

    def __init__(self) -> None:
        self._disconnected: dict[int, Callable[[], None]] = {}
        self._count = 0

    def begin(self, disconnected: Callable[[], None]) -> int:
        """A question has come; its number."""
        self._count += 1
        self._disconnected[self._count] = disconnected
        return self._count

    def end(self, number: int) -> bool:
        """It can be answered. False if whoever asked was told already that this broker is gone."""
        return self._disconnected.pop(number, None) is not None

    def close(self) -> None:
        """The broker is gone."""
        waiting, self._disconnected = self._disconnected, {}
        for disconnected in waiting.values():
            disconnected()
