"""What a scenario says of a whole group: how many of its requests may have another answer, throttling, throughput.

Theory   No single request shows it, so it is counted, and held against the entry of run.json.
         Throughput is the bytes of values that were acknowledged, from the first request sent to the last one answered.
         Of one kind of answer there are at most so many of 100 requests; one request of few is never too many, unless
         the share is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from fakebroker_load.scenario.answers import answers_of

GROUPS = """
SELECT run, `group`, count(*) AS rows, count_if(throttle_ms > 0) AS throttled,
    count_if(error_code = 0) AS acknowledged, (max(answered_us) - min(sent_us)) / 1e6 AS took_s
FROM {judged} GROUP BY run, `group`
"""
ANSWERS = """
SELECT run, `group`, coalesce(CAST(error_code AS STRING), outcome) AS answer, count(*) AS rows
FROM {judged} GROUP BY ALL
"""
ASKED = ("also", "throttled", "bytes_per_s")
Key = tuple[str, str]  # a run, a group


def amiss_in_groups(
    spark: SparkSession, judged: DataFrame, runs: Sequence[Mapping[str, Any]]
) -> dict[Key, tuple[str, ...]]:
    """Phrases, by run and group; Spark is asked only if a scenario says anything of a group. `runs` as in run.json."""
    asked = {
        (run["scenario"]["name"], group["name"]): group
        for run in runs
        for group in run["scenario"]["groups"]
        if any(group.get(name) not in (None, {}) for name in ASKED)
    }
    if not asked:
        return {}
    answers: dict[Key, dict[str, int]] = {}
    for row in spark.sql(ANSWERS, judged=judged).collect():
        answers.setdefault((row["run"], row["group"]), {})[row["answer"]] = row["rows"]
    rows = {(row["run"], row["group"]): row for row in spark.sql(GROUPS, judged=judged).collect()}
    return {key: tuple(_amiss(group, rows[key], answers[key])) for key, group in asked.items() if key in rows}


def _amiss(group: Mapping[str, Any], row: Row, answers: Mapping[str, int]) -> Iterator[str]:
    for name, share in (group.get("also") or {}).items():
        found = sum(answers.get(answer, 0) for answer in answers_of(name))
        if found > max(row["rows"] * share / 100, 1 if share else 0):
            yield f"{name}: {found:,} of {row['rows']:,} requests, and at most {share:g} of 100 are right"
    if group.get("throttled") and not row["throttled"]:
        yield "no answer says that the client is throttled"
    if group.get("throttled") is False and row["throttled"]:
        yield f"{row['throttled']:,} answers say that the client is throttled, and none may"
    if group.get("bytes_per_s"):
        low, high = group["bytes_per_s"]
        rate = row["acknowledged"] * group["record_bytes"] / row["took_s"] if row["took_s"] else 0.0
        if not low <= rate <= high:
            yield f"{rate:,.0f} bytes a second were acknowledged, and {low:,} to {high:,} are right"
