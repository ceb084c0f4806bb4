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


def _both_recent(kafka: Any, ours: Any) -> bool:
    """Two readings of the clock within a minute of each other, in a millennium to come."""
    return _both_numbers(kafka, ours) and min(kafka, ours) > 1_750_000_000_000 and abs(kafka - ours) < 60_000


def _same_but_for_the_clock(kafka: Any, ours: Any) -> bool:
    """Two messages about a timestamp that is out of range, which say what the range is now."""
    return _both_texts(kafka, ours) and "within [" in kafka and kafka.split("within [")[0] == ours.split("within [")[0]


def _both_texts(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, str) and isinstance(ours, str)


# Lists whose order means nothing, by the name of the field, and what they are sorted by: the first that is there.
SORTED_BY = {
    "brokers": ("node_id",),
    "api_keys": ("api_key",),
    "supported_features": ("name",),
    "finalized_features": ("name",),
    # Topics and partitions of an answer: in the order of a hash table (KafkaApis.handleProduceRequest and others).
    "responses": ("name", "topic_id"),
    "partition_responses": ("index",),
    "topics": ("name", "topic", "topic_id"),
    "partitions": ("partition_index", "partition"),
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
        "*",
        holds=lambda kafka, ours: isinstance(kafka, dict) and ours == "(absent)",
    ),
    Rule(
        "without features there is no epoch of theirs",
        "*.says.finalized_features_epoch",
        "*",
        holds=lambda kafka, ours: isinstance(kafka, int) and ours == -1,
    ),
    Rule("a topic with LogAppendTime: each side reads its clock", "*.log_append_time*", "*/append-time*", _both_recent),
    Rule("a topic with LogAppendTime: each side reads its clock", "*.max_timestamp_ms", "*/append-time*", _both_recent),
    Rule("a topic with LogAppendTime: each side reads its clock", "*.timestamp", "*/append-time*", _both_recent),
    Rule("the checksum is over the time of the append", "*.batches[*].crc", "*/append-time*", _both_numbers),
    Rule("a recompressed batch: another gzip library", "*.batches[*].batch_length", "*/recompressed*", _both_numbers),
    Rule("a recompressed batch: another gzip library", "*.batches[*].crc", "*/recompressed*", _both_numbers),
    Rule(
        "fakebroker makes no fetch sessions, which the protocol allows (docs/kafka-map.md)",
        "*.says.session_id",
        "*",
        lambda kafka, ours: _both_numbers(kafka, ours) and kafka > 0 and ours == 0,
    ),
    Rule(
        "each cluster hands out producer ids of its own",
        "*.says.producer_id",
        "*",
        lambda kafka, ours: _both_numbers(kafka, ours) and min(kafka, ours) >= 0,
    ),
    Rule(
        "the range of timestamps that a topic takes ends an hour after now: each side reads its clock",
        "*.batch_index_error_message",
        holds=_same_but_for_the_clock,
    ),
)
