"""Events of the journal as rows, and the names of records, which are the journal's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from fakebroker.core.journal import events
from fakebroker.core.journal import fingerprints as of_the_journal
from fakebroker.core.journal.json_lines import to_json
from fakebroker.protocol.record_batch import Record
from fakebroker_load.journal.lines import JOURNAL_SCHEMA, Rows, event_of, read_event
from fakebroker_load.wire.messages import fingerprint

APPEND = events.Append(1, 2, 3, 1, "t", 0, "NONE", 5, 5, False, 0, -1, -1, -1, ("f",))


def rows(event: events.Event, peer: str | None = None) -> list[dict[str, Any]]:
    """Return the row of an event without its null fields, read from a line of the file and from the control."""
    line = to_json(event)
    both = [read_event(line.encode()), event_of({"seq": 9, **json.loads(line)})]
    both_rows = [Rows("r"), Rows("r")]
    for gathered, group_event in zip(both_rows, both, strict=True):
        if group_event is not None:
            gathered.add(9, group_event, peer)
    of_line, of_control = ([row for table in rows_.tables() for row in table.to_pylist()] for rows_ in both_rows)
    assert of_line == of_control
    return [{name: value for name, value in row.items() if value is not None} for row in of_line]


def test_a_request_has_its_peer() -> None:
    request = events.Request(1, 2, 3, 4, 1, "Produce", 9, 77, "me", 0, 100)
    assert rows(request, "h:1") == [
        {
            "run": "r", "seq": 9, "event": "request", "mono_ms": 1, "connection": 4, "request": 3, "peer": "h:1",
            "api": "Produce", "correlation_id": 77, "client_id": "me", "received_mono_ms": 0,
        }
    ]  # fmt: skip
    assert rows(request._replace(api="ListOffsets")) == []


def test_a_row_for_each_partition() -> None:
    produce = events.Produce(1, 2, 3, -1, 500, None, (("t", 0), ("t", 1)))
    assert [(row["topic"], row["partition"], row["acks"]) for row in rows(produce)] == [("t", 0, -1), ("t", 1, -1)]
    parts = (events.PartitionAnswer("t", 0, "NONE", 5), events.PartitionAnswer("t", 1, "REQUEST_TIMED_OUT", 6))
    answer = events.Answer(1, 2, 3, 4, "sent", 50, parts)
    assert [(row["partition"], row["error_code"], row["base_offset"]) for row in rows(answer)] == [(0, 0, 5), (1, 7, 6)]
    (none,) = rows(answer._replace(outcome="none", partitions=()))
    assert none["outcome"] == "none"
    assert "error_code" not in none


def test_an_append_has_the_names_of_its_records() -> None:
    for records in ((), ("f",), ("f", "g")):
        assert rows(APPEND._replace(records=records))[0].get("records", []) == list(records)
    assert rows(APPEND._replace(error="NOT_ENOUGH_REPLICAS"))[0]["error_code"] == 19


def test_an_append_of_more_has_all_their_names_and_a_marker_is_one() -> None:
    (of_two,) = rows(APPEND._replace(records=("f", "g")))
    assert (of_two["records"], of_two["is_marker"]) == (["f", "g"], False)
    assert rows(APPEND._replace(producer_id=5, base_sequence=3))[0]["is_marker"] is False
    assert rows(APPEND._replace(producer_id=5, base_sequence=-1))[0]["is_marker"] is True


@pytest.mark.parametrize(
    "event", [events.TimerFired(1, 2, 3, 4), events.Expired(1, 2, 3), events.Completed(1, 2, 3)], ids=str
)
def test_events_that_are_not_needed_have_no_rows(event: events.Event) -> None:
    assert rows(event) == []


def test_watermarks_have_a_row_each_and_kinds_a_table_each() -> None:
    gathered = Rows("r")
    written: list[events.Event] = [
        events.WatermarkMoved(1, 2, "t", 0, 5, 7, 8),
        events.LeaderChanged(3, 4, "t", 1, 2, 6, (2,), 9, 10),
        events.WatermarkMoved(5, 6, "t", 0, 5, 8, 8),
    ]
    for seq, event in enumerate(written):
        event_read = read_event(to_json(event).encode())
        assert event_read is not None
        gathered.add(seq, event_read, None)
    assert [len(table) for table in gathered.tables(at_least=2)] == [2]
    (left,) = gathered.tables()
    assert left.schema == JOURNAL_SCHEMA
    (row,) = left.to_pylist()
    names = ("run", "seq", "event", "mono_ms", "topic", "partition", "high_watermark", "log_end_offset")
    assert [row[name] for name in names] == ["r", 1, "leader_changed", 3, "t", 1, 10, 9]
    assert list(gathered.tables()) == []


def test_every_kind_of_row_is_one_of_the_journal_s_events() -> None:
    """The fields are those that the broker writes: one event of each kind is read, and no kind is missing."""
    made: dict[str, events.Event] = {
        "connection_opened": events.ConnectionOpened(1, 2, 3, 1, "h:1"),
        "connection_closed": events.ConnectionClosed(1, 2, 3, 1, ""),
        "dropped": events.Dropped(1, 2, 7),
        "parked": events.Parked(1, 2, 3, "Produce", 50, 51),
    }
    for kind, event in made.items():
        event_read = read_event(to_json(event).encode())
        assert event_read is not None
        fields = to_builtins(event_read)
        assert fields.pop("event") == kind
        assert fields == {name: getattr(event, name) for name in fields}


@pytest.mark.parametrize(
    "record", [Record(b"k", b"v"), Record(None, b""), Record(b"", None), Record(b"k", b"v" * 9_000, (("h", b"x"),))]
)
def test_the_load_and_the_journal_have_one_name_for_a_record(record: Record) -> None:
    assert fingerprint(record) == of_the_journal.fingerprint(record)
