"""`docs/conformance.md`: how many cases are equal, why the others differ, and what was measured.

The code of a case says what it compares (`python -m conformance list`). `tests/golden/` has Kafka's responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.clients.builds import CLIENTS
from conformance.clients.plan import JOBS
from conformance.clients.plays import PLAYS
from conformance.generated.streams import KINDS
from conformance.lateness import Lateness
from conformance.suite import Outcome

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"

_NAMED = 3  # a reason with more cases names their groups

_HEAD = """\
# Conformance: the same requests to Apache Kafka and to fakebroker

Written by `make conformance`; do not edit. Each case sends the same bytes to Apache Kafka {kafka_version} and to
fakebroker, with the same topics and settings. All results are compared field by field: the responses, their order,
whether the connection was closed, and every stored batch. If no field differs, responses and batches are equal byte by
byte. Kafka's responses are kept in `tests/golden/`. `make test` replays them without Java, in virtual time.

`python -m conformance list` prints what each case compares. `python -m conformance show PATTERN` prints the requests of
a case, and Kafka's responses.

| | |
|---|---|
| Apache Kafka | {kafka_version} |
| cases | {cases} |
| equal in every field | {same} |
| different, with a reason (below) | {explained} |
| generated streams | {generated_streams} |
| random walks, and plans of broker failures | {walks} |
| differences without a reason | {unexplained} |
"""

_DIFFERENT = "**Different without a known reason:** "

_AGAIN = """\
**Different in the whole run, and equal when run again without other cases beside them** (on a busy machine Kafka's
responses sometimes differ too): """

_REASONS = """\
## Why cases differ

A difference is allowed only by a rule in `conformance/transcripts/differences.py`. A rule has the reason, the field,
and a condition that both values must still meet.

| reason | cases | in |
|---|---|---|
"""

_GROUPS = """\
## Cases by group

| group | cases | equal | with a reason |
|---|---|---|---|
"""

_LATENESS = """\
## How late REQUEST_TIMED_OUT comes

The requests have acks=all, and the partition has a frozen follower. The figures are milliseconds after the timeout, as
the client measures them, with the client's own event loop included. Kafka and fakebroker ran one after the other, each
in its own processes. An early response came before the timeout. Kafka rounds both ends of the timeout down, so it may
be up to 1 ms early.

| timeout (ms) | broker | requests | min | p50 | p99 | max | early |
|---|---|---|---|---|---|---|---|
"""

_GENERATED = """\
## Generated traffic

Hypothesis generates streams of one to eight requests, valid and damaged, for topics of {topic_kinds} kinds. Each stream
goes to both sides, and the stored batches are compared too
(`python -m conformance generated --streams N --seed N`). Seed {seed}:
{generated}.
"""

_WALKS = """\
## Walks

A walk is a random sequence of requests (`python -m conformance walks --kind KIND --walks N --seed N`). Most requests
are ones that a client could send at that moment. A walk that differs is repeated, with longer pauses or alone: on a
busy machine, two requests on two connections may have changed places.

- `classic`: one to four members of a classic group on one broker. They join, sync, commit, leave and disconnect.
- `consumer`: members of a consumer group (KIP-848) on one broker. An admin creates, grows and deletes topics, deletes
  records and alters settings at the same time.
- `three`: groups of both kinds on three brokers, while their coordinator moves and brokers stop and start.
- `transactions`: up to three transactional ids. Two producers use each id, next to consumers with `read_committed` and
  `read_uncommitted`. `-v1` and `-v0` have `transaction.version` 1 and 0, from before KIP-890. `transactions-three` does
  the same on three brokers, while leaders and the coordinator move.
- `users`: three users that have logged in over TLS. They produce, fetch, join, commit and run transactions while their
  ACLs change, also while a Fetch or a JoinGroup is parked.
- `deaths`: topics on three brokers. In rounds, brokers are killed, stopped, paused, resumed and started again. The
  results are the leader, the ISR and the eligible leader replicas (KIP-966), as each broker reports them once the
  cluster is at rest. They are also the stored records of each replica, and all responses to Produce and Fetch, before
  the brokers notice an event and after it. A session ends a fixed time after the last heartbeat. So times may differ by
  a heartbeat interval, and by delays of a busy machine (`conformance/generated/deaths/judge.py`).

Seed {walks_seed}:

{walked}"""

_CLIENTS = """\
## Clients

