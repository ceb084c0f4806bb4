"""One message with one thing changed: a field, an element of an array, a field of a batch or a record, or its frame."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple

from fakebroker.protocol.messages import request_type, response_type
from witness_mutants.changes import FAR_S, ROW, Kind
from witness_mutants.wire import batches
from witness_mutants.wire.batches import NothingToChange
from witness_mutants.wire.fields import (
    NUMBERS,
    TEXTS,
    arrays_of,
    changes_of,
    leaves,
    partitions_of,
    places_of,
    value_at,
    with_value,
)
from witness_mutants.wire.messages import Message

A_FRAME = "a frame"  # in the place of a field
DROPPED, DOUBLED, DELAYED = ("dropped", "doubled", "delayed")
DELAY_S = 1.6
MILLISECOND = timedelta(milliseconds=1)
# The fields of a request's header, and where they are in its frame, behind the length.
REQUEST_HEADER = {"request_api_key": (0, 2), "request_api_version": (2, 2), "correlation_id": (4, 4)}
HEADERS = {
    ("request header", "client_id"): TEXTS,
    **{("request header", name): NUMBERS for name in REQUEST_HEADER},
    ("response header", "correlation_id"): NUMBERS,
}
Part = tuple[str, int | None]


class Alteration(NamedTuple):
    """A change of the first message with that name and at least the number `ordinal` that allows it."""

    message: str
    kind: Kind
    ordinal: int
    seed: str

    def __str__(self) -> str:
        return f"{self.message}: {self.kind}"


class Altered(NamedTuple):
    """The frames in place of one, and its partitions before and after the change. `told` is for the user."""

    frames: list[bytes]
    is_delayed: bool
    parts: frozenset[Part]
    told: str = ""
    message: Message | None = None  # as it is now; None: the same, or not to be read


def changes_of_message(message: Message) -> Iterator[Kind]:
    """Yield every change that a message of this kind can have."""
    name, kind = message.name, (request_type if message.is_request else response_type)(message.api, message.version)
    yield from (Kind(name, A_FRAME, change) for change in (DROPPED, DOUBLED, DELAYED))
    yield from (Kind(name, ROW, change) for change in (DROPPED, DOUBLED))
    yield from (Kind(name, field, change) for field in leaves(kind) for change in changes_of(kind, field))
    header = "request header" if message.is_request else "response header"
    yield from (Kind(*of, change) for of, changes in HEADERS.items() if of[0] == header for change in changes)
    if message.has_records:
        yield from (Kind(*of, change) for of, changes in batches.CHANGES.items() for change in changes)


def alter(frame: bytes, message: Message, before: Message | None, alteration: Alteration) -> Altered:
    """Return what passes in the place of a frame (with its length). `before` is the previous message of its name.
    Raises NothingToChange."""
    thing, field, change = alteration.kind
    draw = random.Random(alteration.seed)
    parts = frozenset(partitions_of(message.body))
    if field == A_FRAME:
        frames = {DROPPED: [], DOUBLED: [frame, frame], DELAYED: [frame]}[change]
        return Altered(frames, change == DELAYED, parts)
    if (thing, field) in HEADERS:
        return Altered([_other_header(frame, message, before, field, change, draw)], False, parts)
    if thing == message.name:
        new, description = _other_body(message, before, field, change, draw)
    else:
        new, description = _other_batch(message, before, alteration.kind, draw)
    try:
        other = new.frame()
    except Exception as problem:  # kio raises what it likes for a value that a field cannot have
        raise NothingToChange from problem
    if other == frame:
        raise NothingToChange
    return Altered([other], False, parts | set(partitions_of(new.body)), description, new)


def another(value: Any, change: str, others: list[Any], draw: random.Random) -> Any:
    """Return another value. `others` are those of the same field elsewhere. Raises NothingToChange."""
    if change == "swapped":
        differing = [other for other in others if other != value]
        if not differing:
            raise NothingToChange
        return draw.choice(differing)
    if change == "null":
        return None
    if change == "the other value":
        return not value
    if value is None and change in TEXTS:  # what may be null is a text, if anything
        value = ""
        if change == "empty":
            return value
    if value is None:
        raise NothingToChange
    if change == "another value":
        return _another_value(value, draw)
    if change == "empty":
        return type(value)()
    sign = -1 if change.endswith("less") else 1
    if isinstance(value, tuple):
        return (*value, (value[-1] if value else 0) + 1) if sign > 0 else value[:-1]
    if isinstance(value, int):
        return value + sign
    return value + sign * (MILLISECOND if change.startswith("one") else timedelta(seconds=FAR_S))


def _another_value(value: Any, draw: random.Random) -> Any:
    if isinstance(value, Enum):
        return draw.choice([truth for truth in type(value) if truth is not value])
    if isinstance(value, str):
        return f"{value}'"
    if isinstance(value, bytes):
        at = draw.randrange(len(value)) if value else 0
        return value[:at] + bytes([value[at] ^ draw.randrange(1, 256)]) + value[at + 1 :] if value else b"another"
    if isinstance(value, datetime):
        return value + timedelta(seconds=FAR_S)
    return value + draw.choice((-1_000, -2, 2, 1_000))


def _other_header(
    frame: bytes, message: Message, before: Message | None, field: str, change: str, draw: random.Random
) -> bytes:
    if field == "client_id":
        others = [] if before is None else [before.client_id]
        value = another(message.client_id, change, others, draw)
        return replace(message, client_id=value).frame()
    at, size = REQUEST_HEADER[field] if message.is_request else (0, 4)
    old = int.from_bytes(frame[4 + at : 4 + at + size], "big")
    other = {"correlation_id": before and before.correlation_id}.get(field)
    new: int = another(old, change, [] if other is None else [other], draw)
    return frame[: 4 + at] + (new & (1 << 8 * size) - 1).to_bytes(size, "big") + frame[4 + at + size :]


def _other_body(
    message: Message, before: Message | None, field: str, change: str, draw: random.Random
) -> tuple[Message, str]:
    body = message.body
    if field == ROW:
        arrays = list(arrays_of(body))
        if not arrays:
            raise NothingToChange
        place = draw.choice(arrays)
        rows = value_at(body, place)
        at = draw.randrange(len(rows))
        rows = (*rows[:at], *rows[at + 1 :]) if change == DROPPED else (*rows, rows[at])
        return message.with_body(with_value(body, place, rows)), f"{_dotted(place)}, number {at}"
    places = list(places_of(body, field))
    if not places:
        raise NothingToChange
    place = draw.choice(places)
    others = [value_at(body, other_place) for other_place in places if other_place != place]
    others += (
        [] if before is None else [value_at(before.body, other_place) for other_place in places_of(before.body, field)]
    )
    old = value_at(body, place)
    new = another(old, change, others, draw)
    return message.with_body(with_value(body, place, new)), f"{_dotted(place)}: {old!r} -> {new!r}"


def _other_batch(message: Message, before: Message | None, kind: Kind, draw: random.Random) -> tuple[Message, str]:
    if message.records is None:
        raise NothingToChange
    places = [place for place in places_of(message.body, message.records) if value_at(message.body, place)]
    if not places:
        raise NothingToChange
    place = draw.choice(places)
    old = bytes(value_at(message.body, place))
    previous = (
        []
        if before is None
        else [value_at(before.body, earlier_place) for earlier_place in places_of(before.body, message.records)]
    )
    new = batches.altered(
        old,
        kind.thing,
        kind.field,
        kind.change,
        next((bytes(earlier) for earlier in previous if earlier), None),
        lambda value, change, others: another(value, change, others, draw),
        draw,
    )
    return message.with_body(with_value(message.body, place, new)), f"{_dotted(place)}, {len(old)} bytes"


def _dotted(place: tuple[str | int, ...]) -> str:
    return ".".join(map(str, place))
