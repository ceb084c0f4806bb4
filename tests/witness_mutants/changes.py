"""Changes of one run: a cell, a row, a whole column, or a clock. Each change is made once.

Shape    `draw_mutant` gives a Mutant: the table that it changes, and what was changed there.
Units    A time is far off if it is off by FAR_S, which is more than any limit of lateness allows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import pyarrow as pa

from fakebroker.protocol.error_code import ErrorCode
from fakebroker_load.results.folder import JOURNAL_PARQUET
from fakebroker_load.wire.client import RequestOutcome
from witness_mutants.rows import (
    PARTITIONS,
    READINGS,
    RECORDS,
    REQUESTS,
    Row,
    Rows,
    spliced,
    table_of,
    type_of,
    value_of,
    with_value,
)

FAR_S = 90
UNITS_OF_A_SECOND = {"_us": 1_000_000, "_ms": 1_000}  # by the end of a column's name
CLIENT_TIMES = ("intended_us", "sent_us", "answered_us")
JOURNAL_TIMES = ("mono_ms", "received_mono_ms", "deadline_mono_ms")
RATES = (0.5, 0.9, 1.1, 2.0)
ORDER = "seq"
ROW, CLOCK, CLIENT, JOURNAL = "a row", "clock", "client", "journal"

Table = tuple[Mapping[int, Row | None], list[Row]]  # rows in the place of others, and more rows


class Kind(NamedTuple):
    """A kind of change: `thing` and `field` as in the table of facts, or ROW or CLOCK in the place of a field."""

    thing: str
    field: str
    change: str

    def __str__(self) -> str:
        return f"{self.thing}, {self.field}: {self.change}"


class Mutant(NamedTuple):
    """One run with one change; `before` and `after` are the rows that were changed."""

    kind: Kind
    folder: str
    table: pa.Table
    before: tuple[Row, ...]
    after: tuple[Row, ...]

    @property
    def changed(self) -> list[tuple[Row, Row | None]]:
        """Yield each changed row before and after the change; None for a deleted one."""
        return list(zip_longest(self.before, self.after)) if len(self.after) <= len(self.before) else []

    def told(self) -> str:
        changed = [
            f"{name} {old[name]!r} -> {new[name]!r}"
            for old, new in zip(self.before, self.after, strict=False)
            for name in old
            if old[name] != new[name]
        ]
        return f"{self.kind} ({'; '.join(changed[:4])})"


def is_time(field: str) -> bool:
    return field.endswith(tuple(UNITS_OF_A_SECOND))


def far(field: str) -> int:
    return FAR_S * UNITS_OF_A_SECOND[field[-3:]]


def kinds(rows: Rows, ways: int) -> list[Kind]:
    """Every kind of change that a run can have."""
    kinds_: list[Kind] = []
    for thing in rows.things(ways):
        for field in rows.fields(thing):
            kinds_ += [Kind(thing, field, change) for change in changes_of(thing, field)]
        kinds_ += [Kind(thing, ROW, change) for change in ROW_CHANGES]
        if thing in CAUSES:
            kinds_ += [Kind(thing, ROW, f"before its {cause}") for cause in CAUSES[thing]]
    kinds_.append(Kind(REQUESTS, ROW, ANSWERED_FIRST))
    kinds_ += [Kind(CLIENT, CLOCK, f"at {rate} of its rate") for rate in RATES]
    if ways == 3:
        kinds_ += [Kind(JOURNAL, CLOCK, f"at {rate} of its rate") for rate in RATES]
    return kinds_


def changes_of(thing: str, field: str) -> list[str]:
    """Every change that a field can have."""
    if field == ORDER:  # of its values the order alone means anything
        return ["another value", "null", "swapped", "in all rows far more", "in all rows far less"]
    kind = type_of(thing, field)
    if pa.types.is_boolean(kind):
        return ["the other value", "null", "swapped"]
    if pa.types.is_list(kind):
        return ["one more", "one less", "another value", "null", "swapped"]
    if not pa.types.is_integer(kind):
        return ["another value", "null", "swapped"]
    columns = [f"in all rows {how}" for how in ("a little more", "a little less", "far more", "far less")]
    other = ["far more", "far less"] if is_time(field) else ["another value"]
    return ["one more", "one less", *other, "null", "swapped", *columns]


def draw_mutant(rows: Rows, kind: Kind, draw: random.Random) -> Mutant | None:
    """Return a mutant of this kind; None if this draw changes nothing."""
    folder = table_of(REQUESTS if kind.thing == CLIENT else kind.thing)
    table = rows.recording.tables[folder]
    made: Table | None
    if kind.field == CLOCK:
        made = _at_another_rate(rows, kind)
    elif kind.field == ROW:
        made = _row_change(rows, kind, draw)
    elif kind.change.startswith("in all rows "):
        made = _shifted(rows, kind)
    else:
        made = _cell_change(rows, kind, draw)
    if made is None:
        return None
    changed, added = made
    before = tuple(rows.all[folder][at] for at in sorted(changed))
    after = tuple(row for at in sorted(changed) if (row := changed[at]) is not None)
    if (not added and before == after) or (
        kind.field == ORDER and _order(rows.all[folder], {}) == _order(rows.all[folder], changed)
    ):
        return None
    try:
        changed_table = spliced(table, rows.all[folder], changed, added)
    except pa.ArrowInvalid:  # the column is too narrow
        return None
    return Mutant(kind, folder, changed_table, before or tuple(added), after)


def _order(table: Sequence[Row], changed: Mapping[int, Row | None]) -> list[int]:
    """Return the places of the rows in the order of their events; a moved row without a place comes first."""
    seqs = [(changed.get(at) or row)[ORDER] for at, row in enumerate(table)]
    return sorted(range(len(table)), key=lambda at: -1 if seqs[at] is None else seqs[at])


def _cell_change(rows: Rows, kind: Kind, draw: random.Random) -> Table | None:
    thing, field, change = kind
    at, row = draw.choice(list(rows.of(thing)))
    value = value_of(row, field)
    others = [(place, other) for place, other in rows.of(thing) if value_of(other, field) != value]
    if change == "swapped":
        if not others:
            return None
        place, other = draw.choice(others)
        return {at: with_value(row, field, value_of(other, field)), place: with_value(other, field, value)}, []
    new = _changed_value(kind, value, [value_of(other, field) for _, other in others], draw)
    return None if new == value else ({at: with_value(row, field, new)}, [])


def _changed_value(kind: Kind, value: Any, others: list[Any], draw: random.Random) -> Any:
    _, field, change = kind
    if change == "null":
        return None
    if change == "the other value":
        return not value
    if isinstance(value, list):
        if change == "one more":
            return [*value, "another"]
        if not value:
            return value
        at = draw.randrange(len(value))
        return value[:at] + ["another"] * (change == "another value") + value[at + 1 :]
    if change == "another value":
        return _another_value(kind, value, others, draw)
    if value is None:
        return None
    return value + _signed(change) * (far(field) if "far" in change else 1)


def _another_value(kind: Kind, value: Any, others: list[Any], draw: random.Random) -> Any:
    """Return another value: one of another row, another valid one, or one that occurs nowhere."""
    choices = [other for other in others if other is not None]
    if kind.field == "outcome":
        choices += map(str, RequestOutcome)
    elif kind.field.endswith(("error_code", "expected_error")):
        choices += [draw.choice([int(code) for code in ErrorCode])]
    elif pa.types.is_integer(type_of(kind.thing, kind.field)):
        choices = [draw.choice(choices)] if choices else []
        choices += [(value or 0) + offset for offset in (-1_000, -2, 2, 1_000)]
    elif pa.types.is_string(type_of(kind.thing, kind.field)):
        choices = [draw.choice(choices)] if choices else []
        choices += [f"{value or ''}'"]
    return draw.choice(choices) if choices else value


def _signed(change: str) -> int:
    return -1 if change.endswith("less") else 1


def _shifted(rows: Rows, kind: Kind) -> Table:
    thing, field, change = kind
    step = UNITS_OF_A_SECOND[field[-3:]] // 1_000 if is_time(field) else 1
    if "far" in change:
        step = far(field) if is_time(field) else 1_000
    step *= _signed(change)
    most = 1 << type_of(thing, field).bit_width - 1
    places = [(at, row, value_of(row, field)) for at, row in rows.of(thing)]
    return {
        at: with_value(row, field, value + step)
        for at, row, value in places
        if value is not None and -most <= value + step < most
    }, []


def _at_another_rate(rows: Rows, kind: Kind) -> Table:
    rate = float(kind.change.split()[1])
    is_client = kind.thing == CLIENT
    table = rows.all[table_of(REQUESTS if is_client else kind.thing)]
    names = CLIENT_TIMES if is_client else JOURNAL_TIMES
    zero = 0 if is_client else min(row["mono_ms"] for row in table)
    return {
        at: row | {name: zero + int((row[name] - zero) * rate) for name in names if row[name] is not None}
        for at, row in enumerate(table)
    }, []


ANSWERED_FIRST = "answered before it was sent"
ROW_CHANGES = ("dropped", "doubled", "moved in time")
CAUSES: Mapping[str, tuple[str, ...]] = {
    "produce": ("request",),
    "append": ("request", "produce"),
    "parked": ("produce", "append"),
    "answer": ("request", "produce", "append", "parked"),
    "watermark_moved": ("append",),
}


def _row_change(rows: Rows, kind: Kind, draw: random.Random) -> Table | None:
    at, row = draw.choice(list(rows.of(kind.thing)))
    if kind.change == ANSWERED_FIRST:
        return {at: row | {"sent_us": row["answered_us"], "answered_us": row["sent_us"]}}, []
    if kind.change == "dropped":
        return {at: None}, []
    if kind.change == "doubled":
        return {}, [row]
    if kind.change == "moved in time":
        return MOVED[kind.thing](rows, at, row, draw) if kind.thing in MOVED else _moved_event(rows, at, row, draw)
    cause = _cause_of(rows, kind.change.removeprefix("before its "), row)
    if cause is None:
        return None
    place, earlier = cause
    return {
        at: row | {"seq": earlier["seq"], "mono_ms": earlier["mono_ms"]},
        place: earlier | {"seq": row["seq"], "mono_ms": row["mono_ms"]},
    }, []


def _cause_of(rows: Rows, event: str, row: Row) -> tuple[int, Row] | None:
    """Return the event that caused this one: of the same request, or of the same partition."""
    if event not in rows.places:
        return None
    earlier = [(at, other) for at, other in rows.of(event) if other["seq"] < row["seq"]]
    if row["event"] == "watermark_moved":
        causes = [
            (at, other)
            for at, other in earlier
            if (other["topic"], other["partition"]) == (row["topic"], row["partition"])
            and other["base_offset"] < row["high_watermark"]
        ]
    else:
        causes = [(at, other) for at, other in earlier if other["request"] == row["request"]]
    return max(causes, key=lambda cause: int(cause[1]["seq"]), default=None)


def _moved_client(rows: Rows, at: int, row: Row, draw: random.Random) -> Table | None:
    by = draw.choice((-1, 1)) * far("_us")
    times = [name for name in ("sent_us", "answered_us") if row[name] is not None]
    return {at: row | {name: row[name] + by for name in times}}, []


def _moved_record(rows: Rows, at: int, row: Row, draw: random.Random) -> Table | None:
    """Move the record to the end of its log."""
    ends = [other["offset"] for _, other in rows.of(RECORDS) if _place(other) == _place(row)]
    return {at: row | {"offset": max(ends) + 1}}, []


def _moved_partition(rows: Rows, at: int, row: Row, draw: random.Random) -> Table | None:
    """Change the partition as if it had been read with one record more."""
    names = [name for name in ("start_offset", "readable_offset", "end_offset") if row[name] is not None]
    return {at: row | {name: row[name] + 1 for name in names}}, []


def _moved_event(rows: Rows, at: int, row: Row, draw: random.Random) -> Table | None:
    """Move the event to the beginning or the end of the journal."""
    seqs = [event["seq"] for event in rows.all[JOURNAL_PARQUET]]
    sign = draw.choice((-1, 1))
    seq = max(seqs) + 1 if sign > 0 else min(seqs) - 1
    return {at: row | {"seq": seq, "mono_ms": row["mono_ms"] + sign * far("_ms")}}, []


MOVED: Mapping[str, Callable[[Rows, int, Row, random.Random], Table | None]] = {
    REQUESTS: _moved_client,
    READINGS: _moved_client,
    RECORDS: _moved_record,
    PARTITIONS: _moved_partition,
}


def _place(row: Row) -> tuple[str, int]:
    return row["topic"], row["partition"]
