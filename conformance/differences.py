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


def _near(ms: int) -> Callable[[Any, Any], bool]:
    """Both throttle or both do not, and for about as long."""
    return lambda kafka, ours: _both_numbers(kafka, ours) and min(kafka, ours) > 0 and abs(kafka - ours) <= ms


# Lists whose order means nothing, by the name of the field, and what they are sorted by.
SORTED_BY = {
    "brokers": "node_id",
    "api_keys": "api_key",
    "supported_features": "name",
    "finalized_features": "name",
    "responses": "name",  # topics of a Produce answer: in the order of a hash table (KafkaApis.handleProduceRequest)
    "partition_responses": "index",
}

RULES: tuple[Rule, ...] = (
    Rule("each cluster has an id of its own", "*.cluster_id", holds=_both_texts),
    Rule("each cluster has ports of its own", "*.port", holds=_both_numbers),
    Rule(
        "fakebroker serves fewer APIs than Kafka, and advertises only what it serves",
        "*.says.api_keys.*",
        holds=lambda kafka, ours: isinstance(kafka, dict) and ours == "(absent)",
    ),
    Rule(
        "ApiVersions v5 (Kafka 4.4, KIP-1242) is not served: a client that begins with it is told 0 to 4, and asks again",
        "*.says.api_keys.18.max_version",
        holds=lambda kafka, ours: (kafka, ours) == (5, 4),
    ),
    Rule(
        "no features: transactions, groups and whatever else they stand for are not served",
        "*.says.*ed_features.*",
        "handshake/*",
        holds=lambda kafka, ours: isinstance(kafka, dict) and ours == "(absent)",
    ),
    Rule(
        "without features there is no epoch of theirs",
        "*.says.finalized_features_epoch",
        "handshake/*",
        holds=lambda kafka, ours: isinstance(kafka, int) and ours == -1,
    ),
    *(
        Rule(
            "a second request is judged by how long after the first it came, to the millisecond of each side",
            "*.throttle_time",
            f"quota/{case}",
            _near(100),
        )
        for case in ("two-in-a-row", "second-connection", "refused")
    ),
)
