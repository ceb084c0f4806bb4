"""Input and output of the client programs: plans, logs, reports, comparison."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from kafka.record import MemoryRecordsBuilder

from conformance.clients.log import LoggedRecord, decode
from conformance.clients.plan import CODECS, FROZEN, JOBS, MIXED, THAWED, Job, Record, plan
from conformance.clients.reports import ClientReport, Difference, JobReport, compare, job_report, rows
from conformance.transcripts.rule import Rule

RECORD = Record(0, b"key", b"value", (("name", b"1"),), 1_000)
JOB = Job("job", records=(RECORD,))


def logged(offset: int = 0, **changes: Any) -> LoggedRecord:
    sent = replace(RECORD, partition=-1)
    return LoggedRecord(offset, replace(sent, **changes), "none", broker_time=False, sequence=None)


def report(client: str = "client", **jobs: JobReport) -> dict[str, ClientReport]:
    return {client: ClientReport(client, "1.0", jobs=jobs)}


GOOD = JobReport(None, [(0, 0)], {0: [logged()]}, [])


# plans


def test_a_plan_is_one_line_of_json_and_loses_nothing() -> None:
    line = json.dumps(plan("host:1", JOBS, "prefix"))
    assert "\n" not in line
    read = json.loads(line)
    assert read["bootstrap"] == "host:1"
    for job, described in zip(JOBS, read["jobs"], strict=True):
        assert described["topic"] == f"prefix-{job.name}"
        values = [
            None if record["value"] is None else base64.b64decode(record["value"]) for record in described["records"]
        ]
        assert values == [record.value for record in job.records]


def test_the_jobs_are_every_way_to_acknowledge_times_every_codec_and_every_stage() -> None:
    assert len({job.name for job in JOBS}) == len(JOBS)
    ways = {(job.acks, job.idempotent, job.codec) for job in JOBS if job.partitions == 2 and not job.configs}
    ways_wanted = {(acks, idempotent, codec) for acks, idempotent in ((0, False), (1, False), (-1, False), (-1, True))
                   for codec in CODECS}  # fmt: skip
    assert ways_wanted <= ways
    assert {job.stage for job in JOBS} == {MIXED, FROZEN, THAWED}


# logs


@pytest.mark.parametrize(("codec", "compression_type"), [("none", 0), ("gzip", 1)])
def test_a_batch_that_another_library_wrote_is_read_record_by_record(codec: str, compression_type: int) -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=compression_type, batch_size=1 << 16)
    builder.append(timestamp=5, key=None, value=b"a" * 500, headers=[])
    builder.append(timestamp=4, key=b"k", value=None, headers=[("h", b"1"), ("h", b"")])
    builder.close()
    assert decode(bytes(builder.buffer())) == [
        LoggedRecord(0, Record(-1, None, b"a" * 500, (), 5), codec, broker_time=False, sequence=None),
        LoggedRecord(1, Record(-1, b"k", None, (("h", b"1"), ("h", b"")), 4), codec, broker_time=False, sequence=None),
    ]


def test_a_batch_with_a_wrong_crc_is_an_error() -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 16)
    builder.append(timestamp=5, key=None, value=b"a", headers=[])
    builder.close()
    data = bytearray(builder.buffer())
    data[-2] ^= 1
    with pytest.raises(ValueError, match="the batch at offset 0 has a wrong CRC"):
        decode(bytes(data))


# reports


def test_what_a_program_says_becomes_places_and_errors() -> None:
    job = replace(JOB, records=(RECORD, RECORD, RECORD))
    reported = {"results": [{"partition": 0, "offset": 0}, {"error": "NAME"}, {"partition": None, "offset": None}]}
    assert job_report(job, reported, {0: [logged()]}) == JobReport(
        None, [(0, 0), "NAME", (None, None)], {0: [logged()]}, []
    )


def test_an_unsupported_job_has_its_reason() -> None:
    assert job_report(JOB, {"unsupported": "no"}, {}) == JobReport("no", [], {}, [])


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ({}, "record 0 is not at 0:0"),
        ({0: [logged(1)]}, "record 0 is not at 0:0"),
        ({0: [logged(), logged()]}, "record 0 is not at 0:0"),
        ({0: [logged(value=b"other")]}, "record 0 was sent as"),
        ({0: [logged(headers=())]}, "record 0 was sent as"),
        ({0: [logged(timestamp_ms=2)]}, "record 0 was sent as"),
    ],
)
def test_an_acknowledged_record_that_is_not_where_it_is_said_to_be_is_told(
    log: dict[int, list[LoggedRecord]], said: str
) -> None:
    [misplaced] = job_report(JOB, {"results": [{"partition": 0, "offset": 0}]}, log).misplaced
    assert misplaced.startswith(said)


def test_the_time_of_the_broker_is_no_misplacement() -> None:
    log = {0: [logged(timestamp_ms=77)._replace(broker_time=True)]}
    assert job_report(JOB, {"results": [{"partition": 0, "offset": 0}]}, log).misplaced == []


def test_what_acks_0_says_of_offsets_is_not_believed() -> None:
    assert job_report(replace(JOB, acks=0), {"results": [{"partition": 0, "offset": 9}]}, {}).misplaced == []


# comparison


def test_equal_reports_have_no_difference() -> None:
    assert compare(report(job=GOOD), report(job=GOOD)) == []


@pytest.mark.parametrize(
    ("changed", "where", "ours"),
    [
        (replace(GOOD, results=["ERROR"]), "result of record 0", "ERROR"),
        (replace(GOOD, results=[]), "result of record 0", "nothing"),
        (replace(GOOD, results=[(0, 1)]), "result of record 0", "(0, 1)"),
        (replace(GOOD, unsupported="no"), "unsupported", "no"),
        (replace(GOOD, misplaced=["lost"]), "misplaced 0", "lost"),
        (replace(GOOD, log={0: [logged()._replace(codec="gzip")]}), "log of partition 0: codec", "['gzip']"),
        (replace(GOOD, log={0: [logged()._replace(sequence=3)]}), "log of partition 0: sequence", "[3]"),
        (replace(GOOD, log={0: [logged(value=None)]}), "log of partition 0: value", "[None]"),
        (replace(GOOD, log={0: [logged(timestamp_ms=9)]}), "log of partition 0: timestamp", "[9]"),
        (replace(GOOD, log={0: [logged(4)]}), "log of partition 0: offset", "[4]"),
    ],
)
def test_each_thing_that_differs_is_told(changed: JobReport, where: str, ours: str) -> None:
    [difference] = compare(report(job=GOOD), report(job=changed))
    assert (difference.client, difference.job, difference.where, difference.ours, difference.reason) == (
        "client",
        "job",
        where,
        ours,
        None,
    )


def test_a_record_more_in_the_log_is_told() -> None:
    more = replace(GOOD, log={0: [logged(), logged(1)]})
    assert "log of partition 0: offset" in {
        difference.where for difference in compare(report(job=GOOD), report(job=more))
    }


def test_the_time_of_the_brokers_clock_is_not_compared_but_whose_it_is() -> None:
    logs = [replace(GOOD, log={0: [logged(timestamp_ms=ms)._replace(broker_time=True)]}) for ms in (1, 2)]
    assert compare(report(job=logs[0]), report(job=logs[1])) == []
    [difference] = compare(report(job=logs[0]), report(job=GOOD))
    assert difference.where == "log of partition 0: timestamp"


def test_a_client_that_runs_on_one_side_only_is_different() -> None:
    not_run = {"client": ClientReport("client", not_run="`go` is not installed")}
    assert compare(not_run, not_run) == []
    assert "not_run" in {difference.where for difference in compare(report(job=GOOD), not_run)}
    assert compare(report(job=GOOD), {}) != []


def test_a_broken_program_is_never_the_same_even_if_it_broke_on_both_sides() -> None:
    broken = {"client": ClientReport("client", "1.0", broken="it ended")}
    for kafka, ours in ((report(), broken), (broken, report()), (broken, broken)):
        assert [(difference.where, difference.reason) for difference in compare(kafka, ours)] == [("broken", None)]
        assert [row["outcome"] for row in rows(kafka, ours)] == ["different"]


def test_a_job_that_only_one_side_reports_is_different() -> None:
    assert compare(report(job=GOOD), report()) == [Difference("client", "job", "report", "a report", "nothing")]


def test_what_is_explained_is_told_with_its_reason_and_only_that() -> None:
    explained = [Rule("because", "*: codec", case="client/j*", holds=lambda kafka, ours: ours == ["gzip"])]
    changed = replace(GOOD, log={0: [logged()._replace(codec="gzip", sequence=1)]})
    differences = compare(report(job=GOOD), report(job=changed), explained)
    assert {difference.where: difference.reason for difference in differences} == {
        "log of partition 0: codec": "because",
        "log of partition 0: sequence": None,
    }
    lz4 = replace(GOOD, log={0: [logged()._replace(codec="lz4")]})
    assert [difference.reason for difference in compare(report(job=GOOD), report(job=lz4), explained)] == [None, None]


def test_a_rule_for_nothing_is_told_if_the_client_was_run() -> None:
    explained = [Rule("because", "*: codec", case="client/j*")]
    [difference] = compare(report(job=GOOD), report(job=GOOD), explained)
    assert (difference.where, difference.kafka, difference.reason) == ("*: codec", "is no longer different", None)
    assert compare(report(), report(), explained) == []


def test_rows_say_of_each_job_what_came_of_it() -> None:
    explained = [Rule("because", "log of partition ?: codec", case="librdkafka/*-lz4")]
    lz4 = replace(GOOD, log={0: [logged()._replace(codec="lz4")]})
    unsupported = JobReport("no such thing", [], {}, [])
    kafka = report("librdkafka", a=GOOD, b=GOOD, c=unsupported, **{"x-lz4": lz4})
    ours = report("librdkafka", a=GOOD, b=replace(GOOD, results=["E"]), c=unsupported, **{"x-lz4": GOOD})
    kafka["franz-go"] = ours["franz-go"] = ClientReport("franz-go", not_run="`go` is not installed")
    outcomes = {(row["client"], row["job"]): (row["outcome"], row["why"]) for row in rows(kafka, ours, rules=explained)}
    assert outcomes.pop(("librdkafka", "x-lz4"))[0] == "explained"
    assert outcomes == {
        ("librdkafka", "a"): ("same", ""),
        ("librdkafka", "b"): ("different", "result of record 0: Kafka (0, 0), ours E"),
        ("librdkafka", "c"): ("unsupported", "no such thing"),
        ("franz-go", ""): ("not run", "`go` is not installed"),
    }
