"""docs/errors.md: each row of the table of faults with its origin, and the table itself, in docs/faults.md.

The origin is a case in which Kafka returns the error, or what such a case would need. A named case stays as long as it
shows the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from conformance.errors.after import AFTER
from conformance.errors.asked import Seen
from conformance.errors.reasons import reason
from fakebroker.core.faults.table import table

PAGE: Final = Path(__file__).parents[2] / "docs" / "errors.md"
FAULTS_PAGE: Final = PAGE.with_name("faults.md")
BEFORE_WORK, AFTER_WORK, ANYTIME = "before", "after", "reads"
_LOOKS = "; state checked"
_ROW: Final = re.compile(r"^\| (\w+) \| (\w+) \| (\w+) \| (.+) \|$")
_TABLE: Final = re.compile(r"(?<=\n\| API \| selectors \| before the work \| after the work \|\n)(\|.*\n)+")
_CASE: Final = re.compile(r"^`([^`]+)`")

# The first table, a row for each error: error code, name, cause, and whether the record is in the log.
_PRODUCE: Final = (
    (3, "UNKNOWN_TOPIC_OR_PARTITION", "the topic or partition does not exist, or this broker does not know it", "no"),
    (6, "NOT_LEADER_OR_FOLLOWER", "another broker leads the partition; the client gets new metadata and retries", "no"),
    (6, "the same, after a wait", "the leadership moved while an acks=all request was parked", "not known"),
    (7, "REQUEST_TIMED_OUT", "acks=all, and the in-sync replicas did not have the record within the timeout", "yes"),
    (10, "MESSAGE_TOO_LARGE", "the batch is larger than `max.message.bytes` of the topic", "no"),
    (
        19,
        "NOT_ENOUGH_REPLICAS",
        "acks=all, and fewer replicas are in sync than `min.insync.replicas` "
        "([shown](cookbook.md#too-few-replicas-in-sync))",
        "no",
    ),
    (
        20,
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "acks=all, and `min.insync.replicas` was raised above the ISR between the watermark and the response: in "
        "practice only [a fault](faults.md) returns it. An ISR that shrinks while a request is parked gives 7",
        "yes",
    ),
    (32, "INVALID_TIMESTAMP", "the timestamp of a record is too far from the clock of the broker", "no"),
    (
        45,
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "the sequence of an idempotent producer does not continue its last batch",
        "no",
    ),
    (47, "INVALID_PRODUCER_EPOCH", "a producer with the same transactional id has a newer epoch", "no"),
    (87, "INVALID_RECORD", "the batch is malformed, or a record of a compacted topic has no key", "no"),
)

_HEAD = """# Errors

Written by `python -m conformance.errors --write`; do not edit.

## The errors of a produce request

| error code | name | cause | is the record in the log? |
|---|---|---|---|
"""
_SEEN = """
## Errors that Kafka returned in a case

A table says which errors a [fault](faults.md#errors-that-a-point-allows) may return, by API and by the work that is
done: none yet (before), all (after), or the API has no work to do (reads). Here each row has its origin. The origin is
a case in which Apache Kafka returned the error (`python -m conformance show CASE`). "State checked" means that the case
then checked the state of the cluster. If no case returned the error, the row says what a case would need.

A test compares this page, the table and the golden transcripts: each named case shows its error, and the table has
every error of the transcripts.

"""


class Origin(NamedTuple):
    api: str
    error: str
    place: str
    said: str  # a case in backquotes, or a reason

    @property
    def case(self) -> str:
        """Return the name of the case, "" if there is none."""
        match = _CASE.match(self.said)
        return match[1] if match else ""


def rows() -> list[tuple[str, str, str]]:
    """Return the rows that need an origin: API, error, place."""
    needed = []
    for api, its in table().items():
        places = [(ANYTIME, its.before)] if its.only_reads else [(BEFORE_WORK, its.before), (AFTER_WORK, its.after)]
        needed += [(api, error, place) for place, errors in places for error in sorted(errors)]
    return needed


def origins(seen: Seen, kept: Mapping[tuple[str, str, str], str]) -> list[Origin]:
    """Return the origin of every row. `kept` are the cases that were named before."""
    return [
        Origin(api, error, place, _said(api, error, place, seen, kept.get((api, error, place), "")))
        for api, error, place in rows()
    ]


def _said(api: str, error: str, place: str, seen: Seen, kept: str) -> str:
    shown = {example.case: example.looks for example in seen.get((api, error), ())}
    if place == AFTER_WORK:
        case = AFTER.get((api, error), "")
    else:
        after = AFTER.get((api, error))
        others = [name for name in shown if name != after]
        case = kept if kept in others else (others[0] if others else "")
    if case not in shown:
        return reason(api, error) or "-"
    return f"`{case}`{_LOOKS if shown[case] and place != ANYTIME else ''}"


def page(listed: list[Origin]) -> str:
    confirmed = sum(1 for origin in listed if origin.case)
    produce = [f"| {' | '.join(map(str, row))} |\n" for row in _PRODUCE]
    text = [_HEAD, *produce, _SEEN, f"Kafka returned the errors of {confirmed} of {len(listed)} rows.\n\n"]
    text.append("| API | error | work | case, or what a case would need |\n|---|---|---|---|\n")
    text += [f"| {origin.api} | {origin.error} | {origin.place} | {origin.said} |\n" for origin in listed]
    return "".join(text)


def read(path: Path = PAGE) -> list[Origin]:
    """Return the rows of the page; none if there is no page."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Origin(*match.groups()) for line in lines if (match := _ROW.match(line)) and match[1] != "API"]


def named(listed: list[Origin]) -> dict[tuple[str, str, str], str]:
    return {(origin.api, origin.error, origin.place): origin.case for origin in listed if origin.case}


def faults_page() -> str:
    """Return docs/faults.md with the current table. Its other text is not generated."""
    lines = ["|---|---|---|---|\n"]
    for api, its in sorted(table().items()):
        after = "the same: it only reads" if its.only_reads else ", ".join(sorted(its.after))
        before = ", ".join(sorted(its.before))
        lines.append(f"| {api} | {', '.join(its.selectors) or '–'} | {before} | {after} |\n")
    text, tables = _TABLE.subn("".join(lines), FAULTS_PAGE.read_text())
    if tables != 1:
        raise ValueError(f"{FAULTS_PAGE} has {tables} tables of errors, not one")
    return text
