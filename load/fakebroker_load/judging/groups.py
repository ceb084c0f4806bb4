"""A scenario's expectations for a whole group: the share of other answers, throttling, throughput, and own timeouts.

Theory   No single request shows these, so they are counted, and compared with the entry of run.json.
         Throughput is the bytes of acknowledged values, from the first request sent to the last response.
         One kind of answer may have a limited share of 100 requests. With few requests, one is never too many, unless
         the share is 0.
         A time-out comes after the timeout of its own request. If a group draws timeouts from a range, its requests are
         put into four bands by timeout. In each band some response is as early as possible, even on a busy machine. So
         the least lateness of a band shows how long the broker delays others. A shorter timeout must not have a larger
         least lateness: such a broker takes its own time. Some differences prove nothing: below half of the difference
         of the timeouts, below 20 ms, or below the lateness of the machine. Lateness is by the broker's own clock if
         there is a journal, otherwise without the time for which the load stood still. Below 0 it counts as 0: the
         client has seen the response before this one late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from fakebroker_load.judging.requests import TIMED_OUT
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
TIMEOUTS = """
SELECT run, `group`, timeout_ms, count(*) AS rows, min({lateness}) AS least_us
FROM {{judged}}
WHERE error_code = {timed_out} AND must_wait AND lateness_us IS NOT NULL AND coalesce(client, 'raw') = 'raw'
GROUP BY ALL
"""
BANDS, LEAST_IN_A_BAND, LEAST_MS = 4, 5, 20
ASKED = ("also", "throttled", "bytes_per_s")
Key = tuple[str, str]  # a run, a group


def amiss_in_groups(
    spark: SparkSession, judged: DataFrame, runs: Sequence[Mapping[str, Any]]
) -> dict[Key, tuple[str, ...]]:
    """Return phrases, by run and group. Spark is asked only if a scenario has such an expectation. `runs` is as in
    run.json."""
    expecting = {
        (run["scenario"]["name"], group["name"]): group
        for run in runs
        for group in run["scenario"]["groups"]
        if any(group.get(name) not in (None, {}) for name in ASKED)
    }
    phrases: dict[Key, tuple[str, ...]] = {key: (said,) for key, said in _own_times(spark, judged, runs).items()}
    if not expecting:
        return phrases
    answers: dict[Key, dict[str, int]] = {}
    for row in spark.sql(ANSWERS, judged=judged).collect():
        answers.setdefault((row["run"], row["group"]), {})[row["answer"]] = row["rows"]
    rows = {(row["run"], row["group"]): row for row in spark.sql(GROUPS, judged=judged).collect()}
    for key, group in expecting.items():
        if key in rows:
            phrases[key] = (*phrases.get(key, ()), *_amiss(group, rows[key], answers[key]))
    return phrases


def _own_times(spark: SparkSession, judged: DataFrame, runs: Sequence[Mapping[str, Any]]) -> dict[Key, str]:
    """Return a phrase for each group of which the time-outs do not follow the timeouts of the requests."""
    ranges = {
        (run["scenario"]["name"], group["name"]): run.get("machine_late_ms") or 0
        for run in runs
        for group in run["scenario"]["groups"]
        if group.get("waits") and len(set(group.get("timeout_ms", ()))) == 2
    }
    if not ranges:
        return {}
    lateness = "greatest(lateness_us - coalesce(load_late_us, 0L), 0L)"
    if "broker_lateness_us" in judged.columns:
        lateness = f"coalesce(broker_lateness_us, {lateness})"
    text = TIMEOUTS.format(lateness=lateness, timed_out=TIMED_OUT)
    rows: dict[Key, list[Row]] = {}
    for row in spark.sql(text, judged=judged).collect():
        rows.setdefault((row["run"], row["group"]), []).append(row)
    said = {key: own_times(rows.get(key, ()), machine_late_ms) for key, machine_late_ms in ranges.items()}
    return {key: text for key, text in said.items() if text is not None}


def own_times(rows: Sequence[Mapping[str, Any] | Row], machine_late_ms: int) -> str | None:
    """Return what is wrong with the time-outs of a group, or None. `rows` have timeout_ms, the number `rows` of its
    requests, and least_us, their least lateness."""
    if not rows:
        return None
    low_ms, high_ms = (pick(row["timeout_ms"] for row in rows) for pick in (min, max))
    bands: list[list[Mapping[str, Any] | Row]] = [[] for _ in range(BANDS)]
    for row in rows:
        bands[(row["timeout_ms"] - low_ms) * BANDS // (high_ms - low_ms + 1)].append(row)
    least = [
        (low_ms + (high_ms - low_ms) * (number + 0.5) / BANDS, max(min(row["least_us"] for row in band), 0) / 1000)
        for number, band in enumerate(bands)
        if sum(row["rows"] for row in band) >= LEAST_IN_A_BAND
    ]
    for asked_ms, late_ms in least:
        for more_ms, less_late_ms in least:
            enough_ms = max((more_ms - asked_ms) / 2, LEAST_MS, machine_late_ms)
            if more_ms > asked_ms and late_ms - less_late_ms > enough_ms:
                return (
                    f"time-outs do not follow their requests: where some {asked_ms:,.0f} ms were asked for, each was "
                    f"at least {late_ms:,.0f} ms late, where {more_ms:,.0f} ms were, {less_late_ms:,.0f} ms"
                )
    return None


def _amiss(group: Mapping[str, Any], row: Row, answers: Mapping[str, int]) -> Iterator[str]:
    for name, share in (group.get("also") or {}).items():
        count = sum(answers.get(answer, 0) for answer in answers_of(name))
        if count > max(row["rows"] * share / 100, 1 if share else 0):
            yield f"{name}: {count:,} of {row['rows']:,} requests, and at most {share:g} of 100 are right"
    if group.get("throttled") and not row["throttled"]:
        yield "no answer says that the client is throttled"
    if group.get("throttled") is False and row["throttled"]:
        yield f"{row['throttled']:,} answers say that the client is throttled, and none may"
    if group.get("bytes_per_s"):
        low, high = group["bytes_per_s"]
        rate = row["acknowledged"] * group["record_bytes"] / row["took_s"] if row["took_s"] else 0.0
        if not low <= rate <= high:
            yield f"{rate:,.0f} bytes a second were acknowledged, and {low:,} to {high:,} are right"
