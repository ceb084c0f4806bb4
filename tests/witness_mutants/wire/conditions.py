"""Conditions of the table of facts that are about a message on the wire (`unseen` in fakebroker_load/facts).

Theory   An excuse must hold for the message that was altered. `asked` is the request that it is, or that it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.error_code import ErrorCode
from fakebroker_load.facts.table import ALWAYS
from fakebroker_load.results.folder import PARQUET, PARTS_PARQUET
from fakebroker_load.wire.log_messages import MAX_BYTES, whole_batches
from witness_mutants.recording import Recording
from witness_mutants.rows import Row
from witness_mutants.wire.altering import Alteration
from witness_mutants.wire.fields import places_of, value_at
from witness_mutants.wire.tap import Done


def _api(row: Row) -> str:
    return str(row["message"]).split()[0]


def _is_of_reader(row: Row) -> bool:
    """Return True if a reader has asked: for less at a time than the read-back of the log."""
    return _api(row) == "Fetch" and row["asked"].max_bytes < MAX_BYTES


def _values(row: Row, field: str) -> list[Any]:
    body = row["before"] if row["after"] is None else row["after"]
    return [value_at(body, place) for place in places_of(body, field)]


def _starts_fit(row: Row) -> bool:
    """Return True if no partition has a log start beyond its record, or below -1."""
    starts, offsets = (
        _values(row, f"responses.partition_responses.{name}") for name in ("log_start_offset", "base_offset")
    )
    return all(start >= -1 and (offset < 0 or start <= offset) for start, offset in zip(starts, offsets, strict=True))


def _leaders(metadata: Any) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the address of the leader of each partition that has one."""
    brokers = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
    return {
        (topic.name, part.partition_index): brokers[part.leader_id]
        for topic in metadata.topics
        for part in topic.partitions
        if part.leader_id in brokers
    }


def _offset(row: Row, which: str) -> int:
    (place,) = places_of(row[which], "topics.partitions.fetch_offset")
    return int(value_at(row[which], place))


def _is_lower(row: Row) -> bool:
    """Return True if a Fetch asks for a lower offset than before, and for one that may exist."""
    if row["after"] is None or not row["is_request"] or _api(row) != "Fetch":
        return False
    return 0 <= _offset(row, "after") < _offset(row, "before")


def _lacks_follower(row: Row) -> bool:
    """Return True if each ISR has its leader, and no replica that it did not have."""
    if row["after"] is None:
        return False
    before, after = ([part for topic in row[name].topics for part in topic.partitions] for name in ("before", "after"))
    return len(before) == len(after) and all(
        new.leader_id in new.isr_nodes and set(new.isr_nodes) <= set(old.isr_nodes)
        for old, new in zip(before, after, strict=True)
    )


def _is_out_of_sync(row: Row) -> bool:
    """Return True if each replica that came or went is out of sync."""
    if row["after"] is None:
        return False
    before, after = ([part for topic in row[name].topics for part in topic.partitions] for name in ("before", "after"))
    return len(before) == len(after) and all(
        not (set(new.replica_nodes) ^ set(old.replica_nodes)) & set(new.isr_nodes)
        for old, new in zip(before, after, strict=True)
    )


def _is_replaced(row: Row) -> bool:
    """Return True if each partition of an OffsetCommit has a greater commit in the run."""
    if row["after"] is None:
        return False
    return all(
        part.committed_offset < row["commits"].get((topic.name, part.partition_index), -1)
        for topic in row["before"].topics
        for part in topic.partitions
    )


def _is_above(row: Row) -> bool:
    """Return True if the high watermark in a response to a reader is above its records."""
    marks, records = (_values(row, f"responses.partitions.{name}") for name in ("high_watermark", "records"))
    last = [max((header.last_offset for header, _ in whole_batches(data or b"")), default=-1) for data in records]
    return all(mark > offset for mark, offset in zip(marks, last, strict=True))


def _is_emptied(row: Row) -> bool:
    """Return True if no partition has other records than before, but for those that have no whole batch now."""
    if row["after"] is None:
        return False
    before, after = (
        [value_at(row[name], place) for place in places_of(row[name], "responses.partitions.records")]
        for name in ("before", "after")
    )
    return len(before) == len(after) and all(
        new == old or not list(whole_batches(new or b"")) for old, new in zip(before, after, strict=True)
    )


