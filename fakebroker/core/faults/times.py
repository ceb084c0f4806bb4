"""The number of times that a fault fires, of all its matches: a value, and its notation.

Theory   Matches are counted from 1. `on_call` takes one of them, `every` each n-th, `probability` draws for each;
         `count` ends the fault after so many firings. A fault that has ended matches no more.
JSON     "once", "every_time", 3 (so many), {"on_call": 2}, {"every": 3}, {"probability": 0.1, "seed": 7}; these with a
         "count". kfake's numbers are understood under the key `count` of a fault: 0 is once, -1 until it is removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fakebroker.core.faults import reading

UNLIMITED: Final = -1
_KEYS: Final = ("count", "every", "on_call", "probability", "seed")


@dataclass(frozen=True)
class Times:
    """The number of times that a fault fires.

    count         the number of firings, -1 for any number
    on_call       the match that it fires on, 0 for any
    every         it fires on each n-th match
    probability   the probability of firing, drawn from `seed`
    """

    count: int = UNLIMITED
    on_call: int = 0
    every: int = 1
    probability: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        reading.whole(self.count, "'count'", UNLIMITED)
        if self.count == 0:
            raise ValueError("'count' is 0, which is never: use a number from 1")
        reading.whole(self.on_call, "'on_call'", 0)
        reading.whole(self.every, "'every'", 1)
        reading.fraction(self.probability, "'probability'")
        if self.probability == 0:
            raise ValueError("'probability' is 0: the fault can never fire")
        reading.whole(self.seed, "'seed'")
        if self.on_call and self.every != 1:
            raise ValueError("'on_call' takes one match and 'every' many: use one of them")

    @classmethod
    def read(cls, value: object) -> Times:
        """Read one of the forms above; a Times is returned unchanged. Raise ValueError."""
        if isinstance(value, Times):
            return value
        if isinstance(value, str):
            if value == "once":
                return once
            if value == "every_time":
                return every_time
            raise ValueError(f"'times' is 'once', 'every_time', a number or a mapping, not {reading.shown(value)}")
        if isinstance(value, int) and not isinstance(value, bool):
            return times(value)
        given = reading.mapping(value, "'times'")
        reading.refuse_unknown(given, _KEYS, "'times'")
        for key in ("count", "on_call"):  # the values that mean "any" here have no notation
            if key in given:
                reading.whole(given[key], f"'{key}'", 1)
        return cls(**given)

    @classmethod
    def from_count(cls, value: object) -> Times:
        """Read kfake's number: 0 is once, n so many, -1 until it is removed."""
        number = reading.whole(value, "'count'", UNLIMITED)
        return cls(count=number or 1)

    def to_json(self) -> Any:
        """Return the shortest of the forms."""
        if self == once:
            return "once"
        if self == every_time:
            return "every_time"
        if self == Times(count=self.count):
            return self.count
        nothing = every_time
        return {key: getattr(self, key) for key in _KEYS if getattr(self, key) != getattr(nothing, key)}


once: Final = Times(count=1)
every_time: Final = Times()


def times(n: int) -> Times:
    """Fire on the first n matches. Raise ValueError."""
    if n == 0:
        raise ValueError("'times' is 0, which is never: use 'once', a number from 1, or 'every_time'")
    return Times(count=reading.whole(n, "'times'", 1))


def on_call(n: int) -> Times:
    """Fire on the n-th match alone. Raise ValueError."""
    return Times(count=1, on_call=reading.whole(n, "'on_call'", 1))


def every(n: int) -> Times:
    """Fire on each n-th match."""
    return Times(every=n)


def with_probability(probability: float, seed: int = 0) -> Times:
    """Fire on any match, with that probability; the same seed draws the same."""
    return Times(probability=probability, seed=seed)
