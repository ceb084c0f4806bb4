"""Lateness of time-outs, and the wait of a quiet client, beside neighbours that pipeline and under attack.

    python -m benchmarks fairness [--quick] [--json]

Each broker in turn has one topic with frozen followers and one with healthy followers. Every 5 ms a Produce with
acks=-1 and a timeout of 200 ms goes to the first topic. At the same rate a quiet client sends ApiVersions. Neither
waits for the responses to earlier requests (`drivers/crowd.c`).

The neighbours are 0, 1, 4, 8 or 64 connections of one process with one thread. They send one kind of request as fast as
their sockets accept it, and read the responses. Instead of them there may be one attack.

`lateness` is the time from when the response was due to its arrival, `round trip` from when the request was due. A
response that never comes counts with its wait until some seconds after the end. The mocks (librdkafka's and kfake)
answer acks=-1 like acks=1, so nothing times out there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from statistics import median

from benchmarks.drivers.driver import DriverError
from benchmarks.machine.programs import Missing, crowd_program
from benchmarks.neighbours.attacks import ATTACKS, Attack
from benchmarks.neighbours.crowd import Neighbours
from benchmarks.neighbours.sides import TIMES_OUT, Side
from benchmarks.neighbours.situations import KINDS, Seen, beside, under
from benchmarks.peers.brokers import OURS, PEERS
from benchmarks.reporting.report import Report, end, options, progress
from benchmarks.reporting.rows import LIMIT, Row, compare

COUNTS = (1, 4, 8, 64)
QUICK_COUNTS = (8,)
P99_LIMIT_MS, MAX_LIMIT_MS = 10.0, 50.0  # of lateness, beside 8 neighbours
STALL_LIMIT_MS = 100.0  # of any client, under attack
PATIENCE_MS, ATTACK_PATIENCE_MS = 2_000, 8_000
QUANTILES = ("p50", "p99", "max")
JUDGED = 8  # neighbours

Figures = tuple[tuple[str, str, Callable[[Seen], list[float]]], ...]
Case = tuple[str, Neighbours | None, int] | Attack


def cases(quick: bool) -> list[Case]:
    counts = QUICK_COUNTS if quick else COUNTS
    neighbour_cases: list[Case] = [("0 neighbours", None, 0)]
    neighbour_cases += [(f"{count} x {kind.name}", kind, count) for kind in KINDS for count in counts]
    return [*neighbour_cases, *ATTACKS]


def look(side: Side, case: Case, run_ms: int, quick: bool) -> Seen:
    broker = side.renew()
    if broker is None:
        return Seen(note=f"missing: {side.reason}")
    try:
        if isinstance(case, Attack):
            return under(broker, case, run_ms, ATTACK_PATIENCE_MS // (2 if quick else 1))
        _, kind, count = case
        return beside(broker, kind, count, run_ms, PATIENCE_MS)
    except (DriverError, RuntimeError, OSError) as error:
        side.stop()
        return Seen(note=f"not measured: {error}")


def rows(name: str, is_attack: bool, judged: bool, seen: dict[str, Seen]) -> Iterator[Row]:
    ours = seen[OURS]
    peers = [peer for peer in PEERS if peer in seen]

    def values(one: Seen, probe: str, quantile: str) -> list[float]:
        return [one.probes[probe][f"{quantile}_ms"]] if probe in one.probes else []

    for probe, what in (("late", "lateness"), ("quiet", "round trip")):
        for quantile in ("max",) if is_attack else QUANTILES:
            mine = values(ours, probe, quantile)
            limit = STALL_LIMIT_MS if is_attack and quantile == "max" else None
            if judged and probe == "late":
                limit = {"p99": P99_LIMIT_MS, "max": MAX_LIMIT_MS}.get(quantile)
            work = f"{name}: {what} {quantile}"
            if limit is not None:
                yield compare(work, LIMIT, "ms", mine, [limit], note=ours.note)
            for peer in peers:
                if probe == "late" and peer not in TIMES_OUT:
                    continue
                yield compare(work, peer, "ms", mine, values(seen[peer], probe, quantile), note=seen[peer].note)
    if is_attack:
        figures: Figures = (
            ("answered after", "ms", lambda one: present(one.answered_ms)),
            ("memory", "MB", lambda one: present(one.memory_mb)),
        )
    elif name == "0 neighbours":
        figures = ()
    else:
        figures = (("what they get", "requests/s", lambda one: present(one.rate)),)
    for what, unit, figure in figures:
        if not any(figure(one) for one in seen.values()):
            continue  # no neighbour reads the responses
        for peer in peers or ["-"]:
            theirs = seen.get(peer, Seen(note="-"))
            note = theirs.note or ours.note
            yield compare(f"{name}: {what}", peer, unit, figure(ours), figure(theirs), note=note)


def present(value: float | None) -> list[float]:
    return [] if value is None else [max(value, 0.001)]


def own_error(all_seen: list[Seen]) -> str:
    """Return how late the prober itself was."""
    own = [seen.probes["own"] for seen in all_seen if "own" in seen.probes]
    if not own:
        return "no prober"
    rank = "real-time" if any(seen.probes.get("realtime") for seen in all_seen) else "ordinary"
    p99 = median(one["p99_ms"] for one in own)
    return f"C; the prober, with {rank} priority, was itself late by {p99:.2g} ms (p99, median of all)"


def main(argv: list[str]) -> int:
    chosen = options("fairness", __doc__, argv, "0 and 8 neighbours only, shorter runs; attacks on us alone")
    try:
        crowd_program()
    except Missing as reason:
        print(f"fairness: a prober in Python would measure itself: {reason}", file=sys.stderr)
        return 1
    report = Report("fairness")
    run_ms = 700 if chosen.quick else 1_000
    todo = cases(chosen.quick)
    results: dict[str, dict[str, Seen]] = {}
    sides = [Side(name) for name in (OURS, *PEERS)]
    with progress("fairness", len(todo) * len(sides)) as step:
        for side in sides:  # one after the other: Apache Kafka's processes take memory, and their time to start
            try:
                for case in todo:
                    if chosen.quick and isinstance(case, Attack) and side.name != OURS:
                        continue
                    name = case.name if isinstance(case, Attack) else case[0]
                    step(f"{name}, {side.name}")
                    results.setdefault(name, {})[side.name] = look(side, case, run_ms, chosen.quick)
                if side.broker is not None and side.name != OURS:
                    report.versions[side.name] = side.broker.version
            finally:
                side.stop()
    report.driver = own_error([seen for by_side in results.values() for seen in by_side.values()])
    for case in todo:
        is_attack = isinstance(case, Attack)
        name = case.name if isinstance(case, Attack) else case[0]
        judged = not isinstance(case, Attack) and case[2] == JUDGED
        for row in rows(name, is_attack, judged, results[name]):
            report.add(row)
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
