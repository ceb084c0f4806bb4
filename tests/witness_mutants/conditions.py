"""Conditions of the table of facts: of which rows a rule does not see a change (`unseen` in fakebroker_load/facts).

Theory   An excuse must hold for each row that was changed: of two rows that are swapped, one that is judged is enough.
         It is about the row as it was. Conditions of AFTERWARDS are about the row as it is after the change.
         A row is of a request of the load if it is that request, its record, or an event of the journal about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakebroker.protocol.error_code import ErrorCode
from fakebroker_load.facts.table import ALWAYS
from fakebroker_load.scenario.batches import NO_COMPRESSION
from witness_mutants.rows import Place, Row, Rows

TIMED_OUT = int(ErrorCode.request_timed_out)
CERTAIN = (int(ErrorCode.none), TIMED_OUT)  # they claim that the record stands in the log
Condition = Callable[[Rows, Row], bool]


def _of_request(is_so: Condition) -> Condition:
    """A condition on the request that the row is of; not met if it is of none."""

    def meets(rows: Rows, row: Row) -> bool:
        request = rows.request_of(row)
        return request is not None and is_so(rows, request)

    return meets


def _of_place(is_so: Callable[[Rows, Place], bool]) -> Condition:
    """A condition on the partition that a row names; not met if it names none."""
    return lambda rows, row: row["topic"] is not None and is_so(rows, (row["topic"], row["partition"]))


def _read(row: Row) -> Row:
    return row.get("read") or {}


def _is_member(row: Row) -> bool:
    return _read(row).get("group_id") is not None


_of_raw = _of_request(lambda rows, request: request["client"] == "raw")

CONDITIONS: Mapping[str, Condition] = {
    ALWAYS: lambda rows, row: True,
    "of raw requests": _of_raw,
    "of what is no raw request": lambda rows, row: not _of_raw(rows, row),
    "of what is in no log": _of_request(lambda rows, request: not rows.is_in_log(request)),
    "of what was not answered": _of_request(lambda rows, request: request["outcome"] != "answered"),
    "of what did not time out": _of_request(lambda rows, request: request["error_code"] != TIMED_OUT),
    "of other answers than NONE and REQUEST_TIMED_OUT": _of_request(
        lambda rows, request: request["error_code"] not in CERTAIN
    ),
    "of what does not wait": _of_request(lambda rows, request: not request["must_wait"]),
    "of what has no other right answer": _of_request(lambda rows, request: not request["also"]),
    "of what is not compressed": _of_request(lambda rows, request: request["compression"] in (None, NO_COMPRESSION)),
    "of what was not throttled": _of_request(lambda rows, request: not request["throttle_ms"]),
    "of what is last on its connection": _of_request(lambda rows, request: rows.is_last(request)),
    "of rows that end no reader": lambda rows, row: _read(row).get("what") != "done",
    "of rows that are no record": lambda rows, row: _read(row).get("what") != "record",
    "of readers of no group": lambda rows, row: not _is_member(row),
    "of members": lambda rows, row: _is_member(row),
    "of what members were given again": lambda rows, row: _is_member(row) and rows.is_given_again(row),
    "of what members own and commit": lambda rows, row: _is_member(row) and _read(row)["what"] != "record",
    "of what is shown": lambda rows, row: row["visible"] is not False,
    "of what is not shown": lambda rows, row: row["visible"] is False,
    "of topics without transactions": lambda rows, row: row["visible"] is None,
    "of appends of one record": lambda rows, row: row["base_offset"] == row["last_offset"],
    "of markers": lambda rows, row: bool(row["is_marker"]),
    "of other topics": _of_place(lambda rows, place: place not in rows.parts),
    "of partitions with an election": _of_place(lambda rows, place: place in rows.elected),
    "of partitions in which nothing waited": _of_place(lambda rows, place: place not in rows.acknowledged),
    "of partitions that nothing was sent to": _of_place(lambda rows, place: place not in rows.sent_to),
    "of partitions without a new record": lambda rows, row: row["start_offset"] == row["end_offset"],
    "of topics of transactions": lambda rows, row: bool(row["transactional"]),
    "of partitions with a leader that moved": lambda rows, row: not row["same_leader"],
    "of partitions that end above what was shown": lambda rows, row: (
        row["shown_offset"] is not None and row["shown_offset"] < row["end_offset"]
    ),
    "of watermarks that a higher one makes up for": lambda rows, row: rows.is_made_up_for(row),
    "of leaders without an append": lambda rows, row: not rows.has_appends(row),
    "of partitions with as many records as another": _of_place(lambda rows, place: rows.has_twin(place)),
}


AFTERWARDS: Mapping[str, Condition] = {
    "of records that still lie below it": lambda rows, row: (
        row["read"]["high_watermark"] is not None and row["read"]["offset"] < row["read"]["high_watermark"]
    ),
    "of outcomes that are right as well": lambda rows, row: row["outcome"] in row["also"],
    "of records that lose it": lambda rows, row: row["place"] is None,
    "of records that stay in their order": lambda rows, row: rows.is_read_in_order(row),
    "of rows that lose it": lambda rows, row: row["read"]["high_watermark"] is None,
    "of watermarks that still come before the answers that waited": lambda rows, row: rows.is_before_its_answers(row),
    "of what stays in the order of its request": lambda rows, row: rows.is_in_order(row),
}


def is_met(rows: Rows, condition: str, row: Row, after: Row | None) -> bool:
    """Return True if a changed row meets the condition; `after` is None for a row that is gone. Raises KeyError for an
    unknown condition."""
    if condition in AFTERWARDS:
        return after is not None and AFTERWARDS[condition](rows, after)
    return CONDITIONS[condition](rows, row)
