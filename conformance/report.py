"""`docs/conformance.md`: how many cases are the same, why the others differ, and what was measured.

What a case compares stands in its code (`python -m conformance list`), and what Kafka answered in `tests/golden/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.lateness import Lateness
from conformance.suite import Outcome

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"

_NAMED = 3  # cases of a reason; of more the groups are named

_HEAD = """\
# Conformance: the same traffic to Apache Kafka and to us

Written by `make conformance`; do not edit. Each case sends the same bytes to Apache Kafka {kafka_version} and to
fakebroker, with the same topics and settings, and compares all that came back, field by field: the answers, their
order, whether the connection was closed, and every batch as it is stored. Where no field differs, answers and batches
are the same byte by byte. What Kafka answered is kept in `tests/golden/` and replayed by `make test` without Java, in
virtual time.

`python -m conformance list` tells what each case compares, and why it is one; `python -m conformance show PATTERN` what
it sends and what Kafka answered.

| | |
|---|---|
| Apache Kafka | {kafka_version} |
| cases | {cases} |
| the same in every field | {same} |
| different for a reason given below | {explained} |
| generated streams | {generated_streams} |
| walks of groups and producers, and plans of brokers that die | {walks} |
| differences without a reason | {unexplained} |
"""

_AGAIN = """\
**Different once, and not when they were asked again**, without all other cases beside them (on a busy machine Kafka
too answers now and then as it does not otherwise): """

_REASONS = """\
## Why cases differ

A difference is allowed only by a rule in `conformance/transcripts/differences.py`, which has the reason, the field, and
what must still be true of it.

| reason | cases | in |
|---|---|---|
"""

_GROUPS = """\
## Cases by group

| group | cases | the same | with a reason |
|---|---|---|---|
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

_WALKS = """\
## Walks

One to four members of a group do random things on connections of their own, most of them what a client might do then:
join, sync, commit, leave, go away (`python -m conformance walks --kind KIND --walks N --seed N`). `classic` and
`consumer` (KIP-848) have one broker; beside consumers an admin makes, grows and deletes topics, deletes records and
alters settings. `three` are groups of both kinds on three brokers, while their coordinator moves and brokers stop and
start. `transactions`, and `-v1` and `-v0` of before KIP-890, are up to three transactional ids, each with two programs
that have it, beside consumers of what is committed and of all; `transactions-three` the same while leaders and the
coordinator move. `users` are three users that have logged in over TLS and produce, fetch, join, commit and run
transactions while their ACLs change, also while a Fetch or a JoinGroup is parked. `deaths` are topics whose three
brokers are killed, stopped, stand still, go on and are started again, in rounds: who leads, who is in sync and who
eligible (KIP-966), as each broker tells it whenever the cluster has come to rest, every answer to Produce and Fetch
before anybody has noticed and then, and what each replica has stored. A session is counted from the last heartbeat, so
times may be a heartbeat and what a busy machine takes apart (`conformance/generated/deaths/judge.py`).
Seed {walks_seed}:

{walked}"""

_CLIENTS = """\
## Clients

The same program of each client against both sides: acks and codecs, idempotent and not, 31 jobs of producers, whose
results (places and errors) are compared, and every record in the logs; and for six of them 13 plays of groups and
administrators (`conformance/clients/README.md`).

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


def write(found: dict[str, Any]) -> None:
    PAGE.write_text(page(found))


def page(found: dict[str, Any]) -> str:
    """The page that results stand on."""
    groups: dict[str, Counter[str]] = found["groups"]
    verdicts = sum(groups.values(), Counter[str]())
    parts = [_HEAD.format(**found, **{verdict: verdicts[verdict] for verdict in ("same", "explained")})]
    if found["different"]:
        parts.append(
            "**Different, and nobody knows why:** " + ", ".join(f"`{case}`" for case in found["different"]) + "\n"
        )
    if found.get("again"):
        parts.append(_AGAIN + ", ".join(f"`{case}`" for case in found["again"]) + "\n")
    if found["reasons"]:
        parts.append(_REASONS + "".join(_reason(*each) for each in sorted(found["reasons"].items(), key=_most_first)))
    parts.append(_GROUPS + "".join(_group(*each) for each in sorted(groups.items())))
    if "lateness" in found:
        parts.append(_lateness(found["lateness"]))
    if "generated" in found:
        parts.append(_GENERATED.format(**found))
    if "walked" in found:
        parts.append(_WALKS.format(**found))
    if "clients" in found:
        parts.append(_clients(found["clients"]))
    return "\n".join(parts)


def _most_first(each: tuple[str, list[str]]) -> tuple[int, str]:
    reason, cases = each
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
