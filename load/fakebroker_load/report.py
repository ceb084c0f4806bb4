"""The page `report.html`: the verdict, its figures and pictures, in one self-contained file.

Shape    Spark SQL reduces the judged rows and the journal to small tables (reports/distributions.py, over_time.py,
         places.py). If the verdict has problems, examples.py adds examples. pictures.py draws the tables, and
         templates/report.html puts them together, with every text escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load import plots
from fakebroker_load.console import log_sentence, percentile_sentence
from fakebroker_load.reports import pictures
from fakebroker_load.reports.distributions import answer_name, count_rows, distributions_of
from fakebroker_load.reports.examples import examples_of
from fakebroker_load.reports.over_time import count_requests, tell_journal
from fakebroker_load.reports.pictures import label_of
from fakebroker_load.reports.places import places_of
from fakebroker_load.reports.plots_over_time import RATE_COLOURS
from fakebroker_load.verdict import Verdict

MAX_DOTS = 6_000
WAITS = f"""
SELECT error_code, outcome, timeout_ms, (answered_us - handled_us) / 1000 AS waited_ms
FROM {{judged}} WHERE must_wait AND answered_us IS NOT NULL ORDER BY hash(run, correlation_id) LIMIT {MAX_DOTS}
"""

MAX_ROWS = 25
NOT_CONFIRMED = f"""
SELECT run, `group`, connection, sequence, topic, partition, timeout_ms, handled_us, answered_us, error_code, outcome,
    base_offset, log_offset, lateness_us, problem
FROM {{judged}} WHERE problem IS NOT NULL ORDER BY run, `group`, connection, sequence LIMIT {MAX_ROWS}
"""

Runs = Sequence[Mapping[str, Any]]


def write_report(
    spark: SparkSession,
    judged: DataFrame,
    verdict: Verdict,
    runs: Runs,
    path: Path,
    journal: DataFrame | None = None,
) -> None:
    """Draw and write the report. `runs` are the entries of run.json. `journal` has the brokers' events
    (journal/lines.py); None without a journal."""
    environment = Environment(
        loader=PackageLoader("fakebroker_load"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    shorter = shorter_names(runs)
    environment.filters |= {"ms": as_ms, "ms3": as_ms3, "shorter": shorter}
    waiting = waiting_groups(runs)
    counted = count_rows(spark, judged)
    times = distributions_of(spark, counted)
    html = environment.get_template("report.html").render(
        verdict=verdict,
        log_sentence=log_sentence(verdict),
        percentile_sentence=percentile_sentence(verdict),
        runs=runs,
        examples=[(example, pictures.of_example(example)) for example in examples_of(spark, judged, verdict, journal)],
        rows=not_confirmed(spark, judged, verdict),
        latency=pictures.of_latency(times),
        send_delay=pictures.of_send_delay(times),
        lateness=pictures.of_lateness(times, waiting),
        waits=draw_waits(spark, judged) if waiting else None,
        over_time=draw_over_time(spark, judged, verdict, runs, times.last_us, journal, shorter),
        places=places_of(spark, counted, runs),
        answer_colours=plots.answer_colours(sorted({name for group in verdict.groups for name in group.answers})),
        rate_colours=RATE_COLOURS,
        line_styles=plots.line_styles,
        scenario_texts={run["scenario"]["name"]: json.dumps(run["scenario"], indent=1) for run in runs},
    )
    path.write_text(html, encoding="utf-8")


def not_confirmed(spark: SparkSession, judged: DataFrame, verdict: Verdict) -> list[dict[str, Any]]:
    """Return the first `MAX_ROWS` rows with a problem. If the verdict has no problem, run no query."""
    if not any(group.problems for group in verdict.groups):
        return []
    return [row.asDict() | {"answer": answer_name(row)} for row in spark.sql(NOT_CONFIRMED, judged=judged).collect()]


def draw_waits(spark: SparkSession, judged: DataFrame) -> dict[str, Any] | None:
    dots: dict[str, list[tuple[int, float]]] = {}
    for row in spark.sql(WAITS, judged=judged).collect():
        dots.setdefault(answer_name(row), []).append((row["timeout_ms"], row["waited_ms"]))
    return {"picture": Markup(plots.waits(dots)), "colours": plots.answer_colours(list(dots))} if dots else None


def draw_over_time(
    spark: SparkSession,
    judged: DataFrame,
    verdict: Verdict,
    runs: Runs,
    last_us: Mapping[str, int],
    journal: DataFrame | None,
    shorter: pictures.Shorter,
) -> dict[str, dict[str, Any]]:
    """Draw the pictures of each run that sent a request."""
    requests = count_requests(spark, judged, last_us)
    topics = {run["scenario"]["name"]: topics_of(run) for run in runs}
    journals = tell_journal(spark, journal, verdict.ways, topics, last_us)
    drawn = {}
    for run in runs:
        name = run["scenario"]["name"]
        actions = [float(action["begun_ms"]) for action in run.get("actions", ())]
        if name in requests:
            of_journal = pictures.of_journal(journals.get(name), requests[name].end_ms, actions, shorter)
            drawn[name] = pictures.of_requests(requests[name], actions) | of_journal
    return drawn


def topics_of(run: Mapping[str, Any]) -> list[str]:
    return sorted({group["topic"] for group in run["scenario"]["groups"] if group.get("topic")})


def shorter_names(runs: Runs) -> Callable[[str], str]:
    """Return a function that removes "-" and the id of a run from a name. What is left is the topic's name in the
    scenario."""
    suffixes = [f"-{run['run_id']}" for run in runs if run.get("run_id")]

    def shorter(name: str) -> str:
        for suffix in suffixes:
            name = name.replace(suffix, "")
        return name

    return shorter


def waiting_groups(runs: Runs) -> list[str]:
    """Return the labels of the groups with `waits`: a response must not come before the timeout. They are in order."""
    return [
        label_of(run["scenario"]["name"], group["name"])
        for run in runs
        for group in run["scenario"]["groups"]
        if group["waits"]
    ]


def as_ms(microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds / 1000:,.1f}"


def as_ms3(microseconds: float) -> str:
    """Return milliseconds with three decimals."""
    return f"{microseconds / 1000:,.3f}"
