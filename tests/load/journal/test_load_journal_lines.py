"""Events of the journal as rows, and the names of records, which are the journal's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakebroker.core.journal import events
from fakebroker.core.journal import fingerprints as of_the_journal
from fakebroker.core.journal.json_lines import to_json
from fakebroker.protocol.record_batch import Record
from fakebroker_load.journal.lines import JOURNAL_SCHEMA, rows_of
from fakebroker_load.wire.messages import fingerprint

APPEND = events.Append(1, 2, 3, 1, "t", 0, "NONE", 5, 5, False, 0, -1, -1, -1, ("f",))


def rows(event: events.Event, peer: str | None = None) -> list[dict[str, Any]]:
    """Without what is not in the schema, and not there."""
    found = rows_of("r", 9, json.loads(to_json(event)), peer)
    return [{name: row[name] for name in JOURNAL_SCHEMA.names if row.get(name) is not None} for row in found]


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


def test_an_append_of_one_record_has_its_name() -> None:
    assert rows(APPEND)[0]["fingerprint"] == "f"
    for records in ((), ("f", "g")):
        assert "fingerprint" not in rows(APPEND._replace(records=records))[0]
    assert rows(APPEND._replace(error="NOT_ENOUGH_REPLICAS"))[0]["error_code"] == 19


def test_an_append_of_more_has_all_their_names_and_a_marker_is_one() -> None:
    (of_two,) = rows(APPEND._replace(records=("f", "g")))
    assert (of_two["records"], of_two["is_marker"]) == (["f", "g"], False)
    assert rows(APPEND._replace(producer_id=5, base_sequence=3))[0]["is_marker"] is False
    assert rows(APPEND._replace(producer_id=5, base_sequence=-1))[0]["is_marker"] is True


def test_what_nobody_asks_for_has_no_rows() -> None:
    assert rows(events.TimerFired(1, 2, 3, 4)) == []


@pytest.mark.parametrize(
    "record", [Record(b"k", b"v"), Record(None, b""), Record(b"", None), Record(b"k", b"v" * 9_000, (("h", b"x"),))]
)
def test_the_load_and_the_journal_have_one_name_for_a_record(record: Record) -> None:
    assert fingerprint(record) == of_the_journal.fingerprint(record)
