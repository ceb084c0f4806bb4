"""A run in steps of time: requests from the judged rows; parked requests, high watermarks and log ends from the
journal.

Theory   A run is cut into at most STEPS steps, so that Spark's output does not grow with the run. The journal has the
         broker's clock. If the verdict does not know how far it is ahead of the run's (judging/ways.py), there is no
         picture. Events after the load, while the log is read back, are in the last step.
           Parked     from the event to the answer, or to the deadline without an answer; counted at a step's end
           Offsets    count from the partition's end at the first event of it. Behind is how far the high watermark is
                      below the log end. A step has the partition's last value; a step without events keeps the value
                      before. Spark makes the sum of all partitions, and returns the partitions furthest behind.
Units    *_us is microseconds after the start of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.sql import quoted
from fakebroker_load.judging.ways import Ways
from fakebroker_load.reports.distributions import answer_name

STEPS = 85  # bars side by side
AFTER = 5  # steps after the load
MOST_PARTITIONS = 6
MOST_APART_US = 100_000  # two clocks may disagree by this much, as those of several machines do

REQUESTS = """
SELECT run, moment, error_code, outcome, is_answered, CAST(floor(us / {step_us}) AS INT) AS step, count(*) AS rows
FROM (
    SELECT run, if(moment = 'ended', error_code, NULL) AS error_code, if(moment = 'ended', outcome, NULL) AS outcome,
        is_answered AND moment = 'ended' AS is_answered, moment, us
    FROM (
        SELECT run, error_code, outcome, error_code IS NOT NULL AS is_answered, stack(3,
            'asked for', intended_us, 'sent', sent_us, 'ended', coalesce(answered_us, sent_us)) AS (moment, us)
        FROM {{judged}}
    )
)
WHERE us IS NOT NULL GROUP BY ALL
"""

# Parked requests have a row for each step in which some came or went; offsets have one for each step and partition.
# Rows without a topic are sums over all.
JOURNAL = """
WITH told AS (
    SELECT *, {step} AS step FROM {{journal}} WHERE run IN ({runs})
),
parks AS (
    SELECT run, min(if(event = 'parked', step, NULL)) AS parked,
        coalesce(max(if(event = 'answer', step, NULL)), max(deadline_step)) AS ended
    FROM (SELECT *, {deadline_step} AS deadline_step FROM told)
    WHERE request IS NOT NULL AND (event = 'answer' OR event = 'parked' AND api = 'Produce')
    GROUP BY run, request
),
moves AS (
    SELECT run, step, sum(one) AS more FROM (
        SELECT run, stack(2, parked, 1, ended, -1) AS (step, one) FROM parks WHERE parked IS NOT NULL
    )
    WHERE step IS NOT NULL GROUP BY run, step
),
places AS (
    SELECT run, topic, partition, step, min_by(base_offset, seq) FILTER (WHERE event = 'append') AS first_offset,
        max_by(log_end, seq) FILTER (WHERE log_end IS NOT NULL) AS log_end,
        max_by(high_watermark, seq) FILTER (WHERE high_watermark >= 0) AS watermark
    FROM (
        SELECT *, if(event = 'append', last_offset + 1, nullif(log_end_offset, -1)) AS log_end FROM told
        WHERE event IN ('watermark_moved', 'leader_changed')
            OR event = 'append' AND error_code = 0 AND NOT is_duplicate
    )
    WHERE {topics} GROUP BY run, topic, partition, step
),
begun AS (
    SELECT *, coalesce(first_value(first_offset, true) OVER whole, first_value(log_end, true) OVER whole) AS start
    FROM places
    WINDOW whole AS (PARTITION BY run, topic, partition ORDER BY step
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
filled AS (
    SELECT run, topic, partition, step, coalesce(last_value(log_end, true) OVER so_far, start) - start AS appended,
        coalesce(last_value(log_end, true) OVER so_far, start)
            - coalesce(last_value(watermark, true) OVER so_far, start) AS behind
    FROM begun WINDOW so_far AS (PARTITION BY run, topic, partition ORDER BY step)
),
compared AS (
    SELECT *, appended - lag(appended, 1, 0) OVER so_far AS more, behind - lag(behind, 1, 0) OVER so_far AS more_behind,
        max(behind) OVER whole AS most_behind, max(appended) OVER whole AS most_appended
    FROM filled
    WINDOW so_far AS (PARTITION BY run, topic, partition ORDER BY step),
        whole AS (PARTITION BY run, topic, partition)
),
ranked AS (
    SELECT *, dense_rank() OVER (PARTITION BY run ORDER BY most_behind DESC, most_appended DESC, topic, partition)
        AS place
    FROM compared
)
SELECT run, 'parked' AS what, NULL AS topic, NULL AS partition, step, CAST(more AS BIGINT) AS one, 0L AS other
FROM moves
UNION ALL
SELECT run, 'all', NULL, NULL, step, sum(more), sum(more_behind) FROM compared GROUP BY run, step
UNION ALL
SELECT run, 'partition', topic, partition, step, appended, behind FROM ranked WHERE place <= {most}
UNION ALL
SELECT run, 'partitions', NULL, NULL, 0, max(place), 0L FROM ranked GROUP BY run
"""

Steps = dict[int, int]  # a step -> how many


@dataclass(slots=True)
class RequestsOverTime:
    """The numbers of a run's requests in each step."""

    step_ms: int
    end_ms: int  # end of the pictures: the load, and AFTER steps
    asked: Steps = field(default_factory=dict)
    sent: Steps = field(default_factory=dict)
    answered: Steps = field(default_factory=dict)
    answers: dict[str, Steps] = field(default_factory=dict)


@dataclass(slots=True)
class RecordsOverTime:
    """Records since the start: those appended, and how many of them are at or above the high watermark."""

    appended: Steps = field(default_factory=dict)
    behind: Steps = field(default_factory=dict)


@dataclass(slots=True)
class JournalOverTime:
    """The journal of a run in steps, or the reason why there is none, as a sentence."""

    step_ms: int = 1
    why_not: str | None = None
    parked: Steps = field(default_factory=dict)
    all: RecordsOverTime = field(default_factory=RecordsOverTime)
    partitions: dict[str, RecordsOverTime] = field(default_factory=dict)  # by name, those furthest behind
    partition_count: int = 0


def step_ms(last_us: int) -> int:
    """Return the shortest of 1, 2, 5, 10, ... ms for which STEPS steps are enough."""
    widths = (step * int(10**power) for power in range(9) for step in (1, 2, 5))
    return next(width for width in widths if last_us / 1000 / width <= STEPS)


def last_step(last_us: int) -> int:
    """Return the last step, which has all later events too."""
    return last_us // (step_ms(last_us) * 1000) + AFTER


def count_requests(spark: SparkSession, judged: DataFrame, last_us: Mapping[str, int]) -> dict[str, RequestsOverTime]:
    """Count the requests of each run. `last_us` is the time of its last response."""
    if not last_us:
        return {}
    by_run = {
        run: RequestsOverTime(step_ms(end_us), (last_step(end_us) + 1) * step_ms(end_us))
        for run, end_us in last_us.items()
    }
    cases = _cases({run: f"{of.step_ms * 1000}L" for run, of in by_run.items()})
    for row in spark.sql(REQUESTS.format(step_us=cases), judged=judged).collect():
        if row["run"] in by_run:
            _add(by_run[row["run"]], row)
    return by_run


def _add(into: RequestsOverTime, row: Any) -> None:
    step, rows = row["step"], row["rows"]
    if row["moment"] == "ended":
        steps = into.answers.setdefault(answer_name(row), {})
        steps[step] = steps.get(step, 0) + rows
        if row["is_answered"]:
            into.answered[step] = into.answered.get(step, 0) + rows
    else:
        steps = into.asked if row["moment"] == "asked for" else into.sent
        steps[step] = steps.get(step, 0) + rows


def tell_journal(
    spark: SparkSession,
    journal: DataFrame | None,
    ways: Iterable[Ways],
    topics: Mapping[str, Iterable[str]],
    last_us: Mapping[str, int],
) -> dict[str, JournalOverTime]:
    """Return the journal of each run in steps. `topics` are those of each run; `journal` is as in journal/lines.py."""
    journals = {way.run: JournalOverTime(step_ms(last_us.get(way.run, 0)), _why_not(way)) for way in ways}
    starts = {
        way.run: (way.clock_us[0] + way.clock_us[1]) // 2
        for way in ways
        if journals[way.run].why_not is None and way.clock_us is not None
    }
    if journal is None or not starts:
        return journals
    for row in spark.sql(_text(journals, starts, topics, last_us), journal=journal).collect():
        run_journal, step = journals[row["run"]], row["step"]
        match row["what"]:
            case "parked":
                run_journal.parked[step] = row["one"]
            case "all":
                run_journal.all.appended[step], run_journal.all.behind[step] = row["one"], row["other"]
            case "partitions":
                run_journal.partition_count = row["one"]
            case _:
                place = run_journal.partitions.setdefault(f"{row['topic']}-{row['partition']}", RecordsOverTime())
                place.appended[step], place.behind[step] = row["one"], row["other"]
    for run_journal in journals.values():
        for steps in (run_journal.parked, run_journal.all.appended, run_journal.all.behind):
            _accumulate(steps)
    return journals


def _why_not(way: Ways) -> str | None:
    if way.journal is None:
        return f"There is no journal of it: {way.why_no_journal}."
    if way.clock_us is None:
        return "Nothing was answered by which the broker's clock could be compared with the run's."
    low_us, high_us = way.clock_us
    if low_us - high_us > MOST_APART_US:
        return "The broker's clock went otherwise than the run's (time was skipped, or they drift)."
    return None


def _text(
    journals: Mapping[str, JournalOverTime],
    starts: Mapping[str, int],
    topics: Mapping[str, Iterable[str]],
    last_us: Mapping[str, int],
) -> str:
    first = _cases({run: f"{start_us}L" for run, start_us in starts.items()})
    width = _cases({run: f"{journals[run].step_ms * 1000}L" for run in starts})
    last = _cases({run: str(last_step(last_us.get(run, 0))) for run in starts})

    def step(column: str) -> str:
        return f"least(greatest(CAST(floor(({column} * 1000L - {first}) / {width}) AS INT), 0), {last})"

    named = " OR ".join(
        f"run = {quoted(run)} AND topic IN ({', '.join(map(quoted, topics[run]))})" for run in starts if topics.get(run)
    )
    return JOURNAL.format(
        step=step("mono_ms"),
        deadline_step=step("deadline_mono_ms"),
        runs=", ".join(map(quoted, starts)),
        topics=named or "false",
        most=MOST_PARTITIONS,
    )


def _cases(by_run: Mapping[str, str]) -> str:
    """Return SQL for the value of each run."""
    if len(by_run) == 1:
        return next(iter(by_run.values()))
    return f"CASE run {' '.join(f'WHEN {quoted(run)} THEN {text}' for run, text in by_run.items())} END"


def _accumulate(steps: Steps) -> None:
    """Turn changes in each step into the level at its end."""
    total = 0
    for step in sorted(steps):
        total += steps[step]
        steps[step] = total
