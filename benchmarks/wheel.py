"""The timing wheel beside asyncio, uvloop, heapq and Kafka's own classes: cost of a timer, longest pause, memory.

    python -m benchmarks wheel            all sizes and workloads, best of three; several minutes
    python -m benchmarks wheel --quick    once, less of it, within 50 s: what does not fit is left out and said to be
    python -m benchmarks wheel --json     one line of JSON instead of the table

A library that could not be measured is told in its rows, in the verdicts and once more at the end ("missing" in the
JSON). What this machine does not have is no failure; what fails although all it needs is there is: exit status 1.

Workloads, the same for every library (see timers/worker.py for what is counted):

    cancel         N requests wait, 99 of 100 are answered before they time out, the oldest first: cancel a timer, set
                   another
    cancel-random  the same, answered in no order at all, so that every access misses the caches (not with --quick)
    expire         N timers are set and all expire

Libraries: timingwheel (as plain Python), timingwheel-compiled (by mypyc, the package's own compiled copy),
timingwheel-call-later (AsyncioTimer.call_later on an asyncio loop: what replacing call_later alone gives), asyncio,
uvloop, heapq (with lazy deletion), kafka (SystemTimer of Kafka's server-common, on the JVM here).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.machine.programs import HERE, Missing
from benchmarks.timers.compiled import compiled_wheel
from benchmarks.timers.kafka_timer import build_kafka

ROOT = HERE.parent
SIZES = (1_000, 100_000, 1_000_000)
LIBRARIES = ("timingwheel", "timingwheel-compiled", "asyncio", "uvloop", "kafka", "heapq", "timingwheel-call-later")
BUILDERS: dict[str, Callable[[Path, float], Path]] = {"timingwheel-compiled": compiled_wheel, "kafka": build_kafka}
QUICK_S = 44.0  # the rest of the 50 s is for starting and ending processes
# How the note of a row begins that could not be had.
MISSING, FAILED, LEFT_OUT = "MISSING: ", "FAILED: ", "left out: "

Row = dict[str, Any]


class Bench:
    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.ends = time.monotonic() + (QUICK_S if quick else 24 * 3600)
        # Why a library that is built cannot be measured, and where it is if it can.
        self.reasons = dict.fromkeys(BUILDERS, f"{LEFT_OUT}not built in time")
        self.places: dict[str, Path] = {}
        self.builds: dict[str, threading.Thread] = {}
        self.bytes: dict[str, Row] = {}

    def left_s(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    def build(self) -> None:
        """Build both at once: one waits for the network, the other for the C compiler.

        With --quick the others are measured meanwhile, on the other core; CPU time hardly notices.
        """
        wait_s = min(self.left_s(), 300)

        def work(library: str) -> None:
            try:
                self.places[library] = BUILDERS[library](self.folder / library, wait_s)
            except Missing as reason:
                self.reasons[library] = f"{MISSING}{reason}"
            except Exception as error:
                if self.left_s() > 1:  # else it was stopped
                    self.reasons[library] = f"{FAILED}{error}"

        for library in BUILDERS:
            self.builds[library] = threading.Thread(target=work, args=(library,), daemon=True)
            self.builds[library].start()
        if not self.quick:
            for thread in self.builds.values():
                thread.join()

    def call(self, library: str, workload: str, pending: int, ops: int) -> Row:
        """One measurement in a process of its own; {"note": why not} if there is none."""
        if library in self.builds:
            self.builds[library].join(self.left_s())
            if library not in self.places:
                return {"note": self.reasons[library]}
        arguments = [workload, str(pending), str(ops)]
        path = self.places.get(library, ROOT)
        command = [sys.executable, str(HERE / "timers" / "worker.py"), library, *arguments]
        if library == "kafka":
            command = ["java", "-Xmx2g", "-cp", f"lib/*{os.pathsep}.", "Driver", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(path)}
        try:
            done = subprocess.run(
                command,
                cwd=path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=max(self.left_s(), 0.1),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"note": f"{LEFT_OUT}no time left"}
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            return {"note": f"{FAILED}{said[-1] if said else done.returncode}"}
        result: Row = json.loads(done.stdout.splitlines()[-1])
        return result

    def row(self, workload: str, pending: int, library: str) -> Row:
        """The best of several: what a busy machine adds is not the library's."""
        if workload == "expire":
            ops = max(pending, 100_000)
        else:
            # More than `pending` cancellations, so that asyncio and heapq have to clear theirs out at least once.
            ops = max(int(pending * (1.2 if self.quick else 2.2)), 100_000 if self.quick else 500_000)
        row: Row = {"workload": workload, "library": library, "pending": pending}
        row |= dict.fromkeys(("ns_per_op", "max_pause_ms", "bytes_per_timer"))
        results = []
        for _ in range(1 if self.quick else 3):
            result = self.call(library, workload, pending, ops)
            if "note" in result:
                return row | result
            results.append(result)
        row["ns_per_op"] = round(min(result["ns_per_op"] for result in results), 1)
        row["max_pause_ms"] = round(min(result["max_pause_ms"] for result in results), 3)
        return row | self.bytes_per_timer(library)

    def bytes_per_timer(self, library: str) -> Row:
        """Measured once, at 50,000 timers: it hardly depends on their number."""
        if library not in self.bytes:
            memory = self.call(library, "memory", 50_000, 0)
            if "note" in memory:
                return {"note": f"{memory['note']} (bytes per timer)"}
            self.bytes[library] = {"bytes_per_timer": round(memory["bytes_per_timer"], 1)}
        return self.bytes[library]

    def rows(self) -> Iterator[Row]:
        self.build()
        jobs = [(workload, pending) for workload in ("cancel", "expire") for pending in SIZES]
        if self.quick:
            # What does not fit is left out: the most telling first, and what has to be built as late as may be.
            main, others = ("timingwheel", "asyncio", "uvloop"), ("heapq", "timingwheel-call-later")
            order = [("cancel", pending, library) for pending in (1_000, 1_000_000) for library in main]
            order += [("cancel", pending, library) for pending in (1_000, 1_000_000) for library in BUILDERS]
            rest = [("expire", 1_000), ("cancel", 100_000), ("expire", 100_000), ("cancel", 1_000), *jobs]
            order += [(*job, library) for job in rest for library in (*main, *BUILDERS, *others)]
        else:
            jobs += [("cancel-random", pending) for pending in SIZES]
            order = [(*job, library) for job in jobs for library in LIBRARIES]
        for job in self.as_they_are_built(list(dict.fromkeys(order))):
            yield self.row(*job)

    def as_they_are_built(self, jobs: list[tuple[str, int, str]]) -> Iterator[tuple[str, int, str]]:
        """Yield the jobs in their order, but run others while a library is still being built."""
        while jobs:
            ready = (job for job in jobs if job[2] not in self.builds or not self.builds[job[2]].is_alive())
            job = next(ready, jobs[0])
            jobs.remove(job)
            yield job


