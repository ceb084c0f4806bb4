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
         A request is confirmed when `problem` is null. The cases are in SQL below, in the order in which they are
         looked for. A value that is not there (null) never confirms anything.
Units    *_us is microseconds after the start of the run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker.protocol.error_code import ErrorCode, kafka_name

DEFAULT_LATENESS_LIMIT_MS = 500

TIMED_OUT = int(ErrorCode.request_timed_out)

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
)
SELECT *,
    CASE
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
FROM late
"""

SUMMARY = """
SELECT run, `group`,
    count(*) AS rows,
    count_if(problem IS NULL) AS confirmed,
    count_if(early) AS early,
    percentile(lateness_us, array(0.5, 0.99, 1.0)) AS lateness_us,
    max(sent_us - intended_us) AS max_send_delay_us
FROM {judged} GROUP BY run, `group`
"""

ANSWERS = "SELECT run, `group`, error_code, outcome, problem, count(*) AS rows FROM {judged} GROUP BY ALL"


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
    max_send_delay_us: int | None  # the load's own fault: how long after its intended time a request was sent at most

    @property
    def ok(self) -> bool:
        return self.requests == self.rows == self.confirmed > 0


@dataclass(frozen=True, slots=True)
class Verdict:
    groups: tuple[GroupVerdict, ...]
    lateness_limit_ms: int

    @property
    def ok(self) -> bool:
        return bool(self.groups) and all(group.ok for group in self.groups)

    @property
    def requests(self) -> int:
        return sum(group.requests for group in self.groups)

    @property
    def confirmed(self) -> int:
        return sum(group.confirmed for group in self.groups)

    def write(self, path: Path) -> None:
        groups = [asdict(group) | {"ok": group.ok} for group in self.groups]
        data = {"ok": self.ok, "lateness_limit_ms": self.lateness_limit_ms, "groups": groups}
        path.write_text(json.dumps(data, indent=1) + "\n")


def judge(spark: SparkSession, requests: DataFrame, lateness_limit_ms: int = DEFAULT_LATENESS_LIMIT_MS) -> DataFrame:
    """The result rows with `handled_us`, `lateness_us`, `early` and `problem` (null: confirmed)."""
    return spark.sql(JUDGED.format(requests="{requests}", limit_us=lateness_limit_ms * 1000), requests=requests)


def summarise(
    spark: SparkSession,
    judged: DataFrame,
    runs: Sequence[dict[str, Any]],
    lateness_limit_ms: int = DEFAULT_LATENESS_LIMIT_MS,
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
        (run["scenario"]["name"], group["name"]): (group["expect"], run["planned"][group["name"]])
        for run in runs
        for group in run["scenario"]["groups"]
    }
    verdicts = []
    for key in [*planned, *sorted(set(found) - set(planned))]:
        expected, requests = planned.get(key, ("not planned", 0))
        row = found.get(key)
        p50, p99, top = (row["lateness_us"] if row else None) or (None, None, None)
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
                lateness_p50_us=whole(p50),
                lateness_p99_us=whole(p99),
                lateness_max_us=whole(top),
                max_send_delay_us=row["max_send_delay_us"] if row else None,
            )
        )
    return Verdict(tuple(verdicts), lateness_limit_ms)


def whole(value: float | None) -> int | None:
    return None if value is None else round(value)