WIRE: Mapping[str, Callable[[Row], bool]] = {
    ALWAYS: lambda row: True,
    "of messages other than Produce": lambda row: _api(row) != "Produce",
    "of messages other than Produce and Fetch": lambda row: _api(row) not in ("Produce", "Fetch"),
    "of requests that are not answered": lambda row: row["acks"] == 0,
    "of requests without a transaction": lambda row: row["asked"].transactional_id is None,
    "of batches that are sent": lambda row: bool(row["is_request"]),
    "of readers": _is_of_reader,
    "of followers": lambda row: _api(row) == "Fetch" and not _is_of_reader(row) and not row["is_leaders"],
    "of a partition that is given no whole batch": _is_emptied,
    "of ends for the watermark": lambda row: row["partitions"] <= row["number"] < 2 * row["partitions"],
    "of commits that are accepted": lambda row: all(
        code is ErrorCode.none
        for topic in row["before"].topics
        for code in (part.error_code for part in topic.partitions)
    ),
    "of a Fetch for the watermark": lambda row: _api(row) == "Fetch" and not row["asked"].max_wait,
    "of what was asked for its records": lambda row: (
        _api(row) == "Fetch" and not _is_of_reader(row) and bool(row["asked"].max_wait)
    ),
    "of an offset that is lower": _is_lower,
    "of a watermark above the records": lambda row: _is_of_reader(row) and _is_above(row),
    "of topics without transactions": lambda row: not row["is_transactional"],
    "of topics with append times": lambda row: bool(row["has_append_times"]),
    "of metadata that is asked in between": lambda row: row["number"] in (1, 2),  # of four times
    "of metadata that lacks a leader": lambda row: not _leaders(row["before"]).keys() <= _leaders(row["after"]).keys(),
    "of metadata with the same leaders": lambda row: _leaders(row["before"]) == _leaders(row["after"]),
    "of an ISR that lacks a follower": _lacks_follower,
    "of a replica that is not in sync": _is_out_of_sync,
    "of a commit that a later one replaces": _is_replaced,
    "of a log start that may be": _starts_fit,
    "of answers with an error": lambda row: any(
        code is not ErrorCode.none for code in _values(row, "responses.partition_responses.error_code")
    ),
    "of the last response of a connection": lambda row: bool(row["is_last"]),
}


def row_of(alteration: Alteration, done: Done, recording: Recording) -> Row:
    """Return a message as the conditions see it."""
    rows = recording.tables[PARQUET].select(["local", "acks", "correlation_id"]).to_pylist()
    readings = recording.tables[PARQUET].select(["topic", "partition", "read"]).to_pylist()
    parts = recording.tables[PARTS_PARQUET].select(["topic", "transactional"]).to_pylist()
    configs = recording.entry["scenario"]["configs"]
    topics = {topic for topic, _ in done.altered.parts}
    commits: dict[tuple[str, int], int] = {}  # the greatest offset of each partition
    for row in readings:
        if row["read"] is not None and row["read"]["what"] == "commit":
            place = row["topic"], row["partition"]
            commits[place] = max(commits.get(place, -1), row["read"]["offset"])
    own = [row for row in rows if row["local"] == done.peer]
    return {
        "message": alteration.message,
        "is_request": done.message.is_request,
        "acks": own[0]["acks"] if own else None,
        "is_last": bool(own) and done.message.correlation_id == max(row["correlation_id"] for row in own),
        "asked": done.asked.body,
        "before": done.message.body,
        "after": done.altered.message and done.altered.message.body,
        "is_transactional": any(part["transactional"] for part in parts if part["topic"] in topics),
        "has_append_times": any("message.timestamp.type" in configs.get(topic, {}) for topic in topics),
        "commits": commits,
        "partitions": len(parts),
        "number": alteration.ordinal,
        "is_leaders": done.is_leaders,
    }


def is_met(condition: str, row: Row, after: Row | None) -> bool:
    """Return True if the message meets the condition. Raises KeyError for an unknown one."""
    return WIRE[condition](row)
