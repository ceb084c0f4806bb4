"""Rules for allowed differences, and conditions that both values still have to meet."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final
from uuid import UUID

_BY_CHANCE: Final = 4  # version of a UUID
_BOUNDS: Final = re.compile(r"\[-?\d+, -?\d+\]")
_PORT: Final = re.compile(r":\d+(?=,|$)")
_OF_A_CONTROLLER: Final = "CONTROLLER://"


@dataclass(frozen=True)
class Rule:
    """A field that may differ.

    case, path   patterns (`*`, `?`) of the case's name and of the field's path, with `[*]` for every index
    holds        what must still be true of the two values
    """

    reason: str
    path: str
    case: str = "*"
    holds: Callable[[Any, Any], bool] = lambda kafka, ours: True

    def allows(self, case: str, path: str, kafka: Any, ours: Any) -> bool:
        """Return True if the rule is about this field of this case, and holds. `path` has `[]` for every index."""
        pattern = self.path.replace("[*]", "[[]]")
        return fnmatchcase(case, self.case) and fnmatchcase(path, pattern) and self.holds(kafka, ours)


def both_numbers(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, int) and isinstance(ours, int)


def both_texts(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, str) and isinstance(ours, str)


def both_random_ids(kafka: Any, ours: Any) -> bool:
    """Made by chance: what stands in transcripts for a topic's id is not of that version."""
    return both_texts(kafka, ours) and all(UUID(text).version == _BY_CHANCE for text in (kafka, ours))


def both_wall_times(kafka: Any, ours: Any) -> bool:
    """Milliseconds since 1970, after 2001: neither is -1, and neither is a small number."""
    return both_numbers(kafka, ours) and min(kafka, ours) > 1_000_000_000_000


def near(ms: int) -> Callable[[Any, Any], bool]:
    """Return a condition: both throttle or both do not, and for about as long."""
    return lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) > 0 and abs(kafka - ours) <= ms


def same_but_for_clocks(kafka: Any, ours: Any) -> bool:
    """Two texts that say the same of different bounds, "[from, to]"."""
    return both_texts(kafka, ours) and _BOUNDS.sub("[]", kafka) == _BOUNDS.sub("[]", ours)


def same_but_for_ports(kafka: Any, ours: Any) -> bool:
    """Return True for the same listeners at other ports. Only Kafka's broker has one of a controller."""
    if not both_texts(kafka, ours):
        return False
    of_brokers = [listener for listener in _PORT.sub("", kafka).split(",") if not listener.startswith(_OF_A_CONTROLLER)]
    return of_brokers == _PORT.sub("", ours).split(",")


def both_or_none(kafka: Any, ours: Any) -> bool:
    return True


def only_kafka(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, dict) and ours == "(absent)"


def same_refusal(kafka: Any, ours: Any) -> bool:
    """Two texts of a request that is not allowed, with the same missing permission."""
    needs = [str(text).rpartition(" needs ") for text in (kafka, ours)]
    return all(before.startswith("Request ") for before, _, _ in needs) and needs[0][2] == needs[1][2]