def verdicts(rows: list[Row]) -> Iterator[str]:
    """The targets the wheel was built for, and whether this run met them."""
    by_key = {(row["workload"], row["library"], row["pending"]): row for row in rows if row["ns_per_op"]}
    for workload, library in itertools.product(("cancel", "cancel-random"), LIBRARIES[:2]):
        ours = by_key.get((workload, library, 1_000_000))
        about = f"{workload}, {library}:"
        if ours is None:
            if any((row["workload"], row["library"]) == (workload, library) for row in rows):
                yield f"{about} NOT MEASURED at 1,000,000"
            continue
        for other in ("asyncio", "uvloop", "kafka"):
            if (theirs := by_key.get((workload, other, 1_000_000))) is not None:
                ratio = theirs["ns_per_op"] / ours["ns_per_op"]
                target = "" if other == "kafka" else f", target 4: {judge(ratio >= 4)}"
                yield f"{about} {ratio:.2f} times as fast as {other} at 1,000,000{target}"
        if (small := by_key.get((workload, library, 1_000))) is not None:
            ratio = ours["ns_per_op"] / small["ns_per_op"]
            yield f"{about} at 1,000,000 {ratio:.2f} times the cost at 1,000, target at most 1.5: {judge(ratio <= 1.5)}"
    for library in LIBRARIES[:2]:
        about = f"{library}:"
        pauses = [row["max_pause_ms"] for key, row in by_key.items() if key[1] == library]
        if pauses:
            yield f"{about} longest pause {max(pauses):.2f} ms, target at most 5: {judge(max(pauses) <= 5)}"
        sizes = {key[1]: row["bytes_per_timer"] for key, row in by_key.items() if row["bytes_per_timer"]}
        if library in sizes and "asyncio" in sizes:
            yield (
                f"{about} {sizes[library]:.0f} bytes per timer, asyncio {sizes['asyncio']:.0f}, target no more: "
                f"{judge(sizes[library] <= sizes['asyncio'])}"
            )


def missing(rows: list[Row]) -> dict[str, list[str]]:
    """Return what each library lacks in these rows, and why: one line for each reason."""
    note_counts: dict[str, Counter[str]] = {}
    for row in rows:
        if row.get("note"):
            note_counts.setdefault(row["library"], Counter())[row["note"]] += 1
    return {
        library: [f"{count} rows: {note}" if count > 1 else f"1 row: {note}" for note, count in notes.items()]
        for library, notes in note_counts.items()
    }


def judge(met: bool) -> str:
    return "met" if met else "MISSED"


def show(row: Row) -> str:
    def number(key: str, places: int) -> str:
        return f"{row[key]:>10,.{places}f}" if row[key] is not None else f"{'-':>10}"

    return (
        f"{row['workload']:<14}{row['library']:<24}{row['pending']:>10,}"
        f"{number('ns_per_op', 0)}{number('max_pause_ms', 2)}{number('bytes_per_timer', 0)}  {row.get('note', '')}"
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks wheel", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="within 50 s")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args(argv)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="benchmarks-wheel-", ignore_cleanup_errors=True) as folder:
        if not options.json:
            print(
                f"{'workload':<14}{'library':<24}{'pending':>10}{'ns/op':>10}{'pause ms':>10}{'bytes':>10}", flush=True
            )
        bench = Bench(Path(folder), options.quick)
        for row in bench.rows():
            rows.append(row)
            if not options.json:
                print(show(row), flush=True)
        for thread in bench.builds.values():
            thread.join(2)  # what was not built in time has just been stopped
    lost = missing(rows)
    if options.json:
        print(json.dumps({"name": "wheel", "rows": rows, "missing": lost}))
    else:
        print("\n" + "\n".join(verdicts(rows)))
    for library, lines in lost.items():
        for line in lines:
            # On both: a reader that gets the JSON from a pipe sees it as well.
            print(f"wheel: {library}: {line}", file=sys.stderr if options.json else sys.stdout)
    return int(any(str(row.get("note", "")).startswith(FAILED) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
