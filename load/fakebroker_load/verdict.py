"""The verdict on a folder of runs, counted in Spark SQL from the judged rows (judging/).

Theory   A group is sent late if the 99th percentile of sent - intended is above the scenario's limit. Then its load was
         not the one that the scenario asks for, and the group is not confirmed.
Units    *_us is microseconds after the start of the run.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from fakebroker.protocol.error_code import kafka_name
from fakebroker_load.judging.by_journal import CLOCKS
from fakebroker_load.judging.causes import WRONG_ANSWER
from fakebroker_load.judging.findings import NOT_MEASURED, VerdictFinding, finding_of
from fakebroker_load.judging.group_verdict import NO_TIMES, GroupVerdict, Percentiles
from fakebroker_load.judging.groups import amiss_in_groups
from fakebroker_load.judging.limits import held_to_limits
from fakebroker_load.judging.overtaken import overtaken
from fakebroker_load.judging.percentiles import Key, percentiles_of, sketched
from fakebroker_load.judging.requests import LATE, TIMED_OUT, LogTables
from fakebroker_load.judging.sql import LatenessLimits, limit_us
from fakebroker_load.judging.unjudged import UnjudgedRules, unjudged_of
from fakebroker_load.judging.ways import Ways, as_far_as, ways_of
from fakebroker_load.scenario.answers import NO_ANSWER
from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS, DEFAULT_SEND_DELAY_LIMIT_MS
from fakebroker_load.scenario.reads import READERS

SUMMARY = """
SELECT run, `group`,
    count(*) AS rows,
    count_if(problem IS NULL) AS confirmed,
    count_if(early) AS early,
    count_if(problem = '{late}' AND (machine_late_us >= {lateness} - {limit_us} OR {overtaken})) AS late_explained,
    count_if(problem = 'wrong answer' AND error_code = {timed_out} AND expected_error = 0 AND {no_journal}
        AND machine_late_us >= timeout_ms * 500L AND NOT {overtaken}) AS unreplicated,
    count_if(problem = '{late}' AND {overtaken}) AS overtaken_late,
    count_if(problem = 'wrong answer' AND {overtaken}) AS overtaken_wrong,
    max(load_late_us) AS load_late_us,
    min(connection) AS first_connection,
    max(connection) AS last_connection,
    count_if(outcome IN ('done', 'gave up')) AS readers,
    size(collect_set(asked) FILTER (WHERE acks IS NOT NULL)) AS kinds,
    {lateness_us} AS lateness_us,
    {send_delay_us} AS send_delay_us,
    {from_sent_us} AS from_sent_us,
    {from_intended_us} AS from_intended_us
FROM (
    SELECT *, xxhash64(topic, acks, expected_error, must_wait, also, client, client_id, written) AS asked
    FROM {{judged}}
) GROUP BY run, `group`
"""
UNEXPLAINED_RECORDS = "records in the log that no request has sent"
MIXED = "its rows differ in what the scenario says"
STRAYED = "it has rows of other groups' connections"

EXAMPLES = """
SELECT run, kind, problem, count(*) AS rows,
    min_by(struct(*), struct(coalesce(connection, 0), coalesce(sequence, 0), topic, partition, offset)) AS example
FROM {found} GROUP BY run, kind, problem ORDER BY run, kind, problem
"""

UNEXPLAINED = """
SELECT problem, count(fingerprint) AS records, count_if(requests.run IS NULL) AS unexplained
FROM {records} AS records LEFT JOIN (SELECT DISTINCT run, connection, sequence FROM {judged}) AS requests
    USING (run, connection, sequence)
GROUP BY problem
"""

TIMES = {
    "lateness_us": "lateness_us",
    "send_delay_us": "sent_us - intended_us",
    "from_sent_us": "answered_us - sent_us",
    "from_intended_us": "answered_us - intended_us",
}
SHARES = (0.5, 0.99, 1.0)
READ = "read"  # the expectation of readers
Counts = defaultdict[Key, Counter[str]]
ANSWERS = """
SELECT run, `group`, error_code, outcome, problem, if(problem = 'wrong answer', expected_error, NULL) AS expected_error,
    count(*) AS rows
