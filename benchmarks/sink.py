"""Our share of what a raw sink answers: one on uvloop (Python's ceiling), one in the driver's language (the driver's).

    python -m benchmarks sink [--quick] [--json]

A sink cuts the same frames, and answers each with as many bytes, on uvloop under its correlation id; it looks at
nothing else and keeps nothing. The lines of the driver's sink show that the driver is not what is measured: it can do
so many times what we answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product

from benchmarks.drivers.driver import Address, Effort, Target, command, drive
from benchmarks.drivers.frames import MIB, answer_bytes, error_at, produce_frame, record_batch
from benchmarks.machine.programs import HERE
from benchmarks.peers.brokers import OURS, environment, process_cpu_s, start_ours
from benchmarks.reporting.report import Report, end, options, progress
from benchmarks.reporting.rows import compare

UVLOOP = "raw uvloop sink"
DRIVER = "driver's own sink"
TOPIC = "t000"
SIZES = {"100 B": (100, None), "1 KiB": (1024, 0.25), "16 KiB": (16 * 1024, 0.6), "1 MiB": (MIB, 0.6)}
RUN_BYTES = 512 * MIB


@contextmanager
def sink(program: list[str]) -> Iterator[tuple[Address, int]]:
    """A sink in a process of its own; its address and its process id."""
    process = subprocess.Popen(
        [*program, str(answer_bytes(TOPIC))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    assert process.stdout is not None
    try:
        yield ("127.0.0.1", json.loads(process.stdout.readline())["port"]), process.pid
    finally:
        process.kill()
        process.communicate()


def main(argv: list[str]) -> int:
    chosen = options("sink", __doc__, argv, "shorter runs, rougher figures")
    rounds, run_ms = (3, 150) if chosen.quick else (7, 700)
    report = Report("sink", driver=command()[1])
    sinks = {UVLOOP: [sys.executable, str(HERE / "peers" / "uvloop_sink.py")], DRIVER: [*command()[0], "sink"]}
    with ExitStack() as stack, progress("sink", len(SIZES)) as step:
        sides = {name: stack.enter_context(sink(program)) for name, program in sinks.items()}
        for size, (value_bytes, target) in SIZES.items():
            step(size)
            ours = start_ours()
            try:
                sides[OURS] = ours.create_topic(TOPIC)[0], ours.pids[0]
                frame = produce_frame(TOPIC, 0, record_batch(value_bytes), acks=-1)
                window = 8 if value_bytes >= MIB else 64
                rates: dict[str, list[float]] = {name: [] for name in sides}
                cpu_us: dict[str, list[float]] = {name: [] for name in sides}
                effort = Effort(50, run_ms, max(16, RUN_BYTES // value_bytes))
                for _, name in product(range(rounds), sides):
                    address, pid = sides[name]
                    cpu_s = process_cpu_s(pid)
                    result = drive([Target(address, [frame])], window, effort, error_at(TOPIC))
                    cpu_us[name].append((process_cpu_s(pid) - cpu_s) / result["all_answers"] * 1e6)
                    rates[name].append(result["answers"] / result["seconds"])
            finally:
                ours.stop()
            for peer in sinks:
                promised = target if peer == UVLOOP else None
                row = compare(size, peer, "requests/s", rates[OURS], rates[peer], promised, request_bytes=len(frame))
                report.add(row)
                report.add(compare(f"{size}, CPU of the broker", peer, "us CPU", cpu_us[OURS], cpu_us[peer]))
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
