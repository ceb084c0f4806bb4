"""Any message of any API and version, made from what kio's dataclasses say about themselves, and ways to damage it."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.sampled_from([0, 1, -1]) | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


VALUES: dict[str, st.SearchStrategy] = {
    "bool": st.booleans(),
    "int8": signed(8),
    "int16": signed(16),
    "int32": signed(32),
    "int64": signed(64),
    "uint16": st.integers(0, 2**16 - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(max_size=4) | st.just("x" * 127),
    "bytes": st.binary(max_size=4) | st.just(b"x" * 127),
    "records": st.binary(max_size=4) | st.just(b"x" * 127),
    "error_code": st.sampled_from(ErrorCode),
    "uuid": st.uuids(),
    # kio keeps durations in a timedelta, which ends long before 64 bits of milliseconds do.
    "timedelta_i32": signed(32).map(lambda ms: timedelta(milliseconds=ms)),
    "timedelta_i64": signed(50).map(lambda ms: timedelta(milliseconds=ms)),
    "datetime_i64": st.integers(0, 2**42).map(lambda ms: EPOCH + timedelta(milliseconds=ms)),
}


@cache
def messages(kind: type) -> st.SearchStrategy:
    """Return instances of one message class."""
    return st.builds(kind, **{field.name: values(field) for field in fields(kind)})


def values(field: Field[Any]) -> st.SearchStrategy:
    kind, nullable = without_none(field.type)
    if get_origin(kind) is tuple:
        element, _ = without_none(get_args(kind)[0])
        strategy = st.lists(value(element, field), max_size=2).map(tuple)
    else:
        strategy = value(kind, field)
    # A tagged field with a default other than None has no null on the wire.
    if nullable and ("tag" not in field.metadata or field.default is None):
        return st.none() | strategy
    return strategy


def without_none(kind: object) -> tuple[object, bool]:
    if get_origin(kind) is not UnionType:
        return kind, False
    (kept,) = (choice for choice in get_args(kind) if choice is not NoneType)
    return kept, True


def value(kind: object, field: Field[Any]) -> st.SearchStrategy:
    return messages(kind) if isinstance(kind, type) and is_dataclass(kind) else VALUES[field.metadata["kafka_type"]]


# Lengths, counts and tags where things change.
telling_bytes = st.sampled_from([0, 1, 2, 3, 15, 16, 127, 128, 255])
any_bytes = st.binary(max_size=60) | st.lists(telling_bytes, max_size=60).map(bytes)
damages = st.lists(
    st.tuples(st.integers(0, 300), st.one_of(telling_bytes.map(lambda byte: bytes([byte])), st.binary(max_size=6))),
    min_size=1,
    max_size=4,
)


def damaged(encoded: bytes, places: list[tuple[int, bytes]]) -> bytes:
    """Return the data with some bytes overwritten, inserted, or cut off at the end."""
    for place, what in places:
        place %= len(encoded) + 1
        if not what:
            encoded = encoded[:place]
        elif len(what) == 1:
            encoded = encoded[:place] + what + encoded[place + 1 :]
        else:
            encoded = encoded[:place] + what + encoded[place:]
    return encoded
