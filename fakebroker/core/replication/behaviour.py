"""The behaviour of a follower, and a selection of followers, as values: the words of `--followers`, of
`kafka.followers` and of the control plane."""

from __future__ import annotations

import re
from typing import NamedTuple

from fakebroker.core.arguments import WHOLE_NUMBER, require

MAX_LAG_MS = 2**31 - 1
MAX_BYTES_PER_S = 2**63 - 1


class Behaviour(NamedTuple):
    """A behaviour. Made by `Behaviour.parse`, `lagging` or `throttled`, or one of INSTANT, FROZEN and EXTERNAL."""

    name: str
    lag_ms: int = 0
    bytes_per_s: int = 0

    @classmethod
    def lagging(cls, lag_ms: int) -> Behaviour:
        """Return the behaviour that has each record `lag_ms` after the leader."""
        require(WHOLE_NUMBER, lag_ms=lag_ms)
        if not 0 <= lag_ms <= MAX_LAG_MS:
            raise ValueError(f"a lag is 0 to {MAX_LAG_MS} ms, not {lag_ms}")
        return cls("lagging", lag_ms=lag_ms)

    @classmethod
    def throttled(cls, bytes_per_s: int) -> Behaviour:
        """Return the behaviour that copies at most `bytes_per_s` of record batches a second, one batch after the
        other."""
        require(WHOLE_NUMBER, bytes_per_s=bytes_per_s)
        if not 1 <= bytes_per_s <= MAX_BYTES_PER_S:
            raise ValueError(f"a throttled follower takes 1 to {MAX_BYTES_PER_S} bytes a second, not {bytes_per_s}")
        return cls("throttled", bytes_per_s=bytes_per_s)

    @classmethod
    def parse(cls, text: str) -> Behaviour:
        """Parse `instant`, `frozen`, `external`, `lagging:MS` or `throttled:BYTES_PER_S`."""
        if text in ("instant", "frozen", "external"):
            return cls(text)
        match = re.fullmatch(r"(lagging|throttled):(\d{1,19})", str(text), re.ASCII)
        if match is None:
            raise ValueError(
                "followers are 'instant', 'lagging:MS' (milliseconds), 'throttled:BYTES_PER_S', 'frozen' or "
                f"'external', not {text!r}"
            )
        number = int(match[2])
        return cls.lagging(number) if match[1] == "lagging" else cls.throttled(number)

    def __str__(self) -> str:
        match self.name:
            case "lagging":
                return f"lagging:{self.lag_ms}"
            case "throttled":
                return f"throttled:{self.bytes_per_s}"
        return self.name


INSTANT = Behaviour("instant")
FROZEN = Behaviour("frozen")
EXTERNAL = Behaviour("external")


class Selection(NamedTuple):
    """The followers that the user means; None means all."""

    topic: str | None = None
    partition: int | None = None
    broker_id: int | None = None

    def has(self, topic: str, partition: int, broker_id: int) -> bool:
        return (
            self.topic in (None, topic) and self.partition in (None, partition) and self.broker_id in (None, broker_id)
        )


EVERYBODY = Selection()


class Command:
    """One command of the user. `number` is higher than those of the commands before, `done` are the steps so far."""

    def __init__(self, selection: Selection, number: int) -> None:
        self.selection = selection
        self.number = number
        self.done: list[Behaviour | None] = []


FIRST_COMMAND = Command(EVERYBODY, 0)