FROM {judged} GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class Reason:
    """One kind of mismatch of a run: how many there are, and the first of them (judging/mismatches.py)."""

    run: str
    kind: str
    problem: str
    rows: int
    example: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    groups: tuple[GroupVerdict, ...]
    lateness_limit_ms: int  # the largest, if runs have limits of their own
    records: int | None = None  # read back from the log; None: at least one run's log was not read
    unexplained: int = 0  # of these: records that no request has sent
    beside: int = 0  # events in the journal: of the run's topics, but of no request
    logs_amiss: int = 0  # in the logs, and of no request: a partition that cannot be right, or a batch, or a follower
    ways: tuple[Ways, ...] = ()  # by run: how it was judged
    reasons: tuple[Reason, ...] = ()  # unless ok: examples
    machine_late_ms: Mapping[str, int | None] = field(default_factory=dict)  # by run; None: unknown
    unjudged: tuple[UnjudgedRules, ...] = ()
    strange: Mapping[str, int] = field(default_factory=dict)  # `beside` and `logs_amiss`, by problem

    @property
    def ok(self) -> bool:
        all_ok = bool(self.groups) and all(group.ok for group in self.groups)
        return all_ok and not self.is_strange

    @property
    def is_strange(self) -> bool:
        """Return True if log or journal have something that no request explains."""
        return bool(self.unexplained or self.beside or self.logs_amiss)

    @property
    def word(self) -> str:
        """Return the verdict in a word: confirmed, as far as there were witnesses, not confirmed, or not measured."""
        if self.ok:
            return f"Confirmed{as_far_as(self.ways)}"
        return "Not measured" if self.finding.kind == NOT_MEASURED else "Not confirmed"

    @property
    def finding(self) -> VerdictFinding:
        strange = {UNEXPLAINED_RECORDS: self.unexplained} if self.unexplained else {}
        strange |= self.strange
        finding = finding_of(self.groups, self.ok, strange, self.lateness_limit_ms, self.machine_late_ms)
        return finding._replace(headline=finding.headline + as_far_as(self.ways)) if self.ok else finding

    @property
    def requests(self) -> int:
        return sum(group.requests for group in self.groups)

    @property
    def confirmed(self) -> int:
        return sum(group.confirmed for group in self.groups)

    def write(self, path: Path) -> None:
        groups = [
            asdict(group) | {"ok": group.ok, "limits": [asdict(held) | {"ok": held.ok} for held in group.limits]}
            for group in self.groups
        ]
        data = {
            "ok": self.ok,
            "finding": self.finding._asdict(),
            "machine_late_ms": dict(self.machine_late_ms),
            "lateness_limit_ms": self.lateness_limit_ms,
            "log_records": self.records,
            "log_records_unexplained": self.unexplained,
            "journal_unexplained": self.beside,
            "logs_amiss": self.logs_amiss,
            "ways": [asdict(way) | {"ways": way.count} for way in self.ways],
            "not_judged": [asdict(rule) for rule in self.unjudged],
            "reasons": [asdict(reason) for reason in self.reasons],
            "groups": groups,
        }
        path.write_text(json.dumps(data, indent=1) + "\n")


def summarise(
    spark: SparkSession,
    judged: DataFrame,
    runs: Sequence[dict[str, Any]],
    lateness_limit_ms: LatenessLimits = DEFAULT_LATENESS_LIMIT_MS,
    log: LogTables | None = None,
    beside: DataFrame | None = None,
    logs: DataFrame | None = None,
) -> Verdict:
    """Return the verdict on each group that `run.json` planned, and on any other in the rows."""
    by_broker = "broker_lateness_us" in judged.columns
    lateness = "greatest(lateness_us, broker_lateness_us)" if by_broker else "lateness_us"
    answers, problems, wrong = _counted(spark, judged)
    large = sketched({key: counted.total() for key, counted in answers.items()})
    text = SUMMARY.format(
        late=LATE,
        timed_out=TIMED_OUT,
        no_journal="request IS NULL" if by_broker else "true",
        lateness=lateness,
        limit_us=limit_us(lateness_limit_ms),
        overtaken=overtaken(runs, lateness_limit_ms),
        **{name: percentiles_of(value, SHARES, large) for name, value in TIMES.items()},
    )
    by_group = {(row["run"], row["group"]): row for row in spark.sql(text, judged=judged).collect()}
    planned = {
        (run["scenario"]["name"], group["name"]): (
            READ if group.get("client") in READERS else group["expect"],
            run["planned"][group["name"]],
            run["scenario"].get("send_delay_limit_ms", DEFAULT_SEND_DELAY_LIMIT_MS),
        )
        for run in runs
        for group in run["scenario"]["groups"]
    }
    topics = {
        (run["scenario"]["name"], group["name"]): 1 + len(group.get("beside", ()))
        for run in runs
        for group in run["scenario"]["groups"]
    }
    own = connections_of(runs)
    amiss = amiss_in_groups(spark, judged, runs)
    limits = held_to_limits(spark, judged, runs, large)
    verdicts = []
    for key in [*planned, *sorted(set(by_group) - set(planned))]:
        expected, requests, limit_ms = planned.get(key, ("not planned", 0, DEFAULT_SEND_DELAY_LIMIT_MS))
        row = by_group.get(key)
        if expected == READ and row is not None:  # only the run knows how many records there were to read
            requests += row["rows"] - row["readers"]
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
                answers=dict(answers[key].most_common()),
                problems=dict(problems[key].most_common()),
                lateness_p50_us=p50,
                lateness_p99_us=p99,
                lateness_max_us=top,
                send_delay_us=percentiles(row, "send_delay_us"),
                from_sent_us=percentiles(row, "from_sent_us"),
                from_intended_us=percentiles(row, "from_intended_us"),
                late_explained=row["late_explained"] if row else 0,
                unreplicated=row["unreplicated"] if row else 0,
                overtaken_late=row["overtaken_late"] if row else 0,
                overtaken_wrong=row["overtaken_wrong"] if row else 0,
                load_late_us=row["load_late_us"] if row else None,
                send_delay_limit_ms=limit_ms,
                amiss=(
                    *amiss.get(key, ()),
                    *((MIXED,) if row and row["kinds"] > topics.get(key, 1) else ()),
                    *((STRAYED,) if row and not keeps_to(own.get(key), row) else ()),
                    *(held.sentence() for held in limits.get(key, ()) if not held.ok),
                ),
                limits=limits.get(key, ()),
                wrong_answers=dict(wrong[key].most_common()),
                is_sketched=key in large,
            )
        )
    of_journal, of_logs = (_by_problem(mismatches) for mismatches in (beside, logs))
    records, unexplained = None, 0
    if log is not None and all(run.get("log") for run in runs):
        counts = spark.sql(UNEXPLAINED, records=log.records, judged=judged).collect()
        records = sum(row["records"] for row in counts)
        alone = Counter({row["problem"]: row["unexplained"] for row in counts if row["unexplained"]})
        unexplained = alone.pop(None, 0)
        of_logs += alone
    aligned = {} if beside is None else clocks(spark, judged)
    ways = tuple(ways_of(run, aligned) for run in runs)
    largest_ms = lateness_limit_ms if isinstance(lateness_limit_ms, int) else max(lateness_limit_ms.values())
    late_ms = {run["scenario"]["name"]: run.get("machine_late_ms") for run in runs}
    return Verdict(
        tuple(verdicts),
        largest_ms,
        records,
        unexplained,
        of_journal.total(),
        of_logs.total(),
        ways,
        machine_late_ms=late_ms,
        unjudged=unjudged_of(spark, ways, runs, None if log is None else log.parts),
        strange=of_journal + of_logs,
    )


