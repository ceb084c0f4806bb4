"""The verdict by the journal, on hand-made rows: one case and one finding for each contradiction."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from load_journal import journal_frame
from pyspark.sql import SparkSession

from fakebroker_load.judging.by_journal import judge_by_journal
from fakebroker_load.judging.mismatches import KINDS, mismatches
from fakebroker_load.judging.requests import LogTables, judge
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import clocks, reasons_of

pytestmark = pytest.mark.spark

Row = dict[str, Any]
PLACE: Row = {"topic": "t", "partition": 0}
REQUEST: Row = PLACE | {
    "group": "g", "connection": 0, "sequence": 0, "correlation_id": 1, "acks": -1, "timeout_ms": 100,
    "intended_us": 900, "sent_us": 1_000, "answered_us": 101_400, "error_code": 7, "base_offset": 40,
    "outcome": "answered", "expected_error": 7, "must_wait": True, "value_crc": 5, "fingerprint": "f", "local": "h:1",
}  # fmt: skip
RECORD: Row = PLACE | {"offset": 40, "connection": 0, "sequence": 0, "value_crc": 5, "fingerprint": "f"}
PART: Row = PLACE | {"start_offset": 40, "readable_offset": 50, "end_offset": 50, "same_leader": True}

ASKED: Row = {
    "event": "request", "mono_ms": 5_002, "connection": 8, "request": 3, "peer": "h:1", "api": "Produce",
    "correlation_id": 1, "client_id": "c", "received_mono_ms": 5_002,
}  # fmt: skip
PRODUCE: Row = PLACE | {"event": "produce", "mono_ms": 5_002, "request": 3, "acks": -1, "timeout_ms": 100}
APPEND: Row = PLACE | {
    "event": "append", "mono_ms": 5_002, "request": 3, "error_code": 0, "base_offset": 40, "last_offset": 40,
    "is_duplicate": False, "records": ["f"],
}  # fmt: skip
PARKED: Row = {"event": "parked", "mono_ms": 5_002, "request": 3, "deadline_mono_ms": 5_102}
ANSWER: Row = PLACE | {
    "event": "answer", "mono_ms": 5_102, "request": 3, "connection": 8, "outcome": "sent", "error_code": 7,
    "base_offset": 40,
}  # fmt: skip
MOVED: Row = PLACE | {"event": "watermark_moved", "mono_ms": 5_003, "high_watermark": 41}
LED: Row = PLACE | {"event": "leader_changed", "mono_ms": 5_300, "high_watermark": 40, "log_end_offset": 40}
MUTED: Row = {"event": "throttled", "mono_ms": 5_102, "connection": 8, "throttle_ms": 30}
TIMED_OUT = (ASKED, PRODUCE, APPEND, PARKED, ANSWER)

NONE: Row = {"error_code": 0, "expected_error": 0, "must_wait": False, "answered_us": 3_000}
NONE_ANSWER = ANSWER | {"error_code": 0, "mono_ms": 5_003}
SILENT: Row = {
    "acks": 0, "answered_us": None, "error_code": None, "base_offset": None, "outcome": "silent",
    "expected_error": None, "must_wait": False,
}  # fmt: skip
SILENT_ANSWER: Row = {"event": "answer", "mono_ms": 5_002, "request": 3, "connection": 8, "outcome": "none"}
REFUSED: Row = NONE | {"error_code": 19, "expected_error": 19, "base_offset": -1}
REFUSED_ANSWER = NONE_ANSWER | {"error_code": 19, "base_offset": -1}
BEHIND: Row = NONE | {"error_code": 20, "expected_error": 20}
REFUSED_APPEND = APPEND | {"error_code": 19, "base_offset": -1, "last_offset": -1}
MOVED_AWAY: Row = {"error_code": 6, "base_offset": 40}  # it waited, and the leader moved
LED_BY_ANOTHER: Row = {"expected_error": 6, "must_wait": False, "answered_us": 101_400, "due_high_us": 101_000}
OTHER_APPEND = APPEND | {"base_offset": 41, "last_offset": 41, "records": ["other"]}
STRANGER = ASKED | {"request": 4, "peer": "x:9"}
FETCH = ASKED | {"request": 9, "peer": "h:2", "correlation_id": 6, "api": "Fetch"}
FETCHED: Row = {"event": "answer", "mono_ms": 5_200, "request": 9, "connection": 9, "outcome": "sent"}
SHOWN: Row = {"shown_local": "h:2", "shown_correlation_id": 6}


# A producer of Kafka's: of its records neither connection nor correlation id is known, but its client id is.
BATCHED: Row = NONE | {"client": "producer", "client_id": "c", "local": None, "base_offset": 41}
OWN_ASKED = ASKED | {"client_id": "c-id-0", "peer": "x:1"}
BATCH = APPEND | {"last_offset": 42, "records": ["e", "f", "g"]}
AGAIN = BATCH | {"base_offset": 43, "last_offset": 45}
MOVED_PAST = MOVED | {"high_watermark": 43}
DUPLICATE = (
    OWN_ASKED | {"request": 4, "correlation_id": 2},
    PRODUCE | {"request": 4},
    BATCH | {"request": 4, "is_duplicate": True},
)
DUPLICATE_ANSWER = NONE_ANSWER | {"request": 4}
PRODUCER_TIMED_OUT = (OWN_ASKED, PRODUCE, BATCH, PARKED, ANSWER)
MARKER = APPEND | {"request": 4, "base_offset": 43, "last_offset": 43, "records": ["m"], "is_marker": True}
AT_44 = BATCHED | {"base_offset": 44}
MADE: Row = AT_44 | {"client": "transform"}
AT_44_SHOWN: Row = RECORD | {"offset": 44, "visible": True}
ABORTED: Row = RECORD | {"offset": 41, "visible": False}
AT_41 = RECORD | {"offset": 41}
ANOTHER_LEADER: Row = {"same_leader": False}
UNKNOWN: Row = {
    "error_code": None,
    "base_offset": None,
    "outcome": "closed",
    "also": ["closed"],
    "expected_error": None,
}
EXPIRED: Row = BATCHED | {"error_code": None, "base_offset": None, "outcome": "expired", "also": ["expired"]}


class Case(NamedTuple):
    """A case. `request` and `part` are the fields that differ, `journal` is the whole journal in order. `log`: the
    record is in the log. `beside` are more rows, each with the fields that differ; their partition is read back too."""

    journal: tuple[Row, ...]
    problems: list[str]
    request: Row = {}  # noqa: RUF012  # nobody changes it
    log: tuple[Row, ...] = (RECORD,)
    part: Row = {}  # noqa: RUF012
    beside: tuple[Row, ...] = ()


def times_out(**changes: Row) -> tuple[Row, ...]:
    return tuple(row | changes.get(row["event"], {}) for row in TIMED_OUT)


# One request with two records for each of two partitions, of which the first times out and the other is acknowledged.
U: Row = {"topic": "u"}
IN_T: tuple[Row, Row] = ({"place": 0}, {"place": 1, "sequence": 1, "base_offset": 41, "fingerprint": "g"})
IN_U = tuple(
    row | U | {"sequence": number, "place": number, "fingerprint": name, "error_code": 0, "expected_error": 0}
    for row, number, name in zip(IN_T, (2, 3), "hi", strict=True)
)
WIDE_LOG = tuple(
    RECORD | {"topic": topic, "offset": offset, "sequence": sequence, "fingerprint": name}
    for topic, offset, sequence, name in (("t", 40, 0, "f"), ("t", 41, 1, "g"), ("u", 40, 2, "h"), ("u", 41, 3, "i"))
)
ANSWERS = (ANSWER, ANSWER | U | {"error_code": 0})
SWAPPED_ANSWERS = (ANSWER | {"error_code": 0}, ANSWER | U)


def wide(
    problems: list[str],
    answers: tuple[Row, ...] = ANSWERS,
    in_t: tuple[Row, Row] = IN_T,
    in_u: tuple[Row, ...] = IN_U,
    log: tuple[Row, ...] = WIDE_LOG,
    more: tuple[Row, ...] = (),
    **append: Any,
) -> Case:
    """Return a case of several partitions; `append` has the fields that differ in the append to the first one."""
    batch = APPEND | {"last_offset": 41, "records": ["f", "g"]} | append
    other = APPEND | U | {"last_offset": 41, "records": ["h", "i"]}
    journal = (ASKED, PRODUCE, PRODUCE | U, *more, batch, other, PARKED, MOVED | U | {"high_watermark": 42}, *answers)
    return Case(journal, problems, in_t[0], log, {}, (in_t[1], *in_u))


def told_as(error_code: int, rows: tuple[Row, ...]) -> tuple[Any, ...]:
    return tuple(row | {"error_code": error_code} for row in rows)


WIDE_CASES: dict[str, Case] = {
    "wide": wide([]),
    "wide, the other partition times out": wide(
        ["acknowledged before its watermark"] * 2 + ["timed out after its watermark had passed"] * 2,
        SWAPPED_ANSWERS,
        told_as(0, IN_T),
        told_as(7, IN_U),
    ),
    "wide, told the answers of each other": wide(["told otherwise than the journal says"] * 4, SWAPPED_ANSWERS),
    "wide, answered for one partition": wide(["told otherwise than the journal says"] * 2, ANSWERS[:1]),
    "wide, answered twice for one": wide(["answered twice"] * 2, (*ANSWERS, ANSWER)),
    "wide, a record less": wide(
        ["altered before it was appended", "timed out, not appended"],
        log=WIDE_LOG[:1] + WIDE_LOG[2:],
        last_offset=40,
        records=["f"],
    ),
    "wide, in another order": wide(
        ["told another offset"] * 2,
        log=(WIDE_LOG[0] | {"offset": 41}, WIDE_LOG[1] | {"offset": 40}, *WIDE_LOG[2:]),
        records=["g", "f"],
    ),
    "wide, in another order by the journal": wide(["altered before it was appended"] * 2, records=["g", "f"]),
    "wide, without names": wide([], records=[]),
    "wide, asked for a third partition": wide(["read as another request"] * 4, more=(PRODUCE | {"partition": 1},)),
    "wide, appended to a third partition": wide(
        ["appended to another partition"] * 4, more=(APPEND | {"topic": "v", "records": ["x"]},)
    ),
    "several partitions, and a batch of no request": wide(
        ["appended, and sent by nobody", "appended away from the log end"], more=(APPEND | {"records": ["x", "y"]},)
    ),
}

CASES: dict[str, Case] = {
    "timed out": Case(TIMED_OUT, []),
    "acknowledged": Case((ASKED, PRODUCE, APPEND, MOVED, NONE_ANSWER), [], NONE),
    "of a transaction that it aborted": Case(
        (ASKED, PRODUCE, APPEND, MOVED, NONE_ANSWER), [], NONE | {"written": "never"}, (RECORD | {"visible": False},)
    ),
    "silent": Case((ASKED, PRODUCE | {"acks": 0}, APPEND, SILENT_ANSWER), [], SILENT),
    "refused": Case(
        (ASKED, PRODUCE, ANSWER | {"error_code": 19, "base_offset": -1, "mono_ms": 5_003}), [], REFUSED, ()
    ),
    "a name for none: by its offset": Case(times_out(append={"records": []}), []),
    "no event of the request": Case((), ["not in the journal"]),
    "the connection broke, and it never came": Case((), ["closed"], {"outcome": "closed", "error_code": None}, ()),
    "of another address": Case(
        times_out(request={"peer": "h:2"}), ["not in the journal", "a Produce that the load has not sent"]
    ),
    "handled twice": Case(
        (*TIMED_OUT, ASKED | {"request": 4}, PRODUCE | {"request": 4}),
        ["handled twice", "a Produce that the load has not sent"],
    ),
    "another partition is understood": Case(times_out(produce={"partition": 1}), ["read as another request"]),
    "another timeout is understood": Case(times_out(produce={"timeout_ms": 99}), ["read as another request"]),
    "answered on no connection": Case(times_out(answer={"connection": None}), ["answered on another connection"]),
    "parked before it was appended": Case((ASKED, PRODUCE, PARKED, APPEND, ANSWER), ["parked before it was appended"]),
    "a watermark beyond the log": Case(
        (*TIMED_OUT, MOVED | {"high_watermark": 42}), ["a watermark beyond what was appended"]
    ),
    "a watermark that does not rise": Case(
        (MOVED | {"high_watermark": 40}, MOVED | {"high_watermark": 40}, *TIMED_OUT), ["the watermark went back"]
    ),
    "a new leader has an older watermark": Case(
        (MOVED | {"high_watermark": 40}, MOVED | {"event": "leader_changed", "high_watermark": 39}, *TIMED_OUT), []
    ),
    "the first append of a leader": Case((LED, *TIMED_OUT), []),
    "a leader appends behind the end of its log": Case(
        (LED | {"log_end_offset": 39}, *TIMED_OUT), ["appended away from the log end"]
    ),
    "an append that was refused ends nowhere": Case((LED, REFUSED_APPEND | {"request": 4}, *TIMED_OUT), []),
    "answered elsewhere": Case(times_out(answer={"connection": 9}), ["answered on another connection"]),
    "appended twice": Case(
        (ASKED, PRODUCE, APPEND, APPEND, PARKED, ANSWER), ["appended twice", "appended away from the log end"]
    ),
    "sent again, and known": Case((*TIMED_OUT[:3], APPEND | {"is_duplicate": True}, *TIMED_OUT[3:]), []),
    "altered on the way": Case(times_out(append={"records": ["x"]}), ["altered before it was appended"]),
    "altered in the log": Case(TIMED_OUT, ["altered"], {}, (RECORD | {"fingerprint": "x"},)),
    "two records of one": Case(
        times_out(append={"records": [], "last_offset": 41}), ["altered before it was appended"]
    ),
    "one record, which ends elsewhere": Case(times_out(append={"last_offset": 41}), ["altered before it was appended"]),
    "to another partition": Case(times_out(append={"partition": 1}), ["appended to another partition"]),
    "gone again": Case(
        times_out(append={}, answer={"error_code": 6, "base_offset": -1}),
        ["appended, and not in the log"],
        {"error_code": 6, "expected_error": 6, "base_offset": -1, "must_wait": False},
        (),
    ),
    "in the log without an append": Case((ASKED, PRODUCE, PARKED, ANSWER), ["in the log, and never appended"]),
    "at another place, under another leader": Case(
        (*times_out(append={"base_offset": 41, "last_offset": 41}), LED),
        ["moved in the log"],
        {},
        (RECORD,),
        ANOTHER_LEADER,
    ),
    "at another place in the log": Case(times_out(append={"base_offset": 41, "last_offset": 41}), ["moved in the log"]),
    "the answer got lost": Case(
        TIMED_OUT, ["its answer did not come"], {"outcome": "no answer", "answered_us": None, "error_code": None}
    ),
    "no answer was given": Case(TIMED_OUT[:-1], ["answered by nobody"]),
    "another error was answered": Case(
        times_out(answer={"error_code": 0, "mono_ms": 5_110}), ["told otherwise than the journal says"]
    ),
    "another offset was answered": Case(
        times_out(answer={"base_offset": 39}), ["told otherwise than the journal says"]
    ),
    "never appended": Case(
        (ASKED, PRODUCE, ANSWER | {"error_code": 0, "mono_ms": 5_003}),
        ["never appended"],
        NONE,
        (),
        {"end_offset": None},
    ),
    "silent, and the journal has sent an answer": Case(
        (ASKED, PRODUCE | {"acks": 0}, APPEND, SILENT_ANSWER | {"outcome": "sent"}),
        ["told otherwise than the journal says"],
        SILENT,
    ),
    "silent, never appended": Case(
        (ASKED, PRODUCE | {"acks": 0}, SILENT_ANSWER), ["never appended"], SILENT, (), {"end_offset": None}
    ),
    "refused, and yet": Case(
        (ASKED, PRODUCE, APPEND, REFUSED_ANSWER),
        ["refused, and appended"],
        REFUSED,
        (),
        {"end_offset": None, "readable_offset": None},
    ),
    "an error behind the append, with its offset": Case(times_out(answer=MOVED_AWAY), [], MOVED_AWAY | LED_BY_ANOTHER),
    "an error behind the append, without": Case(
        times_out(answer=MOVED_AWAY | {"base_offset": -1}), [], MOVED_AWAY | LED_BY_ANOTHER | {"base_offset": -1}
    ),
    "an error with an offset of another one": Case(
        times_out(answer=MOVED_AWAY | {"base_offset": 49}),
        ["told another offset"],
        MOVED_AWAY | LED_BY_ANOTHER | {"base_offset": 49},
    ),
    "an error with an offset of another one, and truncated": Case(
        (*times_out(answer=MOVED_AWAY | {"base_offset": 49}), LED),
        ["told another offset than appended"],
        MOVED_AWAY | LED_BY_ANOTHER | {"base_offset": 49},
        (),
        {"same_leader": False},
    ),
    "an error with an offset, and no append": Case(
        (ASKED, PRODUCE, PARKED, ANSWER | MOVED_AWAY),
        ["told an offset, and never appended"],
        MOVED_AWAY | LED_BY_ANOTHER,
        (),
    ),
    "told another offset": Case(
        times_out(append={"base_offset": 41, "last_offset": 41}),
        ["told another offset than appended"],
        {},
        (),
        {"end_offset": None, "readable_offset": None},
    ),
    "before its watermark": Case(
        (ASKED, PRODUCE, APPEND, NONE_ANSWER, MOVED), ["acknowledged before its watermark"], NONE
    ),
    "the watermark just below": Case(
        (MOVED | {"high_watermark": 40}, ASKED, PRODUCE, APPEND, NONE_ANSWER),
        ["acknowledged before its watermark"],
        NONE,
    ),
    "the leader does not wait": Case((ASKED, PRODUCE | {"acks": 1}, APPEND, NONE_ANSWER), [], NONE | {"acks": 1}),
    "early by the broker's clock": Case(times_out(answer={"mono_ms": 5_101}), ["early"]),
    "before its own deadline": Case(times_out(parked={"deadline_mono_ms": 5_103}), ["early"]),
    "late to the client, and the load stood still": Case(
        TIMED_OUT, ["late by the load"], {"answered_us": 901_000, "load_late_us": 800_000}
    ),
    "late to the client, and the load did not stand still": Case(TIMED_OUT, ["late"], {"answered_us": 901_000}),
    "late by the broker's clock, and the load stood still too": Case(
        times_out(answer={"mono_ms": 5_903}), ["late"], {"answered_us": 901_000, "load_late_us": 800_000}
    ),
    "late by the broker's clock": Case(times_out(answer={"mono_ms": 5_102 + 501}), ["late"]),
    "not late": Case(times_out(answer={"mono_ms": 5_102 + 500}), []),
    "a Produce of another client": Case(
        (*TIMED_OUT, STRANGER, PRODUCE | {"request": 4}, APPEND | {"request": 4, "base_offset": 41, "last_offset": 41}),
        ["a Produce that the load has not sent"],
    ),
    "a Produce of another client to another topic": Case(
        (*TIMED_OUT, STRANGER, PRODUCE | {"request": 4, "topic": "u"}), []
    ),
    "an append of another request": Case(
        (ASKED, PRODUCE, APPEND, OTHER_APPEND, PARKED, ANSWER), ["appended, and sent by nobody"]
    ),
    "an append outside of any request": Case(
        (*TIMED_OUT, OTHER_APPEND | {"request": 0}), ["appended, and sent by nobody"]
    ),
    "shown what is not so": Case(
        (*TIMED_OUT, FETCH, FETCHED, MOVED), ["watermark shown too early"], {}, (RECORD,), SHOWN | {"shown_offset": 41}
    ),
    "in a batch": Case((OWN_ASKED, PRODUCE, BATCH, MOVED_PAST, NONE_ANSWER), [], BATCHED, (AT_41,)),
    "in a batch of a stranger": Case(
        (OWN_ASKED | {"client_id": "d"}, PRODUCE, BATCH, NONE_ANSWER),
        ["a Produce that the load has not sent"],
        BATCHED,
        (AT_41,),
    ),
    "in a batch of another partition": Case(
        (OWN_ASKED, PRODUCE, BATCH | {"partition": 1}), ["appended to another partition"], BATCHED, (AT_41,)
    ),
    "in a batch, acknowledged too soon": Case(
        (OWN_ASKED, PRODUCE, BATCH, MOVED | {"high_watermark": 42}, NONE_ANSWER, MOVED_PAST),
        ["acknowledged before its watermark"],
        BATCHED,
        (AT_41,),
    ),
    "in a batch with acks=1": Case(
        (OWN_ASKED, PRODUCE | {"acks": 1}, BATCH, NONE_ANSWER), [], BATCHED | {"acks": 1}, (AT_41,)
    ),
    "in a batch with acks=1, parked": Case(
        (OWN_ASKED, PRODUCE | {"acks": 1}, BATCH, PARKED, NONE_ANSWER),
        ["parked, against its acks"],
        BATCHED | {"acks": 1},
        (AT_41,),
    ),
    "in a batch that timed out": Case(
        (*PRODUCER_TIMED_OUT, *DUPLICATE, MOVED_PAST, DUPLICATE_ANSWER), [], BATCHED, (AT_41,)
    ),
    "in a batch that timed out, and was acknowledged too soon when it came again": Case(
        (*PRODUCER_TIMED_OUT, *DUPLICATE, DUPLICATE_ANSWER, MOVED_PAST),
        ["acknowledged before its watermark"],
        BATCHED,
        (AT_41,),
    ),
    "in a batch that timed out early": Case(
        (*PRODUCER_TIMED_OUT[:-1], ANSWER | {"mono_ms": 5_101}), ["early"], BATCHED, (AT_41,)
    ),
    "in a batch that timed out at once": Case(
        (OWN_ASKED, PRODUCE, BATCH, ANSWER), ["timed out, and never parked"], BATCHED, (AT_41,)
    ),
    "in a batch that timed out for nothing": Case(
        (*PRODUCER_TIMED_OUT[:-1], MOVED_PAST, ANSWER),
        ["timed out after its watermark had passed"],
        BATCHED,
        (AT_41,),
    ),
    "in a batch that timed out for nothing, under another leader": Case(
        (*PRODUCER_TIMED_OUT[:-1], MOVED_PAST, ANSWER), [], BATCHED, (AT_41,), ANOTHER_LEADER
    ),
    "in a batch that was refused": Case(
        (OWN_ASKED, PRODUCE, BATCH, REFUSED_ANSWER), ["refused, and appended"], BATCHED, (AT_41,)
    ),
    "in a batch whose leader says that it does not lead": Case(
        (OWN_ASKED, PRODUCE, BATCH, NONE_ANSWER | {"error_code": 6}), ["refused, and appended"], BATCHED, (AT_41,)
    ),
    "in a batch whose leader moved": Case(
        (OWN_ASKED, PRODUCE, BATCH, NONE_ANSWER | {"error_code": 6}), [], BATCHED, (AT_41,), ANOTHER_LEADER
    ),
    "refused, and in the batch that came next": Case(
        (
            OWN_ASKED | {"request": 4, "correlation_id": 2},
            PRODUCE | {"request": 4},
            REFUSED_APPEND | {"request": 4},
            REFUSED_ANSWER | {"request": 4},
            *(OWN_ASKED, PRODUCE, BATCH, MOVED_PAST, NONE_ANSWER),
        ),
        [],
        BATCHED,
        (AT_41,),
    ),
    "in two batches": Case((OWN_ASKED, PRODUCE, BATCH, AGAIN), ["appended twice"], BATCHED, (AT_41,)),
    "again, since a new leader did not have it": Case(
        (OWN_ASKED, PRODUCE, BATCH, AGAIN),
        [],
        BATCHED | {"base_offset": 44},
        (RECORD | {"offset": 44},),
        ANOTHER_LEADER,
    ),
    "again, and that is a duplicate": Case(
        (OWN_ASKED, PRODUCE, BATCH, AGAIN | {"is_duplicate": True}), [], BATCHED, (AT_41,)
    ),
    "in no batch": Case((OWN_ASKED, PRODUCE), ["in the log, and never appended"], BATCHED, (AT_41,)),
    "in no batch, and nowhere": Case(
        (OWN_ASKED, PRODUCE), ["never appended"], BATCHED | {"base_offset": 60}, (), {"end_offset": None}
    ),
    "in a batch, and gone": Case((OWN_ASKED, PRODUCE, BATCH), ["appended, and not in the log"], BATCHED | UNKNOWN, ()),
    "elsewhere than its batch": Case(
        (OWN_ASKED, PRODUCE, BATCH), ["moved in the log"], BATCHED | {"base_offset": 42}, (RECORD | {"offset": 42},)
    ),
    "told elsewhere than its batch": Case(
        (OWN_ASKED, PRODUCE, BATCH),
        ["told another offset than appended"],
        BATCHED | {"base_offset": 42},
        (),
        {"end_offset": None, "readable_offset": None},
    ),
    "in two batches, of which one was aborted": Case(
        (OWN_ASKED, PRODUCE, BATCH, AGAIN), [], BATCHED | {"client": "transform", "base_offset": 41}, (AT_41,)
    ),
    "marked": Case(
        (OWN_ASKED, PRODUCE, BATCH, MOVED_PAST, NONE_ANSWER, STRANGER | {"api": "Fetch"}, MARKER), [], BATCHED, (AT_41,)
    ),
    "committed, and not shown": Case(
        (OWN_ASKED, PRODUCE, BATCH), ["committed, and not shown"], BATCHED, (AT_41 | {"visible": False},)
    ),
    "aborted, and made once more": Case((OWN_ASKED, PRODUCE, BATCH, AGAIN), [], MADE, (AT_44_SHOWN, ABORTED)),
    "aborted, and never appended": Case(
        (OWN_ASKED, PRODUCE, AGAIN), ["in the log, and never appended"], MADE, (AT_44_SHOWN, ABORTED)
    ),
    "made twice, once in another partition": Case(
        (OWN_ASKED, PRODUCE, BATCH | {"partition": 1}, AGAIN),
        ["appended to another partition"],
        MADE,
        (AT_44_SHOWN,),
    ),
    "moved, under another leader": Case(
        (OWN_ASKED, PRODUCE, AGAIN), ["moved in the log"], MADE | {"base_offset": 41}, (AT_41,), ANOTHER_LEADER
    ),
    "silent, and told an offset": Case(
        (ASKED, PRODUCE | {"acks": 0}, APPEND, SILENT_ANSWER), ["silent"], SILENT | {"base_offset": 40}
    ),
    "silent, and told an error": Case(
        (ASKED, PRODUCE | {"acks": 0}, APPEND, SILENT_ANSWER), ["silent"], SILENT | {"error_code": 0}
    ),
    "made twice, and elsewhere": Case(
        (OWN_ASKED, PRODUCE, BATCH, BATCH | {"base_offset": 46, "last_offset": 48}),
        ["in the log, and never appended", "appended away from the log end"],
        MADE,
        (AT_44_SHOWN,),
    ),
    "expired": Case((OWN_ASKED, PRODUCE), [], EXPIRED, ()),
    "expired, and in a batch": Case(
        (OWN_ASKED, PRODUCE, BATCH), ["given up before it was sent, and appended"], EXPIRED, ()
    ),
    "an epoch without an election": Case(
        times_out(append={"leader_epoch": 3}), ["led under an epoch of nobody"], {}, (RECORD,), {"leader_epoch": 4}
    ),
    "an epoch before that of the run": Case(
        times_out(append={"leader_epoch": 2}),
        ["led under an epoch of nobody"],
        {},
        (RECORD,),
        {"first_epoch": 3, "leader_epoch": 2},
    ),
    "the epoch of the run": Case(
        times_out(append={"leader_epoch": 3}), [], {}, (RECORD,), {"first_epoch": 3, "leader_epoch": 3}
    ),
    "an epoch with an election": Case(
        (*times_out(append={"leader_epoch": 3}), LED | {"leader_epoch": 4}),
        [],
        {},
        (RECORD,),
        {"leader_epoch": 4, "same_leader": False},
    ),
    "an epoch that fell": Case(
        (*TIMED_OUT, LED | {"leader_epoch": 2}, LED | {"leader_epoch": 1}),
        ["led under an epoch of nobody"],
        {},
        (RECORD,),
        ANOTHER_LEADER,
    ),
    "it ends under an epoch before the last one": Case(
        (*times_out(append={"leader_epoch": 3}), LED | {"leader_epoch": 4}, FETCH, FETCHED),
        ["led under an epoch of nobody"],
        {},
        (RECORD,),
        SHOWN | ANOTHER_LEADER | {"shown_offset": 40, "leader_epoch": 3},
    ),
    "dropped by a new leader": Case((*TIMED_OUT, LED), [], {}, (), ANOTHER_LEADER),
    "gone, and no new leader had dropped it": Case(
        (*TIMED_OUT, LED | {"log_end_offset": 41}), ["appended, and not in the log"], {}, (), ANOTHER_LEADER
    ),
    "gone, and the leader was elected before": Case(
        (LED, *TIMED_OUT), ["appended, and not in the log"], {}, (), ANOTHER_LEADER
    ),
    "not in the log, and no election": Case(TIMED_OUT, ["appended, and not in the log"], {}, (), ANOTHER_LEADER),
    "answered before it was appended": Case((ASKED, PRODUCE, PARKED, ANSWER, APPEND), ["answered before it was done"]),
    "parked behind its answer": Case((ASKED, PRODUCE, APPEND, ANSWER, PARKED), ["answered before it was done"]),
    "appended before it was asked": Case((APPEND, ASKED, PRODUCE, PARKED, ANSWER), ["done before it was asked for"]),
    "appended before it was read what for": Case(
        (ASKED, APPEND, PRODUCE, PARKED, ANSWER), ["done before it was asked for"]
    ),
    "parked before it was read what for": Case(
        (ASKED, PARKED, PRODUCE, ANSWER | MOVED_AWAY), ["done before it was asked for"], MOVED_AWAY | LED_BY_ANOTHER, ()
    ),
    "read before it came": Case((PRODUCE, ASKED, APPEND, PARKED, ANSWER), ["done before it was asked for"]),
    "read behind its answer": Case((ASKED, REFUSED_ANSWER, PRODUCE), ["answered before it was done"], REFUSED, ()),
    "refused by its partition": Case((ASKED, PRODUCE, REFUSED_APPEND, REFUSED_ANSWER), [], REFUSED, ()),
    "refused by another partition": Case(
        (ASKED, PRODUCE, REFUSED_APPEND | {"partition": 1}, REFUSED_ANSWER),
        ["appended to another partition"],
        REFUSED,
        (),
    ),
    "refused by no partition": Case(
        (ASKED, PRODUCE, REFUSED_APPEND | {"partition": -999}, REFUSED_ANSWER),
        ["appended to another partition"],
        REFUSED,
        (),
    ),
    "handled before it was received": Case(
        times_out(request={"received_mono_ms": 5_004}), ["handled before it was received"]
    ),
    "received as it was handled": Case(times_out(request={"received_mono_ms": 5_003}), []),
    "by another name": Case(times_out(request={"client_id": "d"}), ["read as another request"], {"client_id": "c"}),
    "handled twice under one number": Case((ASKED, *TIMED_OUT), ["handled twice"]),
    "answered twice under one number": Case((*TIMED_OUT, ANSWER), ["answered twice"]),
    "answered for another partition": Case(
        times_out(answer={"partition": 1}), ["told otherwise than the journal says"]
    ),
    "answered for no partition": Case(
        times_out(answer={"topic": None, "partition": None}), ["told otherwise than the journal says"]
    ),
    "parked, and acks=1": Case(
        (ASKED, PRODUCE | {"acks": 1}, APPEND, PARKED, NONE_ANSWER), ["parked, against its acks"], NONE | {"acks": 1}
    ),
    "never parked": Case((ASKED, PRODUCE, APPEND, ANSWER), ["timed out, and never parked"]),
    "refused after its append, not appended": Case(
        (ASKED, PRODUCE, NONE_ANSWER | {"error_code": 20}), ["refused after its append, not appended"], BEHIND, ()
    ),
    "refused after its append, which another leader has dropped": Case(
        (ASKED, PRODUCE, APPEND, NONE_ANSWER | {"error_code": 20}, LED), [], BEHIND, (), ANOTHER_LEADER
    ),
    "refused after no append, and there is another leader": Case(
        (ASKED, PRODUCE, NONE_ANSWER | {"error_code": 20}, LED), ["never appended"], BEHIND, (), ANOTHER_LEADER
    ),
    "parked for less": Case(times_out(parked={"deadline_mono_ms": 5_100}), ["parked until another time"]),
    "throttled and told": Case((*TIMED_OUT, MUTED), [], {"throttle_ms": 30}),
    "throttled and not told": Case((*TIMED_OUT, MUTED), ["throttled, and not told"], {"throttle_ms": 0}),
    "throttled and told of less": Case((*TIMED_OUT, MUTED), ["throttled, and not told"], {"throttle_ms": 29}),
    "another connection is throttled": Case((*TIMED_OUT, MUTED | {"connection": 9}), []),
    "readable without an event": Case(TIMED_OUT, ["not in the journal"], {}, (RECORD,), SHOWN | {"shown_offset": 40}),
    "shown what is so": Case((*TIMED_OUT, MOVED, FETCH, FETCHED), [], {}, (RECORD,), SHOWN | {"shown_offset": 41}),
    "shown less than there was": Case(
        (*TIMED_OUT, MOVED, FETCH, FETCHED), ["watermark shown too late"], {}, (RECORD,), SHOWN | {"shown_offset": 40}
    ),
    "shown less than there is": Case(
        (*TIMED_OUT, FETCH, MOVED, FETCHED), [], {}, (RECORD,), SHOWN | {"shown_offset": 40}
    ),
    "shown what was there, and another connection has its address later": Case(
        (*TIMED_OUT, FETCH, FETCHED, MOVED, FETCH | {"request": 11}, FETCHED | {"request": 11}),
        [],
        {},
        (RECORD,),
        SHOWN | {"shown_offset": 40},
    ),
    "shown what was there, and another connection had its address": Case(
        (*TIMED_OUT, FETCH, FETCHED, MOVED, FETCH | {"request": 11}, FETCHED | {"request": 11}),
        [],
        {},
        (RECORD,),
        SHOWN | {"shown_offset": 41},
    ),
    "shown less by another leader": Case(
        (*TIMED_OUT, MOVED, FETCH, FETCHED), [], {}, (RECORD,), SHOWN | ANOTHER_LEADER | {"shown_offset": 40}
    ),
    "shown what was there": Case((*TIMED_OUT, FETCH, FETCHED), [], {}, (RECORD,), SHOWN | {"shown_offset": 40}),
}


NEXT = {"correlation_id": 2, "sequence": 2, "place": 0, "base_offset": 42, "fingerprint": "h", "answered_us": 201_400}
NEXT_RECORD = RECORD | {"offset": 42, "sequence": 2, "fingerprint": "h"}
WITHOUT: dict[str, Case] = {
    "no journal": Case((), []),
    "no journal, wide": wide([]),
    "no journal, told the answers of each other": wide(["wrong answer"] * 4, (), told_as(0, IN_T), told_as(7, IN_U)),
    "no journal, another correlation id": wide(
        ["rows of one request differ"] * 4, (), (IN_T[0], IN_T[1] | {"correlation_id": 2})
    ),
    "no journal, another place": wide(["rows of one request differ"] * 4, (), (IN_T[0] | {"place": 2}, IN_T[1])),
    "no journal, its own throttle": wide(
        ["rows of one request differ"] * 4, (), (IN_T[0], IN_T[1] | {"throttle_ms": 1})
    ),
    # The first request has two records that time out. The next one waits for it, once.
    "no journal, pipelined": Case((), [], IN_T[0], (*WIDE_LOG[:2], NEXT_RECORD), {}, (IN_T[1], NEXT)),
    "no journal, pipelined, and too early": Case(
        (), ["early"], IN_T[0], (*WIDE_LOG[:2], NEXT_RECORD), {}, (IN_T[1], NEXT | {"answered_us": 200_900})
    ),
}


def frame(spark: SparkSession, rows: list[Row], schema: pa.Schema) -> Any:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


def judge_cases(
    spark: SparkSession, runs: dict[str, Case], known: list[str], *, by_fingerprint: bool = True
) -> tuple[Any, LogTables, Any]:
    """Judge cases at once, each as a separate run with its journal in three slices. The runs in `known` have one."""
    requests = [REQUEST | row | {"run": name} for name, case in runs.items() for row in (case.request, *case.beside)]
    records = [row | {"run": name} for name, case in runs.items() for row in case.log]
    parts = [PART | case.part | {"run": name} for name, case in runs.items()]
    parts += [PART | U | {"run": name} for name, case in runs.items() if case.beside]
    journal = [row | {"run": name, "seq": seq} for name in known for seq, row in enumerate(runs[name].journal, 1)]
    log = LogTables(frame(spark, records, LOG_SCHEMA), frame(spark, parts, PART_SCHEMA))
    judged = judge(spark, frame(spark, requests, RESULT_SCHEMA), 500, log, len(requests))
    judged, beside = judge_by_journal(
        spark, judged, journal_frame(spark, journal), log.parts, known, 500, slices=3, by_fingerprint=by_fingerprint
    )
    return judged, log, beside


def by_run(all_found: Any, runs: dict[str, Case]) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {name: [] for name in runs}
    for row in all_found.collect():
        rows[row["run"]].append(row.asDict())
    return rows


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    runs = {**CASES, **WIDE_CASES, **WITHOUT}
    judged, log, beside = judge_cases(spark, runs, [*CASES, *WIDE_CASES])
    assert clocks(spark, judged)["timed out"] == (5_102_000 - 1_000 - 101_400, 5_002_000 - 1_000)
    reasons = {
        (reason.run, reason.problem): reason for reason in reasons_of(spark, mismatches(spark, judged, log, beside))
    }
    assert reasons["early by the broker's clock", "early"].rows == 1
    assert reasons["early by the broker's clock", "early"].example["says"] == (
        "client: error 7 at offset 40, 100.4 ms after it was sent; log: t-0 at offset 40; journal: request 3 on "
        "connection 8, appended to t-0 at offset 40, error 7 at offset 40 after 99 ms on connection 8"
    )
    return by_run(mismatches(spark, judged, log, beside), runs)


def test_raw_requests_are_not_looked_up_by_fingerprint(spark: SparkSession, found: dict[str, list[Row]]) -> None:
    raw = {
        name: case for name, case in CASES.items() if all("client" not in row for row in (case.request, *case.beside))
    }
    assert 50 < len(raw) < len(CASES)
    judged, log, beside = judge_cases(spark, raw, list(raw), by_fingerprint=False)
    problems = {name: sorted(row["problem"] for row in rows) for name, rows in found.items() if name in raw}
    without = by_run(mismatches(spark, judged, log, beside), raw)
    assert {name: sorted(row["problem"] for row in rows) for name, rows in without.items()} == problems


@pytest.mark.parametrize("case", CASES)
def test_one_request_and_its_journal(found: dict[str, list[Row]], case: str) -> None:
    assert sorted(row["problem"] for row in found[case]) == sorted(CASES[case].problems), found[case]


@pytest.mark.parametrize("case", WIDE_CASES)
def test_a_request_of_several_partitions_and_its_journal(found: dict[str, list[Row]], case: str) -> None:
    assert sorted(row["problem"] for row in found[case]) == sorted(WIDE_CASES[case].problems), found[case]


@pytest.mark.parametrize("case", WITHOUT)
def test_a_run_without_a_journal_is_judged_two_ways(found: dict[str, list[Row]], case: str) -> None:
    assert sorted(row["problem"] for row in found[case]) == sorted(WITHOUT[case].problems), found[case]


def test_each_row_has_a_kind(found: dict[str, list[Row]]) -> None:
    rows = [row for rows in found.values() for row in rows]
    assert all(row["problem"] in KINDS[row["kind"]] for row in rows)
    assert all(row["says"] for row in rows)


def test_a_journal_of_nothing_is_a_mistake(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no journal of any run"):
        judge_by_journal(spark, spark.range(0), spark.range(0), spark.range(0), [])
