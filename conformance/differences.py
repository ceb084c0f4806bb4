"""What may differ between Kafka and fakebroker, and why. The only such list: whatever is not here is a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any


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
        """Whether the rule is about this field of this case, and holds. `path` has `[]` for every index."""
        pattern = self.path.replace("[*]", "[[]]")
        return fnmatchcase(case, self.case) and fnmatchcase(path, pattern) and self.holds(kafka, ours)


def _both_numbers(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, int) and isinstance(ours, int)


def _both_texts(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, str) and isinstance(ours, str)


# Lists whose order means nothing, by the name of the field, and what they are sorted by.
SORTED_BY = {"brokers": "node_id", "api_keys": "api_key", "supported_features": "name", "finalized_features": "name"}

RULES: tuple[Rule, ...] = (
    Rule("each cluster has an id of its own", "*.cluster_id", holds=_both_texts),
    Rule("each cluster has ports of its own", "*.port", holds=_both_numbers),
)

# For what clients saw: `case` is CLIENT/JOB, `path` is where in its report. A rule that no longer applies is told.
CLIENT_RULES: tuple[Rule, ...] = (
    Rule(
        "librdkafka writes lz4 only to a broker that serves FindCoordinator, which we do not yet",
        "log of partition ?: codec",
        case="librdkafka/*-lz4",
        holds=lambda kafka, ours: set(kafka) == {"lz4"} and set(ours) == {"none"},
    ),
)
