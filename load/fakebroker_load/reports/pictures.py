"""The pictures of the report, drawn from the counts in distributions.py, over_time.py and examples.py.

Shape    Values for the template: SVG as Markup, None if there is nothing to draw, and the labels of the colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from fakebroker_load import plots
from fakebroker_load.reports import timeline
from fakebroker_load.reports.distributions import (
    BUCKETS_PER_DECADE,
    FROM_INTENDED,
    FROM_SENT,
    LATENESS,
    SEND_DELAY,
    Distribution,
    Distributions,
    most,
)
from fakebroker_load.reports.examples import Example
from fakebroker_load.reports.over_time import JournalOverTime, RequestsOverTime
from fakebroker_load.reports.plots_over_time import (
    answers_over_time,
    level_over_time,
    offsets_over_time,
    rates_over_time,
)

BINS_PER_DECADE = 12
MAX_CURVES = 12
LATENCIES = {"from intended": FROM_INTENDED, "from sent": FROM_SENT}

Shorter = Callable[[str], str]


def of_lateness(times: Distributions, waiting: Sequence[str]) -> dict[str, Any]:
    """Draw lateness. `waiting` are the groups with responses that wait, by label_of."""
    by_label = {label_of(*key): distribution for key, distribution in times.by_group(LATENESS).items()}
    late = {label: by_label[label] for label in waiting if label in by_label}
    bins = {label: _rebinned(distribution) for label, distribution in late.items()}
    return {
        "histogram": Markup(plots.lateness_histogram(bins, BINS_PER_DECADE)) if late else None,
        "percentiles": _curves(late, "lateness"),
        "labels": list(late),
    }


def of_latency(times: Distributions) -> dict[str, Any]:
    """Draw a curve of latency for each group and answer, at most MAX_CURVES of the most frequent."""
    chosen, left_out = most(times.by_kind(FROM_INTENDED).items(), MAX_CURVES)
    labels = {kind: f"{label_of(kind.run, kind.group)}: {kind.answer}" for kind, _ in chosen}
    content: dict[str, Any] = {"labels": list(labels.values()), "left_out": len(left_out)}
    for name, measure in LATENCIES.items():
        of_kinds = times.by_kind(measure)
        content[name] = _curves({label: of_kinds[kind] for kind, label in labels.items() if kind in of_kinds}, name)
    return content


def of_send_delay(times: Distributions) -> dict[str, Any]:
    """Draw a curve of the send delay for each group."""
    of_groups = {label_of(*key): distribution for key, distribution in times.by_group(SEND_DELAY).items()}
    chosen, left_out = most(of_groups.items(), MAX_CURVES)
    return {
        "picture": _curves(dict(chosen), "sent after it was intended"),
        "labels": [label for label, _ in chosen],
        "left_out": len(left_out),
    }


def _curves(by_label: Mapping[str, Distribution], what: str) -> Markup | None:
    if not by_label:
        return None
    return Markup(
        plots.percentiles({label: list(distribution.curve()) for label, distribution in by_label.items()}, what)
    )


def _rebinned(distribution: Distribution) -> dict[int, int]:
    """Return wider bins, for a histogram."""
    bins: dict[int, int] = {}
    for bucket, (rows, _) in sorted(distribution.buckets.items()):
        bin_ = max(bucket * BINS_PER_DECADE // BUCKETS_PER_DECADE, BINS_PER_DECADE)  # from 10 us on
        bins[bin_] = bins.get(bin_, 0) + rows
    return bins


def of_requests(requests: RequestsOverTime, actions: Sequence[float]) -> dict[str, Any]:
    """Draw the requests of one run. `actions` are the times of its actions, in ms."""
    answers = dict(sorted(requests.answers.items()))
    rates = {"asked for": requests.asked, "sent": requests.sent, "answered": requests.answered}
    return {
        "answers": Markup(answers_over_time(answers, requests.step_ms, requests.end_ms, actions)),
        "rates": Markup(rates_over_time(rates, requests.step_ms, requests.end_ms, actions)),
    }


def of_journal(
    journal: JournalOverTime | None, end_ms: float, actions: Sequence[float], shorter: Shorter
) -> dict[str, Any]:
    """Draw the journal of one run. A few partitions get their own lines. Many get one line for their sum, and the names
    of those furthest behind."""
    content: dict[str, Any] = dict.fromkeys(("parked", "offsets", "why_not")) | {"lines": [], "furthest": []}
    if journal is None or journal.why_not is not None:
        return content | {"why_not": None if journal is None else journal.why_not}
    if max(journal.parked.values(), default=0) > 0:
        content["parked"] = Markup(level_over_time(journal.parked, journal.step_ms, "requests parked", end_ms, actions))
    lines = {"all partitions": journal.all} if journal.partition_count else {}
    if journal.partition_count <= len(journal.partitions):
        lines = {shorter(name): journal.partitions[name] for name in sorted(journal.partitions)}
    else:
        behind = {shorter(name): max(part.behind.values(), default=0) for name, part in journal.partitions.items()}
        content["furthest"] = [(name, records) for name, records in behind.items() if records > 0]
    if lines:
        drawn = {name: (offsets.appended, offsets.behind) for name, offsets in lines.items()}
        content["offsets"] = Markup(offsets_over_time(drawn, journal.step_ms, end_ms, actions))
    return content | {"lines": list(lines), "partitions": journal.partition_count}


def of_example(example: Example) -> Markup | None:
    return Markup(timeline.draw(example.steps)) if len(example.steps) > 1 else None


def label_of(run: str, group: str) -> str:
    return f"{run}: {group}"
