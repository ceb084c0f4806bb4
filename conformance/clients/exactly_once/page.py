"""Write docs/exactly-once.md: the kept results of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.clients.exactly_once.kept import KAFKA, OURS, VERSIONS, Difference, Kept, differences
from conformance.clients.exactly_once.kinds import KINDS, Result
from conformance.targets.kafka_box import kafka_version

PAGE = Path(__file__).parents[3] / "docs" / "exactly-once.md"

_PARTS = """\
| part | what happens |
|---|---|
| programs crash | after each of their steps; before a broker gets a request, or they a response |
| workers join and crash | one of two workers joins during a transaction of the other; each crashes and restarts |
| leaders move and restart | each leader of a transaction moves, or stops and starts, before and after each request |
| the group coordinator restarts | five times; a program that is silent for 75 s is killed |
| brokers are killed | the coordinators and the leader of `out` get SIGKILL while a request or its response is held |
| transaction markers are delayed | a follower is paused for 33 s from a commit on; then the coordinator is killed too |
"""


def write_page(kept: Kept, names: Sequence[str]) -> None:
    PAGE.write_text("\n".join(_lines(kept, names)) + "\n")


def head() -> list[str]:
    """Return the lines before the results."""
    return [
        "# Exactly once, compared with Apache Kafka",
        "",
        "`python -m conformance.clients.exactly_once --kafka` has stock clients consume, transform and produce,",
        f"while programs and brokers crash, on fakebroker and on Apache Kafka {kafka_version()}. Both have three",
        "brokers, a separate controller, the same settings, and the same faults at the same requests",
        "([all parts](../conformance/clients/README.md#exactly-once)). At the end a read_committed consumer must",
        "see the effect of each input once. `--page` writes this page from the results that were kept.",
        "",
        *_PARTS.splitlines(),
        "",
        "The first number of a pair is fakebroker's, the second Apache Kafka's. A dash means: not run. A point",
        "counts if the program reached it. Aborted records are visible to read_uncommitted only. A failed program",
        "ended with an error, or was silent and was killed.",
        "",
        "| client | transaction version | part | points | points with aborted records | failed programs "
        "| not exactly once | points that differ | without a reason |",
        "|---|---|---|---|---|---|---|---|---|",
    ]


def _lines(kept: Kept, names: Sequence[str]) -> Iterator[str]:
    yield from head()
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
                differing_points = list(differences(client, kind.name, ours, theirs)) if theirs is not None else []
                what = f"{client}, version {version}, {kind.name}"
                if differing_points:
                    differing.append((what, differing_points))
                if ours.notes:
                    notes.append((what, ours, theirs))
                columns = zip(_counts(ours), _counts(theirs), strict=True)
                points = str(len({point.where for point in differing_points})) if theirs is not None else "–"
                unexplained = (
                    str(sum(point.reason is None for point in differing_points)) if theirs is not None else "–"
                )
                cells = " | ".join(f"{mine}, {other}" for mine, other in columns)
                yield f"| {client} | {version} | {kind.name} | {cells} | {points} | {unexplained} |"
    if not_run:
        yield from ("", "Not run, or the result was not kept:", "")
        for (client, version), kinds in sorted(not_run.items()):
            yield f"- {client}, version {version}: {', '.join(kinds)}"
    yield from (
        "",
        "## Delayed transaction markers",
        "",
        "The number of records in each partition of `out`, by isolation level, and of transaction markers:",
        "",
    )
    for what, ours, theirs in notes:
        for when, note in ours.notes.items():
            other = None if theirs is None else theirs.notes.get(when)
            both = f"{note}, on both" if other == note else f"{note} on {OURS}, {other or 'not run'} on {KAFKA}"
            yield f"- {what}, {when}: {both}"
    yield from ("", "## Points that differ", "")
    for what, differing_points in differing:
        yield f"- {what}"
        yield from (f"  - {difference}" for difference in differing_points)


def _counts(result: Result | None) -> tuple[str, ...]:
    if result is None:
        return ("–",) * 4
    if result.broken:
        return ("broken",) * 4
    return (
        str(sum(outcome.met for outcome in result.outcomes)),
        str(sum(sum(outcome.written) > sum(outcome.seen) for outcome in result.outcomes)),
        str(sum(len(outcome.errors) for outcome in result.outcomes)),
        str(len(result.wrong)),
    )
