"""Random requests about settings of the stream's topic: described, altered, and what goes wrong with either.

Theory   Only settings that show in what comes after: limits of batches, replicas that have to be in sync, whether keys
         are wanted. Settings with an effect that depends on clocks or libraries are left out (LogAppendTime, another
         compression). At most one thing is wrong with a resource: of several, Kafka returns the first in a hash table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from conformance.config_frames import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    describe,
    incremental,
)
from conformance.generated.streams import STAND_IN

Request = Callable[[int], bytes]
Draw = Callable[[st.SearchStrategy[Any]], Any]

_VALUES: dict[str, list[str]] = {
    "max.message.bytes": ["100", "160", " 300", "1048588"],
    "min.insync.replicas": ["1", "2", "+1"],
    "cleanup.policy": ["delete", "compact", "compact,delete", "", "delete, delete"],
    "message.timestamp.before.max.ms": ["60000", "9223372036854775807"],
    "flush.ms": ["5", "1000"],
}
_BAD: list[tuple[str, str | None]] = [
    ("max.message.bytes", "-1"),
    ("max.message.bytes", "1e3"),
    ("min.insync.replicas", "0"),
    ("min.insync.replicas", None),
    ("cleanup.policy", "shred"),
    ("preallocate", "maybe"),
    ("no.such.config", "1"),
    ("", ""),
]
_NAMES = st.sampled_from([STAND_IN] * 20 + ["no-such-topic", "", "a b"])
_KEYS = st.sampled_from([*_VALUES, "segment.bytes", "no.such.config"])
_SOMETIMES = st.sampled_from([False, False, False, True])


@st.composite
def describe_configs(draw: Draw) -> Request:
    version = draw(st.integers(1, 4))
    resources: list[tuple[int, str, list[str] | None]] = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 0]))):
        kind = draw(st.sampled_from([TOPIC] * 12 + [GROUP, CLIENT_METRICS, BROKER, 3]))
        names = {TOPIC: _NAMES, BROKER: st.sampled_from(["7", "x"])}.get(kind, st.sampled_from(["g", ""]))
        name = draw(names)
        keys = draw(st.none() | st.lists(_KEYS, max_size=3))
        resources.append((kind, name, keys))
    with_synonyms = draw(st.booleans())
    return lambda number: describe(*resources, version=version, correlation_id=number, include_synonyms=with_synonyms)


@st.composite
def incremental_alter_configs(draw: Draw) -> Request:
    version, validate_only = draw(st.integers(0, 1)), draw(_SOMETIMES)
    operations: list[tuple[str, int, str | None]] = []
    for key in draw(st.lists(st.sampled_from(list(_VALUES)), max_size=3, unique=True)):
        operation = draw(st.sampled_from([SET, SET, SET, DELETE]))
        if key == "cleanup.policy":
            operation = draw(st.sampled_from([SET, DELETE, APPEND, SUBTRACT]))
        operations.append((key, operation, None if operation == DELETE else draw(st.sampled_from(_VALUES[key]))))
    if draw(_SOMETIMES):
        key, value = draw(st.sampled_from(_BAD))
        operations = [entry for entry in operations if entry[0] != key]
        operations.append((key, draw(st.sampled_from([SET, SET, SET, APPEND, 9])), value))
    names = [draw(_NAMES)] + (["no-such-topic"] if draw(_SOMETIMES) else [])
    resources = [(TOPIC, name, operations) for name in dict.fromkeys(names)]
    return lambda number: incremental(*resources, version=version, correlation_id=number, validate_only=validate_only)


@st.composite
def alter_configs(draw: Draw) -> Request:
    version, validate_only = draw(st.integers(0, 2)), draw(_SOMETIMES)
    keys = draw(st.lists(st.sampled_from(list(_VALUES)), max_size=3, unique=True))
    configs: dict[str, str | None] = {key: draw(st.sampled_from(_VALUES[key])) for key in keys}
    if draw(_SOMETIMES):
        key, value = draw(st.sampled_from(_BAD))
        configs[key] = value
    name = draw(_NAMES)
    return lambda number: alter(
        (TOPIC, name, configs), version=version, correlation_id=number, validate_only=validate_only
    )
