"""Limits that a scenario sets for a group's responses: latency at percentiles, responses per second.

Theory   Latency is from intended to answered, or to the callback for a record of a producer. Without responses, a limit
         is not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from fakebroker_load.judging.percentiles import Key, percentiles_of
from fakebroker_load.scenario.limits import share_of

FOUND = """
SELECT run, `group`, count(error_code) AS answers, (max(answered_us) - min(sent_us)) / 1e6 AS took_s,
    {latency_us} AS latency_us
FROM {{judged}} GROUP BY run, `group`
"""


@dataclass(frozen=True, slots=True)
class LimitResult:
    """A limit, and the value found; None without a value. `is_least`: the value must not be below it, otherwise not
    above."""

    what: str
    unit: str
    limit: float
    found: float | None
    is_least: bool = False

    @property
    def ok(self) -> bool:
        if self.found is None:
            return False
        return self.found >= self.limit if self.is_least else self.found <= self.limit

    def sentence(self) -> str:
        """Describe the limit for the user."""
        figure = "no answer" if self.found is None else f"{self.found:,.1f} {self.unit}"
        return f"{self.what}: {figure}, limit {'at least' if self.is_least else 'at most'} {self.limit:,g} {self.unit}"


def held_to_limits(
    spark: SparkSession, judged: DataFrame, runs: Sequence[Mapping[str, Any]], large: Collection[Key] = ()
) -> dict[Key, tuple[LimitResult, ...]]:
    """Return the limits by run and group. Spark is asked only if a scenario sets a limit. `runs` is as in run.json.
    Groups in `large` have percentiles of a sketch, which are never too low."""
    limited = {
        (run["scenario"]["name"], group["name"]): group
        for run in runs
        for group in run["scenario"]["groups"]
        if group.get("latency_limit_ms") or group.get("min_answers_per_s")
    }
    if not limited:
        return {}
    names = sorted({name for group in limited.values() for name in group.get("latency_limit_ms") or {}}) or ["max"]
    shares = [share_of(name) for name in names]
    text = FOUND.format(latency_us=percentiles_of("answered_us - intended_us", shares, large))
    rows = {(row["run"], row["group"]): row for row in spark.sql(text, judged=judged).collect()}
    return {key: tuple(_held(group, rows.get(key), names)) for key, group in limited.items()}


def _held(group: Mapping[str, Any], row: Row | None, names: Sequence[str]) -> Iterator[LimitResult]:
    latency_us = None if row is None else row["latency_us"]
    for name, limit_ms in (group.get("latency_limit_ms") or {}).items():
        found_ms = None if latency_us is None else latency_us[names.index(name)] / 1000
        yield LimitResult(f"from intended {name}", "ms", limit_ms, found_ms)
    if limit := group.get("min_answers_per_s"):
        per_s = None if row is None or not row["took_s"] else row["answers"] / row["took_s"]
        yield LimitResult("answers", "a second", limit, per_s, is_least=True)
