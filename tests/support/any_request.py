"""Any request of any API and version that is served, with values that mean something to a cluster that has topic "t".

Made from what kio's dataclasses say about themselves; where a value decides how far a request gets, it is drawn from
what exists and what does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin
from uuid import UUID

from hypothesis import strategies as st

from fakebroker.apis import registry
from fakebroker.protocol.messages import encode_request, request_type
from support.requests import batch
from support.simulation import Simulation


def _first_topic_id() -> UUID:
    simulation = Simulation()
    simulation.topic("t")
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    return topic.topic_id


FIRST_TOPIC_ID = _first_topic_id()  # the same in every Simulation with the same seed

NAMES = st.sampled_from(["t", "t", "u", "new", "", ".", "a b", "x" * 250, "__consumer_offsets"])
GOOD = batch(b"a", b"b")
RECORDS = st.sampled_from([GOOD, GOOD, batch(b"x" * 300), b"", GOOD[:-1], GOOD + GOOD, GOOD[:61], b"\0" * 80])
SHORT_WAIT = st.sampled_from([-1, 0, 1, 50, 1000]).map(lambda ms: timedelta(milliseconds=ms))
INDEX = st.sampled_from([0, 0, 1, 2, 3, -1, 2**31 - 1])
LIMIT = st.sampled_from([1 << 20, 0, 1, 200, -1, 2**31 - 1])


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.sampled_from([0, 1, -1]) | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


NO_ZERO = st.sampled_from([1, 2, 4, 8, 16, 32, 99, -1])  # of ACLs, 0 ends the connection

BY_NAME: dict[str, st.SearchStrategy] = {
    "resource_type": NO_ZERO,
    "resource_type_filter": NO_ZERO,
    "pattern_type_filter": NO_ZERO,
    "resource_pattern_type": NO_ZERO,
    "operation": NO_ZERO,
    "permission_type": NO_ZERO,
    "topic": NAMES,
    "topic_id": st.sampled_from([FIRST_TOPIC_ID, UUID(int=7)]),
    "transactional_id": st.sampled_from(["", "tx"]),
    "records": RECORDS,
    "acks": st.sampled_from([-1, 1, 0, 2]),
    "timeout": SHORT_WAIT,
    "max_wait": SHORT_WAIT,
    "index": INDEX,
    "partition": INDEX,
    "partition_index": INDEX,
    "fetch_offset": st.sampled_from([0, 1, 2, 3, -1, 2**40]),
    "max_bytes": LIMIT,
    "min_bytes": LIMIT,
    "partition_max_bytes": LIMIT,
    "num_partitions": st.sampled_from([-1, 0, 1, 2, 2**31 - 1]),
    "replication_factor": st.sampled_from([-1, 0, 1, 3, 4, 2**15 - 1]),
    "broker_ids": st.lists(st.sampled_from([1, 2, 3, 9]), max_size=3).map(tuple),
    "session_id": st.sampled_from([0, 0, 0, 5]),
    "replica_id": st.sampled_from([-1, -1, -1, 1]),
    "client_software_name": st.sampled_from(["test", "", "-x"]),
}

BY_TYPE: dict[str, st.SearchStrategy] = {
    "bool": st.booleans(),
    "bytes": st.binary(max_size=4),
    "float64": st.floats(),
    "int8": signed(8),
    "int16": signed(16),
    "int32": signed(32),
    "int64": signed(64),
    "string": st.sampled_from(["t", "u", "min.insync.replicas", "2"]) | st.text(max_size=4),
    "uuid": st.uuids(),
    "timedelta_i32": SHORT_WAIT,
    "timedelta_i64": SHORT_WAIT,
    "uint16": st.sampled_from([0, 1]) | st.integers(0, 2**16 - 1),
}


def served() -> Iterator[tuple[registry.Api, int]]:
    """Return every API with each of its versions."""
    for api in registry.load().values():
        for version in range(api.min_version, api.max_version + 1):
            yield api, version


def requests(api_key: int, version: int) -> st.SearchStrategy[Any]:
    """Messages of one API and version."""
    return _messages(request_type(api_key, version))


def frames(correlation_id: int = 1) -> st.SearchStrategy[bytes]:
    """Frames of any API and version."""
    pairs = st.sampled_from([(api.key, version) for api, version in served()])
    return pairs.flatmap(lambda pair: requests(*pair)).map(lambda made: encode_request(made, correlation_id, "fuzz"))


@cache
def _messages(kind: type) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{field.name: _values(field) for field in fields(kind)})


def _values(field: Any) -> st.SearchStrategy[Any]:
    kind, nullable = without_none(field.type)
    strategy: st.SearchStrategy[Any]
    if field.name == "name" and field.metadata["kafka_type"] == "string":
        strategy = NAMES
    elif field.name in BY_NAME and not is_dataclass(kind):
        strategy = BY_NAME[field.name]
    elif get_origin(kind) is tuple:
        element, _ = without_none(get_args(kind)[0])
        strategy = st.lists(_value(element, field), max_size=3).map(tuple)
    else:
        strategy = _value(kind, field)
    # A tagged field with a default other than None has no null on the wire.
    if nullable and ("tag" not in field.metadata or field.default is None):
        return st.none() | strategy
    return strategy


def without_none(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) is not UnionType:
        return kind, False
    (kept,) = (choice for choice in get_args(kind) if choice is not NoneType)
    return kept, True


def _value(kind: Any, field: Any) -> st.SearchStrategy[Any]:
    return _messages(kind) if isinstance(kind, type) and is_dataclass(kind) else BY_TYPE[field.metadata["kafka_type"]]
