"""docs/exactly-once.md: what came of it on both sides, from what is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.clients.exactly_once.kept import KAFKA, OURS, VERSIONS, Difference, Kept, differences
from conformance.clients.exactly_once.kinds import KINDS, Result
from conformance.targets.kafka_box import kafka_version

PAGE = Path(__file__).parents[3] / "docs" / "exactly-once.md"

_KINDS = """\
| what | |
|---|---|
| programs die | after each of their steps; before a broker has a request, or they have the answer |
| workers come and go | two of one group: one joins within a transaction of the other, then each dies and comes back |
| brokers go | each leader that a transaction needs moves, or stops and starts, before and after each request |
| the coordinator of groups restarts | five times; programs that are silent for 75 s after that are killed |
| brokers are killed | the coordinators and the leader of `out`, by SIGKILL, while a request or its answer is held |
| marks wait | a follower is paused for 33 s from a commit on; then the coordinator is killed as well |
"""


def write_page(kept: Kept, names: Sequence[str]) -> None:
    PAGE.write_text("\n".join(_lines(kept, names)) + "\n")


def _lines(kept: Kept, names: Sequence[str]) -> Iterator[str]:
    yield from (
        "# Exactly once, beside Apache Kafka",
        "",
        "`python -m conformance.clients.exactly_once --kafka` has stock clients consume, transform and produce, while",
        f"programs and brokers die, here and on Apache Kafka {kafka_version()}: three brokers, a controller apart,",
        "the same settings, the same strikes at the same requests",
        "([what is done](../conformance/clients/README.md#exactly-once)). In the end read_committed must see the",
        "effect of each input once. This page is written by it, with `--page`, from what is kept.",
        "",
        *_KINDS.splitlines(),
        "",
        "Pairs are here, and on Kafka; a dash was not run. Places are points at which something was done. Aborted",
        "records are visible to read_uncommitted only. A program gave up with an error, or was silent and was killed.",
        "",
        "| client | transactions | what | places | leave aborted records | programs gave up | not exactly once "
        "| points that differ | without a reason |",
        "|---|---|---|---|---|---|---|---|---|",
    )
    differing: list[tuple[str, list[Difference]]] = []
    notes: list[tuple[str, Result, Result | None]] = []
    not_run: dict[tuple[str, int], list[str]] = {}
    for kind in KINDS:
        for client in names:
            for version in VERSIONS:
                ours, theirs = (kept.get(side, client, version, kind.name) for side in (OURS, KAFKA))
                if ours is None:
                    not_run.setdefault((client, version), []).append(kind.name)
                    continue
                found = list(differences(client, kind.name, ours, theirs)) if theirs is not None else []
                what = f"{client}, version {version}, {kind.name}"
                if found:
                    differing.append((what, found))
                if ours.notes:
                    notes.append((what, ours, theirs))
                columns = zip(_counts(ours), _counts(theirs), strict=True)
                points = str(len({each.where for each in found})) if theirs is not None else "–"
                unexplained = str(sum(each.reason is None for each in found)) if theirs is not None else "–"
                cells = " | ".join(f"{mine}, {other}" for mine, other in columns)
                yield f"| {client} | {version} | {kind.name} | {cells} | {points} | {unexplained} |"
    if not_run:
        yield from ("", "Not run on either side, or not kept:", "")
        for (client, version), kinds in sorted(not_run.items()):
            yield f"- {client}, version {version}: {', '.join(kinds)}"
    yield from (
        "",
        "## While transaction markers wait",
        "",
        "Records and transaction markers in each partition of `out`.",
        "",
    )
    for what, ours, theirs in notes:
        for when, note in ours.notes.items():
            other = None if theirs is None else theirs.notes.get(when)
            both = f"{note}, on both" if other == note else f"{note} here, {other or 'not run'} on Kafka"
            yield f"- {what}, {when}: {both}"
    yield from ("", "## Points that differ", "")
    for what, found in differing:
        yield f"- {what}"
        yield from (f"  - {each}" for each in found)


def _counts(result: Result | None) -> tuple[str, ...]:
    if result is None:
        return ("–",) * 4
    if result.broken:
        return ("broken",) * 4
    return (
        str(sum(each.met for each in result.outcomes)),
        str(sum(sum(each.written) > sum(each.seen) for each in result.outcomes)),
        str(sum(len(each.errors) for each in result.outcomes)),
        str(len(result.wrong)),
    )
