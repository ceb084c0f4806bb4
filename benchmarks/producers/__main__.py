"""A thousand producers beside a cluster of three brokers, a day of virtual time with faults: produced batches a second.

    python -m benchmarks producers [--producers 1000] [--brokers 3] [--hours 24] [--seed 0] [--every-ms 60000]
                                   [--journal FILE] [--bytes-only] [--quick] [--json]

Kafka's producer (fakebroker/producer) and the cluster in one process and one virtual time, real frames in both
directions. Of four kinds: Kafka's defaults; one request in flight; acks=1; bursts that linger. Brokers stop, crash,
pause and come back, followers freeze, leaders move, connections break, about six times an hour. Meanwhile each record
is held to what Kafka promises of it (fakebroker/testing/producing/watch.py); what is broken ends the run.

The same arguments give the same journal. It has a line for all bytes that went into the cluster or came out of it, and
for each record that ended. Without --bytes-only it also has one for each event of the producers' own journals. Only its
hash is kept, that of the FILE if one is wanted (some KB for each batch).

The target is 10,000 batches a second, compiled: the median of the parts of one run, in seconds of CPU time, so what
else the machine does counts less. The first ten seconds of virtual time, in which all connect, are not counted.
Where Linux gives huge pages the run asks for them, which counts (fakebroker/testing/producing/huge_pages.py).
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from time import process_time
from typing import BinaryIO

from benchmarks.reporting.report import Report, end, progress
from benchmarks.reporting.rows import LIMIT, compare
from fakebroker.producer.client import kafka_producer
from fakebroker.testing.producing.farm import HOUR_MS, Farm
from fakebroker.testing.producing.huge_pages import ask_for_huge_pages
from fakebroker.testing.producing.run_journal import RunJournal

TARGET_PER_S = 10_000
QUICK_HOURS = 0.25
FIRST_MS = 10_000
_RARELY = (50_000, 20, 50)
_PAGES_EVERY_MS = 600_000
PARTS = 96  # of a run; a quarter of an hour each, if it is a day


def main(argv: list[str]) -> int:
    chosen = _options(argv)
    hours = min(chosen.hours, QUICK_HOURS) if chosen.quick else chosen.hours
    samples: list[float] = []
    cpu_s = 0.0
    with ExitStack() as stack:
        file: BinaryIO | None = stack.enter_context(open(chosen.journal, "wb")) if chosen.journal else None
        farm = Farm(
            chosen.producers,
            chosen.brokers,
            chosen.seed,
            chosen.every_ms,
            journal=RunJournal(file),
            with_decisions=not chosen.bytes_only,
        )
        part_ms = max(1, round(hours * HOUR_MS) // PARTS)
        farm.advance(FIRST_MS)
        gc.collect()
        gc.freeze()  # what is there stays: it need not be looked at again and again
        gc.set_threshold(*_RARELY)  # and of what comes, nearly all goes by itself
        in_huge_pages, pages_every = 0, -(-_PAGES_EVERY_MS // part_ms)
        with progress("producers", PARTS + 1) as step:
            for part in range(PARTS):
                rate = f", {samples[-1]:,.0f} batches/s" if samples else ""
                step(f"hour {part * part_ms / HOUR_MS:.1f} of {hours:g}{rate}")
                before, started = farm.batches, process_time()
                if part % pages_every == 0:
                    in_huge_pages = ask_for_huge_pages()
                farm.advance(part_ms)
                took_s = process_time() - started
                cpu_s += took_s
                samples.append((farm.batches - before) / took_s)
            over_all = (
                f"{farm.refused:,} answered with an error; {farm.batches / cpu_s:,.0f} acknowledged a second over all"
            )
            step("the end")
            farm.end()
    lines = [*_told(farm, hours, chosen.seed, in_huge_pages), over_all]
    report = Report("producers")
    how = "compiled" if is_compiled() else "interpreted"
    work = f"{chosen.producers:,} producers, {chosen.brokers} brokers, {hours:g} h, {how}"
    report.add(compare(work, LIMIT, "batches/s", samples, [TARGET_PER_S], note="; ".join(lines)))
    if not chosen.json:
        print("\n".join(lines))
    return end(report, chosen.json)


def is_compiled() -> bool:
    """Return whether the producer is compiled."""
    return not (kafka_producer.__file__ or "").endswith(".py")


def _told(farm: Farm, hours: float, seed: int, in_huge_pages: int) -> list[str]:
    outcomes = farm.outcomes()
    errors = ", ".join(f"{count:,} {name}" for name, count in sorted(outcomes.items()) if name != "NONE") or "none"
    faults = ", ".join(f"{count:,} {name}" for name, count in sorted(farm.faults.items())) or "none"
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return [
        f"{farm.batches:,} batches of {farm.records:,} records in {hours:g} h of virtual time, seed {seed}",
        f"errors: {errors}",
        f"faults: {faults}",
        f"memory at its peak: {peak_mb:,.0f} MB; in huge pages: {in_huge_pages / 1_000_000:,.0f} MB",
        f"journal: {farm.journal.lines:,} lines, sha256 {farm.journal.digest()}",
    ]


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks producers", description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--producers", type=int, default=1_000)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--hours", type=float, default=24, help="of virtual time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every-ms", type=int, default=60_000, help="each producer sends so often, on average")
    parser.add_argument("--journal", metavar="FILE", help="write the journal there")
    parser.add_argument("--bytes-only", action="store_true", help="no producers' own journals")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_HOURS} hours")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    chosen = parser.parse_args(argv)
    for name in ("producers", "brokers", "hours", "every_ms"):
        if not getattr(chosen, name) > 0:
            parser.error(f"argument --{name.replace('_', '-')}: {getattr(chosen, name)} is not above 0")
    if chosen.journal and not Path(chosen.journal).absolute().parent.is_dir():
        parser.error(f"argument --journal: there is no folder for {chosen.journal}")
    return chosen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
