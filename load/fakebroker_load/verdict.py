"""Did every request get what the scenario said, and when? The verdict, in Spark SQL over the result rows.

Theory   handled   Kafka handles one request of a connection at a time: a request is handled when it was sent, or when
                   the one before it was answered, whichever is later.
         due       handled, plus the timeout where the answer has to wait for it.
         lateness  answered - due. More than the limit is late.
         early     answered before handled + timeout, where the answer has to wait. We see an answer a little after the
                   broker sent it, so the `handled` above may be a little after the broker's, and an answer to a
                   pipelined request could look early when it is not. Hence early is judged by the earliest moment at
                   which the request can have been handled: behind each earlier request of its connection, counted from
                   that one's sending, lie at least the timeouts that the answers in between claim to have waited.
         sent late the 99th percentile of sent - intended of a group is above the scenario's limit. Then its requests
                   were not the load that the scenario asks for, and the group is not confirmed.
         A request is confirmed when `problem` is null. The cases are in SQL below, in the order in which they are
         looked for. A value that is not there (null) never confirms anything.
         The log is asked as well, where it was read back (log.py): what stands there has to fit what the request was
         told. Of what was answered with an error that comes behind an append, or not at all, nothing is claimed but
         that it is not there twice, elsewhere or altered; a time-out at a leader that stayed the same has appended.
Units    *_us is microseconds after the start of the run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.scenario.model import DEFAULT_SEND_DELAY_LIMIT_MS

DEFAULT_LATENESS_LIMIT_MS = 500

TIMED_OUT = int(ErrorCode.request_timed_out)

# Kafka answers these only where nothing was appended.
DEFINITE = ", ".join(
    str(int(code))
    for code in (
        ErrorCode.corrupt_message,
        ErrorCode.message_too_large,
        ErrorCode.invalid_topic_exception,
        ErrorCode.record_list_too_large,
        ErrorCode.not_enough_replicas,
        ErrorCode.invalid_required_acks,
        ErrorCode.topic_authorization_failed,
        ErrorCode.cluster_authorization_failed,
        ErrorCode.invalid_timestamp,
        ErrorCode.invalid_record,
    )
)

JUDGED = f"""
WITH chained AS (
    SELECT *,
        max(answered_us) OVER before AS previous_answered_us,
        max(base_offset) OVER before AS previous_offset,
        max(correlation_id) OVER before AS previous_correlation_id,
        coalesce(sum(if(error_code = {TIMED_OUT}, timeout_ms * 1000L, 0L)) OVER before, 0L) AS waited_us,
        count(*) OVER (PARTITION BY run, topic, partition, base_offset) AS same_offset,
        count(*) OVER (PARTITION BY run, connection, sequence) AS same_request
    FROM {{requests}}
    WINDOW before AS (PARTITION BY run, connection ORDER BY sequence ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
timed AS (
    SELECT *,
        greatest(sent_us, previous_answered_us) AS handled_us,
        waited_us + max(sent_us - waited_us) OVER so_far AS handled_at_least_us,
        if(must_wait, timeout_ms * 1000L, 0L) AS wait_us
    FROM chained
    WINDOW so_far AS (PARTITION BY run, connection ORDER BY sequence)
),
late AS (
    SELECT *,
        answered_us - handled_us - wait_us AS lateness_us,
        must_wait AND answered_us < handled_at_least_us + wait_us AS early
    FROM timed
),
found AS (
    SELECT run, connection, sequence, count(*) AS copies, min(offset) AS log_offset,
        min_by(topic, offset) AS log_topic, min_by(partition, offset) AS log_partition,
        min_by(value_crc, offset) AS log_crc
    FROM {{records}} WHERE connection IS NOT NULL GROUP BY ALL
),
known AS (
    SELECT late.*, copies, log_offset, log_topic, log_partition, log_crc, readable_offset, end_offset, same_leader
    FROM late
    LEFT JOIN found USING (run, connection, sequence)
    LEFT JOIN {{parts}} AS parts USING (run, topic, partition)
),
looked_up AS (
    SELECT *,
        CASE
            WHEN end_offset IS NULL THEN NULL
            WHEN copies > 1 THEN 'duplicated'
            WHEN log_topic <> topic OR log_partition <> partition THEN 'in another partition'
            WHEN log_crc <> value_crc THEN 'altered'
            WHEN copies IS NULL AND (outcome = 'silent' OR error_code = 0 OR (error_code = {TIMED_OUT} AND same_leader))
                THEN CASE
                    WHEN coalesce(base_offset, readable_offset) >= readable_offset AND readable_offset < end_offset
                        THEN 'not readable'
                    WHEN error_code = {TIMED_OUT} THEN 'timed out, not appended'
                    ELSE 'lost'
                END
            WHEN log_offset <> base_offset AND error_code IN (0, {TIMED_OUT}) THEN 'told another offset'
            WHEN copies = 1 AND error_code IN ({DEFINITE}) THEN 'refused, and written'
            WHEN log_offset < max(log_offset) OVER earlier THEN 'reordered'
        END AS found_problem
    FROM known
    WINDOW earlier AS (
        PARTITION BY run, connection, log_topic, log_partition ORDER BY sequence
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT *,
    CASE
        WHEN found_problem IS NOT NULL THEN found_problem
        WHEN same_request > 1 THEN 'counted twice'
        WHEN expected_error IS NULL AND outcome = 'silent' AND answered_us IS NULL THEN NULL
        WHEN expected_error IS NULL AND outcome = 'answered' THEN 'answered, against acks=0'
        WHEN outcome <=> 'answered' IS FALSE THEN coalesce(outcome, 'no outcome')
        WHEN error_code <=> expected_error IS FALSE THEN 'wrong answer'
        WHEN answered_us < previous_answered_us THEN 'out of order'
        WHEN correlation_id <= previous_correlation_id THEN 'correlation id went back'
        WHEN sent_us IS NULL OR answered_us IS NULL THEN 'no time'
        WHEN early THEN 'early'
        WHEN lateness_us > {{limit_us}} THEN 'late'
        WHEN expected_error NOT IN ({int(ErrorCode.none)}, {TIMED_OUT})
            THEN if(base_offset <=> -1, NULL, 'base offset with an error')
        WHEN base_offset < 0 OR base_offset IS NULL THEN 'no base offset'
        WHEN same_offset > 1 THEN 'base offset given twice'
        WHEN base_offset < previous_offset THEN 'base offset went back'
    END AS problem
FROM looked_up
"""

SUMMARY = """
SELECT run, `group`,
    count(*) AS rows,
    count_if(problem IS NULL) AS confirmed,
    count_if(early) AS early,
    percentile(lateness_us, array(0.5, 0.99, 1.0)) AS lateness_us,
    percentile(sent_us - intended_us, array(0.5, 0.99, 1.0)) AS send_delay_us,
    percentile(answered_us - sent_us, array(0.5, 0.99, 1.0)) AS from_sent_us,
    percentile(answered_us - intended_us, array(0.5, 0.99, 1.0)) AS from_intended_us
FROM {judged} GROUP BY run, `group`
"""

UNEXPLAINED = """
SELECT count(*) AS records, count_if(requests.run IS NULL) AS unexplained
FROM {records} AS records LEFT JOIN (SELECT DISTINCT run, connection, sequence FROM {judged}) AS requests
    USING (run, connection, sequence)
"""

ANSWERS = "SELECT run, `group`, error_code, outcome, problem, count(*) AS rows FROM {judged} GROUP BY ALL"


@dataclass(frozen=True)
class Log:
    """What was read back: records (log.LOG_SCHEMA) and the partitions that they are of (log.PART_SCHEMA)."""

    records: DataFrame
    parts: DataFrame


Percentiles = tuple[int | None, int | None, int | None]  # the 50th, the 99th, the greatest; None without a value
NO_TIMES: Percentiles = (None, None, None)


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    run: str
    group: str
    expected: str  # the error's name, or "no answer"
    requests: int  # planned
    rows: int  # results found
    confirmed: int
    early: int
    answers: dict[str, int]  # error name, or outcome where there was no answer -> how many
    problems: dict[str, int]  # what was wrong -> how many
    lateness_p50_us: int | None
    lateness_p99_us: int | None
    lateness_max_us: int | None
    send_delay_us: Percentiles = NO_TIMES  # from when a request was intended until it was sent
    from_sent_us: Percentiles = NO_TIMES  # until it was answered
    from_intended_us: Percentiles = NO_TIMES
    send_delay_limit_ms: int = DEFAULT_SEND_DELAY_LIMIT_MS  # of its 99th percentile

    @property
    def ok(self) -> bool:
        return self.requests == self.rows == self.confirmed > 0 and not self.sent_late

    @property
    def sent_late(self) -> bool:
        """The requests were not those that the scenario asks for: what is proved of them is proved of another load."""
        p99 = self.send_delay_us[1]
        return p99 is not None and p99 > self.send_delay_limit_ms * 1000


@dataclass(frozen=True, slots=True)
class Verdict:
    groups: tuple[GroupVerdict, ...]
    lateness_limit_ms: int
    records: int | None = None  # read back from the log; None: it was not read, for one run at least
    unexplained: int = 0  # of these, how many no request has sent

    @property
    def ok(self) -> bool:
        return bool(self.groups) and all(group.ok for group in self.groups) and not self.unexplained

    @property
    def requests(self) -> int:
        return sum(group.requests for group in self.groups)

    @property
    def confirmed(self) -> int:
        return sum(group.confirmed for group in self.groups)

    def write(self, path: Path) -> None:
        groups = [asdict(group) | {"ok": group.ok} for group in self.groups]
        data = {
            "ok": self.ok,
            "lateness_limit_ms": self.lateness_limit_ms,
            "log_records": self.records,
            "log_records_unexplained": self.unexplained,
            "groups": groups,
        }
        path.write_text(json.dumps(data, indent=1) + "\n")


def judge(
    spark: SparkSession,
    requests: DataFrame,
    lateness_limit_ms: int = DEFAULT_LATENESS_LIMIT_MS,
    log: Log | None = None,
) -> DataFrame:
    """The result rows with `handled_us`, `lateness_us`, `early`, what was found in the log (null where it was not
    read), and `problem` (null: confirmed)."""
    log = log or no_log(spark)
    text = JUDGED.format(requests="{requests}", records="{records}", parts="{parts}", limit_us=lateness_limit_ms * 1000)
    return spark.sql(text, requests=requests, records=log.records, parts=log.parts)


def no_log(spark: SparkSession) -> Log:
    """Of a run whose log was not read."""
    return Log(*(spark.createDataFrame([], from_arrow_schema(schema)) for schema in (LOG_SCHEMA, PART_SCHEMA)))


def summarise(
    spark: SparkSession,
    judged: DataFrame,
    runs: Sequence[dict[str, Any]],
    lateness_limit_ms: int = DEFAULT_LATENESS_LIMIT_MS,
    log: Log | None = None,
) -> Verdict:
    """The verdict on each group that `run.json` says was planned, and on any other that turns up in the rows."""
    found = {(row["run"], row["group"]): row for row in spark.sql(SUMMARY, judged=judged).collect()}
    answers: dict[tuple[str, str], Counter[str]] = {}
    problems: dict[tuple[str, str], Counter[str]] = {}
    for kind in spark.sql(ANSWERS, judged=judged).collect():
        key = (kind["run"], kind["group"])
        name = kind["outcome"] if kind["error_code"] is None else kafka_name(kind["error_code"])
        answers.setdefault(key, Counter())[name] += kind["rows"]
        if kind["problem"] is not None:
            problems.setdefault(key, Counter())[kind["problem"]] += kind["rows"]
    planned = {
        (run["scenario"]["name"], group["name"]): (
            group["expect"],
            run["planned"][group["name"]],
            run["scenario"].get("send_delay_limit_ms", DEFAULT_SEND_DELAY_LIMIT_MS),
        )
        for run in runs
        for group in run["scenario"]["groups"]
    }
    verdicts = []
    for key in [*planned, *sorted(set(found) - set(planned))]:
        expected, requests, limit_ms = planned.get(key, ("not planned", 0, DEFAULT_SEND_DELAY_LIMIT_MS))
        row = found.get(key)
        p50, p99, top = percentiles(row, "lateness_us")
        verdicts.append(
            GroupVerdict(
                run=key[0],
                group=key[1],
                expected=expected,
                requests=requests,
                rows=row["rows"] if row else 0,
                confirmed=row["confirmed"] if row else 0,
                early=row["early"] if row else 0,
                answers=dict(answers.get(key, Counter()).most_common()),
                problems=dict(problems.get(key, Counter()).most_common()),
                lateness_p50_us=p50,
                lateness_p99_us=p99,
                lateness_max_us=top,
                send_delay_us=percentiles(row, "send_delay_us"),
                from_sent_us=percentiles(row, "from_sent_us"),
                from_intended_us=percentiles(row, "from_intended_us"),
                send_delay_limit_ms=limit_ms,
            )
        )
    records, unexplained = None, 0
    if log is not None and all(run.get("log") for run in runs):
        (counts,) = spark.sql(UNEXPLAINED, records=log.records, judged=judged).collect()
        records, unexplained = counts["records"], counts["unexplained"]
    return Verdict(tuple(verdicts), lateness_limit_ms, records, unexplained)


def percentiles(row: Row | None, name: str) -> Percentiles:
    found = None if row is None else row[name]
    if found is None:
        return NO_TIMES
    p50, p99, top = map(round, found)
    return p50, p99, top
