"""`results.json` and `docs/conformance.md`: every case, same or different, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.lateness import Lateness
from conformance.suite import Outcome

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "conformance" / "results.json"
PAGE = ROOT / "docs" / "conformance.md"

_HEAD = """\
# Conformance: the same traffic to Apache Kafka and to us

Written by `make conformance`; do not edit. Each case sends the same bytes to Apache Kafka {kafka_version} and to
fakebroker, with the same topics and settings, and compares all that came back, field by field: the answers, their
order, whether the connection was closed, and every batch as it is stored. What Kafka answered is kept in
`tests/golden/` and replayed by `make test` without Java, in virtual time.

A difference is allowed only by a rule in `conformance/transcripts/differences.py`, and stands here with its reason.

| | |
|---|---|
| Apache Kafka | {kafka_version} |
| cases | {cases} |
| the same in every field | {same} |
| different for a reason given below | {explained} |
| generated streams | {generated_streams} |
| differences without a reason | {unexplained} |
"""

_LATENESS = """\
## How late REQUEST_TIMED_OUT comes

acks=all on a partition with a frozen follower; milliseconds beyond the timeout as the client sees them, its own loop
included. Both sides ran in processes of their own, one after the other. Early answers are those that came before the
timeout: Kafka rounds both ends of it down, and may be up to 1 ms early.

| timeout (ms) | broker | requests | min | p50 | p99 | max | early |
|---|---|---|---|---|---|---|---|
"""

_GENERATED = """\
## Generated traffic

Hypothesis makes streams of one to eight requests, valid and damaged, for topics of eight kinds; each goes to both
sides, and what is stored is compared too (`python -m conformance generated --streams N --seed N`). Seed {seed}:
{generated}.
"""

_CLIENTS = """\
## Clients

The same program of each client against both sides: acks and codecs, idempotent and not, 31 jobs. Compared are what the
client told the application (places and errors), and every record in the logs.

| client | jobs |
|---|---|
"""


def results(kafka_version: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What `results.json` holds, before the parts that are measured."""
    return {
        "kafka_version": kafka_version,
        "cases": len(outcomes),
        "generated_streams": 0,
        "unexplained": sum(outcome.verdict == "different" for outcome in outcomes),
        "rows": [
            {
                "case": outcome.case.name,
                "compares": outcome.case.why,
                "verdict": outcome.verdict,
                "reasons": sorted({finding.reason for finding in outcome.findings if finding.reason is not None}),
            }
            for outcome in outcomes
        ],
    }


def write(found: dict[str, Any]) -> None:
    """Both files. The page is made from the results alone."""
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(found))


def page(found: dict[str, Any]) -> str:
    """The page that results stand on."""
    rows = found["rows"]
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("same", "explained")}
    parts = [_HEAD.format(**found, **counts)]
    if "lateness" in found:
        parts.append(_lateness(found["lateness"]))
    if "generated" in found:
        parts.append(_GENERATED.format(**found))
    if "clients" in found:
        parts.append(_clients(found["clients"]))
    parts.append("## Cases\n")
    for group, members in groupby(sorted(rows, key=_group), _group):
        parts.append(f"### {group}\n\n| case | what is compared | |\n|---|---|---|\n" + "".join(map(_line, members)))
    return "\n".join(parts)


def _clients(rows: Sequence[dict[str, str]]) -> str:
    """A line per client, and one for each job that is not simply the same."""
    lines = []
    for client, members in groupby(rows, lambda row: row["client"]):
        jobs = list(members)
        counts = Counter(row["outcome"] for row in jobs)
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        lines.append(f"| {client} {jobs[0]['version']} | {_cell(jobs[0]['why'] if counts['not run'] else told)} |\n")
    notes = [
        f"| {row['client']} | {row['job']} | {row['outcome']} | {_cell(row['why'])} |\n"
        for row in rows
        if row["job"] and row["outcome"] != "same"
    ]
    head = "\n| client | job | | why |\n|---|---|---|---|\n" if notes else ""
    return _CLIENTS + "".join(lines) + head + "".join(notes)


def _group(row: dict[str, Any]) -> str:
    return str(row["case"]).split("/")[0]


def _line(row: dict[str, Any]) -> str:
    verdict = {"same": "same", "explained": "", "different": "**different, not explained**"}[row["verdict"]]
    said = "; ".join(filter(None, [verdict, *row["reasons"]]))
    return f"| `{row['case'].split('/', 1)[1]}` | {_cell(row['compares'])} | {_cell(said)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _lateness(rows: Sequence[Any]) -> str:
    def lines() -> Iterator[str]:
        for row in (Lateness(*each) for each in rows):
            yield (
                f"| {row.timeout_ms} | {row.side} | {row.requests} | {row.min_ms} | {row.p50_ms} | {row.p99_ms} |"
                f" {row.max_ms} | {row.early} |\n"
            )

    return _LATENESS + "".join(lines())