def _counted(spark: SparkSession, judged: DataFrame) -> tuple[Counts, Counts, Counts]:
    """Return the number of rows of each group three times: by answer, by problem, and by wrong answer with what was
    expected."""
    answers, problems, wrong = Counts(Counter), Counts(Counter), Counts(Counter)
    for kind in spark.sql(ANSWERS, judged=judged).collect():
        key = (kind["run"], kind["group"])
        name = kind["outcome"] if kind["error_code"] is None else kafka_name(kind["error_code"])
        answers[key][name] += kind["rows"]
        if kind["problem"] is not None:
            problems[key][kind["problem"]] += kind["rows"]
        if kind["problem"] == WRONG_ANSWER:
            expected = NO_ANSWER if kind["expected_error"] is None else kafka_name(kind["expected_error"])
            wrong[key][f"{name} where {expected} was expected"] += kind["rows"]
    return answers, problems, wrong


def _by_problem(mismatches: DataFrame | None) -> Counter[str]:
    """Return the number of rows of each problem."""
    rows = () if mismatches is None else mismatches.groupBy("problem").count().collect()
    return Counter({row["problem"]: row["count"] for row in rows})


def connections_of(runs: Sequence[dict[str, Any]]) -> dict[tuple[str, str], range]:
    """The numbers of each group's connections, as plan.py gives them."""
    connections: dict[tuple[str, str], range] = {}
    for run in runs:
        first = 0
        for group in run["scenario"]["groups"]:
            behind = first + group["connections"]
            connections[run["scenario"]["name"], group["name"]] = range(first, behind)
            first = behind
    return connections


def keeps_to(own: range | None, row: Row) -> bool:
    """Return True if the rows of a group belong to its own connections. A group that was not planned has none."""
    ends = row["first_connection"], row["last_connection"]
    return own is not None and all(one is None or one in own for one in ends)


def clocks(spark: SparkSession, judged: DataFrame) -> dict[str, tuple[int, int]]:
    """Return by run how far the broker's clock is ahead of the run's, at least and at most."""
    return {row["run"]: (row["low_us"], row["high_us"]) for row in spark.sql(CLOCKS, judged=judged).collect()}


def reasons_of(spark: SparkSession, all_mismatches: DataFrame) -> tuple[Reason, ...]:
    """Return each kind of mismatch, with an example."""
    return tuple(
        Reason(row["run"], row["kind"], row["problem"], row["rows"], row["example"].asDict())
        for row in spark.sql(EXAMPLES, found=all_mismatches).collect()
    )


def percentiles(row: Row | None, name: str) -> Percentiles:
    times = None if row is None else row[name]
    if times is None:
        return NO_TIMES
    p50, p99, top = map(round, times)
    return p50, p99, top
