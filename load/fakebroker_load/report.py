"""Write `report.html`: the verdict, its figures and pictures, in one file that needs no other.

Shape    Spark SQL makes small tables of counts and quantiles from the judged rows (judging); plots.py draws
         them; templates/report.html puts them together, with every text escaped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pyspark.sql import DataFrame, SparkSession

from fakebroker.protocol.error_code import kafka_name
from fakebroker_load import plots
from fakebroker_load.console import log_sentence
from fakebroker_load.verdict import Verdict

BINS_PER_DECADE = 12
TIME_BINS = 85  # about so many bars side by side
MAX_DOTS = 6_000
SHORTEST_LATENESS_US = 10  # on a log scale nothing lies at zero

HISTOGRAM = f"""
SELECT run, `group`, count(*) AS rows,
    floor(log10(greatest(lateness_us, {SHORTEST_LATENESS_US})) * {BINS_PER_DECADE}) AS bin
FROM {{judged}} WHERE must_wait AND lateness_us IS NOT NULL GROUP BY ALL ORDER BY bin
"""

QUANTILES = f"""
SELECT run, `group`, percentile(lateness_us, array({", ".join(map(str, plots.QUANTILES))})) AS lateness_us
FROM {{judged}} WHERE lateness_us IS NOT NULL GROUP BY ALL
"""

# What was not answered stands at the time at which it was sent.
SPANS = "SELECT run, max(coalesce(answered_us, sent_us)) AS last_us FROM {judged} GROUP BY run"
OVER_TIME = """
SELECT error_code, outcome, floor(coalesce(answered_us, sent_us) / ({bin_ms} * 1000L)) AS bin, count(*) AS rows
FROM {judged} WHERE run = {run} AND coalesce(answered_us, sent_us) IS NOT NULL GROUP BY ALL ORDER BY bin
"""

WAITS = f"""
SELECT error_code, outcome, timeout_ms, (answered_us - handled_us) / 1000 AS waited_ms
FROM {{judged}} WHERE must_wait AND answered_us IS NOT NULL ORDER BY hash(run, correlation_id) LIMIT {MAX_DOTS}
"""

MAX_EXAMPLES = 25
EXAMPLES = f"""
SELECT run, `group`, connection, sequence, concat(topic, '-', partition) AS partition, timeout_ms, handled_us,
    answered_us, error_code, outcome, base_offset, log_offset, lateness_us, problem
FROM {{judged}} WHERE problem IS NOT NULL ORDER BY run, `group`, connection, sequence LIMIT {MAX_EXAMPLES}
"""


def write_report(
    spark: SparkSession, judged: DataFrame, verdict: Verdict, runs: Sequence[dict[str, Any]], path: Path
) -> None:
    """Draw and write the report. `runs` is what `run.json` holds."""
    environment = Environment(
        loader=PackageLoader("fakebroker_load"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["ms"] = as_ms
    html = environment.get_template("report.html").render(
        verdict=verdict,
        log_sentence=log_sentence(verdict),
        runs=runs,
        pictures=draw(spark, judged, verdict, runs),
        examples=[row.asDict() | {"answer": answer_name(row)} for row in spark.sql(EXAMPLES, judged=judged).collect()],
        colours=plots.answer_colours(sorted({name for group in verdict.groups for name in group.answers})),
        group_colours=dict(zip(waiting_groups(verdict, runs), plots.PALETTE, strict=False)),
        scenario_texts={run["scenario"]["name"]: json.dumps(run["scenario"], indent=1) for run in runs},
    )
    path.write_text(html, encoding="utf-8")


def draw(spark: SparkSession, judged: DataFrame, verdict: Verdict, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The SVGs by name; `over_time` has one for each run. A picture without data is None."""
    histogram: dict[str, dict[int, int]] = {label: {} for label in waiting_groups(verdict, runs)}
    for row in spark.sql(HISTOGRAM, judged=judged).collect():
        histogram.setdefault(label_of(row["run"], row["group"]), {})[row["bin"]] = row["rows"]
    quantiles: dict[str, Sequence[float]] = {}
    found = {
        label_of(row["run"], row["group"]): row["lateness_us"] for row in spark.sql(QUANTILES, judged=judged).collect()
    }
    for label in histogram:
        if label in found:
            quantiles[label] = found[label]
    dots: dict[str, list[tuple[int, float]]] = {}
    for row in spark.sql(WAITS, judged=judged).collect():
        dots.setdefault(answer_name(row), []).append((row["timeout_ms"], row["waited_ms"]))
    over_time = {}
    for span in sorted(spark.sql(SPANS, judged=judged).collect(), key=lambda row: str(row["run"])):
        if span["last_us"] is not None:
            over_time[span["run"]] = Markup(draw_over_time(spark, judged, span["run"], span["last_us"]))
    return {
        "histogram": Markup(plots.lateness_histogram(histogram, BINS_PER_DECADE)) if quantiles else None,
        "quantiles": Markup(plots.lateness_quantiles(quantiles)) if quantiles else None,
        "waits": Markup(plots.waits(dots)) if dots else None,
        "over_time": {run["scenario"]["name"]: over_time.get(run["scenario"]["name"]) for run in runs},
    }


def draw_over_time(spark: SparkSession, judged: DataFrame, run: str, last_us: int) -> str:
    bin_ms = next(width for width in widths_ms() if last_us / 1000 / width <= TIME_BINS)
    answers: dict[str, dict[int, int]] = {}
    for row in spark.sql(OVER_TIME, args={}, judged=judged, run=run, bin_ms=bin_ms).collect():
        bins = answers.setdefault(answer_name(row), {})
        bins[row["bin"]] = bins.get(row["bin"], 0) + row["rows"]
    return plots.answers_over_time(dict(sorted(answers.items())), bin_ms)


def widths_ms() -> list[int]:
    return [step * 10**power for power in range(9) for step in (1, 2, 5)]


def waiting_groups(verdict: Verdict, runs: Sequence[dict[str, Any]]) -> list[str]:
    """The labels of the groups whose answers have to wait, in the order of the plan."""
    return [
        label_of(run["scenario"]["name"], group["name"])
        for run in runs
        for group in run["scenario"]["groups"]
        if group["waits"]
    ]


def label_of(run: str, group: str) -> str:
    return f"{run}: {group}"


def answer_name(row: Any) -> str:
    return str(row["outcome"]) if row["error_code"] is None else kafka_name(row["error_code"])


def as_ms(microseconds: int | None) -> str:
    return "" if microseconds is None else f"{microseconds / 1000:,.1f}"