There is one program for each client, and it runs against both sides. It does {jobs} jobs as a producer, with each acks
and codec, idempotent and not. The results (places and errors) and every record in the logs are compared. In addition,
{players} of the clients do {plays} jobs as members of groups and as administrators (`conformance/clients/README.md`).

| client | jobs |
|---|---|
"""


def results(kafka_version: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the data of the page, without the parts that are measured.

    groups      for each group how many cases are the "same", "explained", "different"
    reasons     for each reason the names of the cases in which it was needed
    different   the names of the cases that differ without one
    """
    groups: dict[str, Counter[str]] = {}
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.case.group, Counter())[outcome.verdict] += 1
        for reason in sorted({finding.reason for finding in outcome.findings if finding.reason is not None}):
            reasons.setdefault(reason, []).append(outcome.case.name)
    different = [outcome.case.name for outcome in outcomes if outcome.verdict == "different"]
    return {
        "kafka_version": kafka_version,
        "cases": len(outcomes),
        "generated_streams": 0,
        "walks": 0,
        "unexplained": len(different),
        "groups": groups,
        "reasons": reasons,
        "different": different,
    }


def write(report: dict[str, Any]) -> None:
    PAGE.write_text(page(report))


def page(report: dict[str, Any]) -> str:
    """Return the text of the page with these results."""
    groups: dict[str, Counter[str]] = report["groups"]
    verdicts = sum(groups.values(), Counter[str]())
    parts = [_HEAD.format(**report, **{verdict: verdicts[verdict] for verdict in ("same", "explained")})]
    if report["different"]:
        parts.append(_DIFFERENT + ", ".join(f"`{case}`" for case in report["different"]) + "\n")
    if report.get("again"):
        parts.append(_AGAIN + ", ".join(f"`{case}`" for case in report["again"]) + "\n")
    if report["reasons"]:
        parts.append(
            _REASONS + "".join(_reason(*entry) for entry in sorted(report["reasons"].items(), key=_most_first))
        )
    parts.append(_GROUPS + "".join(_group(*entry) for entry in sorted(groups.items())))
    if "lateness" in report:
        parts.append(_lateness(report["lateness"]))
    if "generated" in report:
        parts.append(_GENERATED.format(**report, topic_kinds=len(KINDS)))
    if "walked" in report:
        parts.append(_WALKS.format(**report))
    if "clients" in report:
        parts.append(_clients(report["clients"]))
    return "\n".join(parts)


def _most_first(entry: tuple[str, list[str]]) -> tuple[int, str]:
    reason, cases = entry
    return -len(cases), reason


def _reason(reason: str, cases: Sequence[str]) -> str:
    """Return the row of a reason, with the names of its cases if they are few, else of their groups."""
    names = (
        cases if len(cases) <= _NAMED else [f"{group}/*" for group in sorted({case.split("/")[0] for case in cases})]
    )
    return f"| {_cell(reason)} | {len(cases)} | {', '.join(f'`{name}`' for name in names)} |\n"


def _group(group: str, verdicts: Counter[str]) -> str:
    return f"| {group} | {verdicts.total()} | {verdicts['same']} | {verdicts['explained']} |\n"


def _clients(rows: Sequence[dict[str, str]]) -> str:
    """Return a line for each client, and one for each job that is not simply equal on both sides."""
    lines = []
    for client, members in groupby(rows, lambda row: row["client"]):
        jobs = list(members)
        counts = Counter(row["outcome"] for row in jobs)
        summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        lines.append(f"| {client} {jobs[0]['version']} | {_cell(jobs[0]['why'] if counts['not run'] else summary)} |\n")
    notes = [
        f"| {row['client']} | {row['job']} | {row['outcome']} | {_cell(row['why'])} |\n"
        for row in rows
        if row["job"] and row["outcome"] != "same"
    ]
    head = "\n| client | job | | why |\n|---|---|---|---|\n" if notes else ""
    players = sum(client.plays for client in CLIENTS)
    about = _CLIENTS.format(jobs=len(JOBS), plays=len(PLAYS), players=players)
    return about + "".join(lines) + head + "".join(notes)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _lateness(rows: Sequence[Any]) -> str:
    def lines() -> Iterator[str]:
        for row in (Lateness(*values) for values in rows):
            yield (
                f"| {row.timeout_ms} | {row.side} | {row.requests} | {row.min_ms} | {row.p50_ms} | {row.p99_ms} |"
                f" {row.max_ms} | {row.early} |\n"
            )

    return _LATENESS + "".join(lines())
