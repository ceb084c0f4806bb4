"""The rows of a recording by what they are: requests, readings, records, partitions, and each kind of event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fakebroker_load.journal.lines import COLUMNS
from fakebroker_load.results.folder import JOURNAL_PARQUET, LOG_PARQUET, PARQUET, PARTS_PARQUET
from witness_mutants.recording import SCHEMAS, Recording

Row = dict[str, Any]
Place = tuple[str, int]
EXTENT = ("start_offset", "readable_offset", "end_offset")
REQUESTS, READINGS, RECORDS, PARTITIONS = "requests", "readings", "records", "partitions"
NESTED = "read."
FEW = 3  # rows that one change puts others in the place of
# Which witness tells of each thing.
WITNESSES = {
    **dict.fromkeys((REQUESTS, READINGS), "client"),
    **dict.fromkeys((RECORDS, PARTITIONS), "log"),
    **dict.fromkeys(COLUMNS, "journal"),
}


class Rows:
    """The rows of one recording as Python has them, and their tables."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.all = {name: table.to_pylist() for name, table in recording.tables.items()}
        self.places: dict[str, list[int]] = {}  # of each thing, its rows in its table
        for at, row in enumerate(self.all[PARQUET]):
            self.places.setdefault(REQUESTS if row["read"] is None else READINGS, []).append(at)
        self.places[RECORDS] = list(range(len(self.all[LOG_PARQUET])))
        self.places[PARTITIONS] = list(range(len(self.all[PARTS_PARQUET])))
        for at, row in enumerate(self.all[JOURNAL_PARQUET]):
            self.places.setdefault(row["event"], []).append(at)

        peers: dict[tuple[str, int], list[Row]] = {}
        for row in self.all[PARQUET]:
            peers.setdefault((row["local"], row["correlation_id"]), []).append(row)
        self._asked = {
            row["request"]: requests
            for row in self.all[JOURNAL_PARQUET]
            if row["event"] == "request" and (requests := peers.get((row["peer"], row["correlation_id"])))
        }

        self._in_log = {
            (row["connection"], row["sequence"]) for row in self.all[LOG_PARQUET] if row["visible"] is not False
        }
        self._sent = {(row["connection"], row["sequence"]): row for row in self.all[PARQUET] if row["read"] is None}

        self._last = {row["connection"]: row["correlation_id"] for _, row in sorted(self._sent.items())}

        self.parts = {(row["topic"], row["partition"]): row for row in self.all[PARTS_PARQUET]}
        self.sent_to = {(row["topic"], row["partition"]) for row in self._sent.values()}
        self.elected = {
            (row["topic"], row["partition"]) for row in self.all[JOURNAL_PARQUET] if row["event"] == "leader_changed"
        }
        # Partitions in which an answer NONE to acks=all waited for the watermark.
        self.acknowledged = {
            (row["topic"], row["partition"])
            for row in self._sent.values()
            if (row["acks"], row["error_code"], row["client"]) == (-1, 0, "raw")
        }

        self._connections = {
            row["connection"]: request
            for row in self.all[JOURNAL_PARQUET]
            if (request := self.request_of(row)) and row["connection"] is not None
        }

        self._of_request: dict[int, list[Row]] = {}  # the events of each request of the broker
        for row in self.all[JOURNAL_PARQUET]:
            if row["event"] in IN_ORDER and row["request"] is not None:
                self._of_request.setdefault(row["request"], []).append(row)

        readings = [row for row in self.all[PARQUET] if row["read"] is not None]
        self._given = Counter(_given(row) for row in readings if row["read"]["what"] == "record")
        self._of_readings = [
            field for field in RESULT_FIELDS if any(value_of(row, field) is not None for row in readings)
        ]

    def request_of(self, row: Row) -> Row | None:
        """Return the request of a row; unknown for an event of Kafka's producer."""
        if "seq" in row:
            requests = self._asked.get(row["request"], [])
            place = row["topic"], row["partition"]
            return next(
                (request for request in requests if (request["topic"], request["partition"]) == place),
                next(iter(requests), None),
            )
        return self._sent.get((row["connection"], row["sequence"])) if "connection" in row else None

    def is_in_log(self, asked: Row) -> bool:
        """Return True if the record of a request can be read back."""
        return (asked["connection"], asked["sequence"]) in self._in_log

    def is_last(self, asked: Row) -> bool:
        """Return True if no later request of its connection exists."""
        return bool(asked["correlation_id"] == self._last[asked["connection"]])

    def is_given_again(self, row: Row) -> bool:
        """Return True if the readers of a group got this record more than once."""
        return self._given[_given(row)] > 1

    def is_in_order(self, row: Row) -> bool:
        """Return True if an event with this `seq` still comes after the causes of its request and before their
        consequences."""
        others = [event for event in self._of_request.get(row["request"], ()) if event["event"] != row["event"]]
        at = IN_ORDER.index(row["event"])
        return row["seq"] is not None and all(
            (event["seq"] <= row["seq"]) == (IN_ORDER.index(event["event"]) < at) for event in others
        )

    def is_before_its_answers(self, row: Row) -> bool:
        """Return True if a high watermark with this `seq` comes before each acks=all response about the records that it
        covers first."""
        return row["seq"] is not None and all(answer["seq"] > row["seq"] for answer in self._answers_of(row))

    def is_made_up_for(self, row: Row) -> bool:
        """Return True if a higher high watermark, too, comes before each of these responses."""
        higher = [
            moved["seq"]
            for _, moved in self.of("watermark_moved")
            if _place(moved) == _place(row) and moved["high_watermark"] > row["high_watermark"]
        ]
        return all(min(higher, default=answer["seq"]) < answer["seq"] for answer in self._answers_of(row))

    def _answers_of(self, moved: Row) -> Iterator[Row]:
        """Yield the acks=all responses about the records that this high watermark covers first."""
        place, covered = _place(moved), moved["high_watermark"]
        marks = [other["high_watermark"] for _, other in self.of("watermark_moved") if _place(other) == place]
        first = max((mark for mark in marks if mark < covered), default=0)
        for _, answer in self.of("answer"):
            if _place(answer) == place and answer["error_code"] == 0 and first <= answer["base_offset"] < covered:
                request = self.request_of(answer)
                if request is not None and request["acks"] == -1:
                    yield answer

    def has_appends(self, led: Row) -> bool:
        """Return True if something was appended under this leader."""
        later = [
            event
            for event in self.all[JOURNAL_PARQUET]
            if _place(event) == _place(led) and event["seq"] > led["seq"] and event["event"] in ("append", led["event"])
        ]
        appended = [event["event"] == "append" and event["base_offset"] >= 0 for event in later]
        return bool(appended) and appended[0]

    def is_read_in_order(self, row: Row) -> bool:
        """Return True if a reader's rows about this partition have their records in order with this `sequence`."""
        others = [
            other
            for _, other in self.of(READINGS)
            if (other["connection"], *_place(other)) == (row["connection"], *_place(row))
            and other["read"]["what"] == row["read"]["what"] == "record"
            and other["read"]["offset"] != row["read"]["offset"]
        ]
        return row["sequence"] is not None and all(
            (other["sequence"] < row["sequence"]) == (other["read"]["offset"] < row["read"]["offset"])
            for other in others
        )

    def has_twin(self, place: Place) -> bool:
        """Return True if the log of another partition of the topic begins and ends at the same offsets."""
        extents = {at: tuple(row[name] for name in EXTENT) for at, row in self.parts.items() if at[0] == place[0]}
        return list(extents.values()).count(extents[place]) > 1

    def whose(self, row: Row) -> tuple[int | None, tuple[str, int] | None]:
        """Return the connection and the partition of a row."""
        place = (row["topic"], row["partition"]) if row.get("topic") is not None else None
        if "seq" not in row:
            return row.get("connection"), place
        request = self.request_of(row) or self._connections.get(row["connection"])
        if request is None:
            return None, place
        return request["connection"], place or (request["topic"], request["partition"])

    def things(self, ways: int) -> list[str]:
        """Return the kinds of rows that exist with so many ways: two ways lack the journal."""
        return [thing for thing, places in self.places.items() if places and (ways == 3 or thing not in COLUMNS)]

    def fields(self, thing: str) -> list[str]:
        """Return the fields of such a row that can be changed. `run` tells the copies apart."""
        if thing in COLUMNS:
            return list(COLUMNS[thing])
        if thing != READINGS:
            return [name for name in SCHEMAS[table_of(thing)].names if name not in ("run", "read")]
        return self._of_readings

    def of(self, thing: str) -> Iterator[tuple[int, Row]]:
        table = self.all[table_of(thing)]
        return ((at, table[at]) for at in self.places[thing])


