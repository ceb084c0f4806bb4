"""The rules for names of topics, and the names of Kafka's own topics."""

from __future__ import annotations

import re
from typing import Final

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

CLUSTER_METADATA_TOPIC_NAME = "__cluster_metadata"

GROUP_METADATA_TOPIC_NAME = "__consumer_offsets"
TRANSACTION_STATE_TOPIC_NAME = "__transaction_state"

_INTERNAL_TOPICS: Final = frozenset({GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME, "__share_group_state"})
_MAX_NAME_LENGTH = 249
_LEGAL_CHARS = re.compile(r"[a-zA-Z0-9._-]+")


def validate(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION, in Kafka's words, unless the name is legal."""
    problem = _detect_invalid_topic(name)
    if problem is not None:
        raise KafkaError(ErrorCode.invalid_topic_exception, f"Topic name is invalid: {problem}")


def is_valid(name: str) -> bool:
    return _detect_invalid_topic(name) is None


def is_internal(name: str) -> bool:
    """Return True for topics with Kafka's own state. `__cluster_metadata` is none of them."""
    return name in _INTERNAL_TOPICS


def has_collision_chars(name: str) -> bool:
    """Return True if another topic could have the same metrics: their names have an underscore for each dot."""
    return "_" in name or "." in name


def unify_collision_chars(name: str) -> str:
    """Return the common form of all names that collide."""
    return name.replace(".", "_")


def _detect_invalid_topic(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > _MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {_MAX_NAME_LENGTH}"
    if not _LEGAL_CHARS.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
