"""Members of groups: programs that run until they are told to leave, or are killed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from conformance.clients.process import Broken, ClientProcess


class Unsupported(Exception):
    """The client has no such thing; the message says what."""


class Member:
    """One member; what it tells is heard by a thread while the `with` block lasts.

    assignments   what it had, one after the other: the whole of it each time
    read          (partition, offset, value) of every record
    errors        by the client's own names: those that it told the application
    """

    def __init__(self, process: ClientProcess) -> None:
        self._process = process
        self.assignments: list[list[int]] = []
        self.read: list[tuple[int, int, str]] = []
        self.errors: list[str] = []
        self._commits = 0
        self._closed = False
        self._broken: str | None = None
        self._unsupported: str | None = None
        self._expected_end = False
        self._reader = threading.Thread(target=self._hear, daemon=True)

    def __enter__(self) -> Self:
        self._process.__enter__()
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.__exit__(None, None, None)

    @property
    def assigned(self) -> list[int]:
        return self.assignments[-1] if self.assignments else []

    @property
    def commits(self) -> int:
        """Return how many commits were done."""
        return self._commits

    @property
    def closed(self) -> bool:
        return self._closed

    def commit(self) -> None:
        """Tell the member to commit what it has read. `commits` counts it when it is done."""
        self._process.say({"do": "commit"})

    def leave(self) -> None:
        """Tell the member to leave in order. `closed` is True when that is done."""
        self._expected_end = True
        self._process.say({"do": "close"})

    def kill(self) -> None:
        self._expected_end = True
        self._process.kill()
        self._reader.join()

    def check(self) -> None:
        """Raise Unsupported, or Broken if the program has ended without being told to."""
        if self._unsupported:
            raise Unsupported(self._unsupported)
        if self._broken and not self._expected_end:
            raise Broken(self._broken)

    def _hear(self) -> None:
        try:
            while True:
                self._note(self._process.hear())
        except Broken as how:
            self._broken = str(how)

    def _note(self, message: dict[str, Any]) -> None:
        if "assigned" in message:
            self.assignments.append(sorted(message["assigned"]))
        self.read += [(partition, offset, value) for partition, offset, value in message.get("read", ())]
        if "error" in message:
            self.errors.append(str(message["error"]))
        self._commits += "committed" in message
        self._closed |= "closed" in message
        self._unsupported = message.get("unsupported", self._unsupported)


def shares(members: Sequence[Member]) -> list[int] | None:
    """Return the number of partitions of each member, the least first; None while a partition has two owners."""
    owned = Counter(partition for member in members for partition in member.assigned)
    return sorted(len(member.assigned) for member in members) if set(owned.values()) <= {1} else None


def read_values(members: Sequence[Member]) -> Counter[str]:
    """Return how often all members together have read each value."""
    return Counter(value for member in members for _, _, value in member.read)