# The events of a request, in the order in which they must come.
IN_ORDER = ("request", "produce", "append", "parked", "answer")


def _place(row: Row) -> Place:
    return row["topic"], row["partition"]


def _given(row: Row) -> tuple[Any, ...]:
    read = row["read"]
    return row["group"], row["topic"], row["partition"], read["of_connection"], read["of_sequence"], read["what"]


RESULT_FIELDS = [
    *(name for name in SCHEMAS[PARQUET].names if name not in ("run", "read")),
    *(f"{NESTED}{field.name}" for field in SCHEMAS[PARQUET].field("read").type),
]


def table_of(thing: str) -> str:
    """Return the folder with its rows."""
    return {REQUESTS: PARQUET, READINGS: PARQUET, RECORDS: LOG_PARQUET, PARTITIONS: PARTS_PARQUET}.get(
        thing, JOURNAL_PARQUET
    )


def type_of(thing: str, field: str) -> pa.DataType:
    schema = SCHEMAS[table_of(thing)]
    if field.startswith(NESTED):
        return schema.field("read").type.field(field.removeprefix(NESTED)).type
    return schema.field(field).type


def value_of(row: Row, field: str) -> Any:
    if field.startswith(NESTED):
        return (row["read"] or {}).get(field.removeprefix(NESTED))
    return row[field]


def with_value(row: Row, field: str, value: Any) -> Row:
    if field.startswith(NESTED):
        return row | {"read": row["read"] | {field.removeprefix(NESTED): value}}
    return row | {field: value}


def spliced(
    table: pa.Table, rows: Sequence[Row], changed: Mapping[int, Row | None], added: Sequence[Row] = ()
) -> pa.Table:
    """Return the table of these rows with other rows in some places (None: without this one), and some more at its end.
    Raises pa.ArrowInvalid for a value that the column cannot have."""
    if len(changed) > FEW:
        return pa.Table.from_pylist([changed.get(at, row) for at, row in enumerate(rows)], schema=table.schema)
    pieces, start = [], 0
    for at in sorted(changed):
        pieces.append(table.slice(start, at - start))
        if (row := changed[at]) is not None:
            pieces.append(pa.Table.from_pylist([row], schema=table.schema))
        start = at + 1
    pieces.append(table.slice(start))
    if added:
        pieces.append(pa.Table.from_pylist(list(added), schema=table.schema))
    return pa.concat_tables(pieces)
