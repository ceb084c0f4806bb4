"""Connections that each wait for an acks=all response that cannot come: how late the timeouts are, what a wait costs.

    python -m benchmarks parked [--quick] [--json]

10,000 connections (1,000 with --quick) send one request each to a partition with frozen followers. They send 2,000 a
second, so the last is sent long before the first times out: all are parked at once. The first is sent when the broker
has accepted all connections and is idle. A connect is done as soon as the kernel has queued it. A request behind 1,000
connections that are not accepted yet would be late by that.

Every response must be REQUEST_TIMED_OUT. Its lateness is the time from the send to the response, less the timeout. It
includes the driver's own share and the machine's. The memory is resident memory of the broker: all parked, less none
connected, per connection.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.drivers.driver import DriverError, command, parsed
from benchmarks.drivers.frames import error_at, frame_file, produce_frame, record_batch
from benchmarks.peers.brokers import start_ours
from benchmarks.reporting.report import Report, end, options, progress
from benchmarks.reporting.rows import LIMIT, Row, compare

TOPIC = "t000"
REQUEST_TIMED_OUT = 7
RATE = 2_000  # requests a second
SPARE_FILES = 200
LOOK_S, IDLE_SHARE, IDLE_LIMIT_S = 0.1, 0.05, 60.0  # idle: so little CPU between two looks
P99_LIMIT_MS, MAX_LIMIT_MS, MEMORY_LIMIT_KB = 5.0, 20.0, 30.0


def allow_files(wanted: int) -> int:
    """Raise the soft limit of open files, which the processes started here inherit; what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def await_idle(cpu_s: Callable[[], float]) -> None:
    """Wait until a process is idle, by its CPU time so far. Raises DriverError if it stays busy."""
    used = cpu_s()
    for _ in range(int(IDLE_LIMIT_S / LOOK_S)):
        time.sleep(LOOK_S)
        before, used = used, cpu_s()
        if used - before < IDLE_SHARE * LOOK_S:
            return
    raise DriverError(f"the broker is still busy {IDLE_LIMIT_S:.0f} s after the last connect")


def measure(connections: int, timeout_ms: int) -> dict[str, float]:
    """Lateness in ms (min, p50, p99, max) and kb, the memory of one connection with its request. Raises DriverError."""
    broker = start_ours("--followers", "frozen", "--config", "replica.lag.time.max.ms=3600000")
    try:
        leader = broker.create_topic(TOPIC)[0]
        frame = produce_frame(TOPIC, 0, record_batch(100), acks=-1, timeout_ms=timeout_ms)
        numbers = [timeout_ms, RATE, connections, error_at(TOPIC), REQUEST_TIMED_OUT]
        before = broker.resident_bytes()
        with frame_file([frame]) as path:
            process = subprocess.Popen(
                [*command()[0], "park", *map(str, numbers), f"{leader[0]},{leader[1]},1,{path}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()  # connected
            await_idle(broker.cpu_s)
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()  # parked
            # The broker may be behind the driver. Half of what is left until the first times out is for it to catch up.
            time.sleep(max(timeout_ms / 1000 - connections / RATE, 0) / 2)
            after = broker.resident_bytes()
            out, said = process.communicate(timeout=timeout_ms / 1000 + 60)
        if process.returncode:
            raise DriverError((said.strip() or f"exit status {process.returncode}").splitlines()[-1])
        result: dict[str, float] = parsed(out)
        return result | {"kb": (after - before) / connections / 1000}
    finally:
        broker.stop()


def rows(connections: int, samples: list[dict[str, float]]) -> Iterator[Row]:
    def against(what: str, key: str, unit: str, limit: float) -> Row:
        values = [one[key] for one in samples]
        return compare(f"{connections:,} parked: {what}", LIMIT, unit, values, [limit])

    yield against("lateness p99", "p99_ms", "ms", P99_LIMIT_MS)
    yield against("lateness max", "max_ms", "ms", MAX_LIMIT_MS)
    yield against("memory each", "kb", "KB", MEMORY_LIMIT_KB)
    for what, key in (("lateness p50", "p50_ms"), ("lateness min", "min_ms")):
        yield compare(f"{connections:,} parked: {what}", "-", "ms", [one[key] for one in samples], [], note="-")


def main(argv: list[str]) -> int:
    chosen = options("parked", __doc__, argv, "1,000 connections")
    wanted, timeout_ms, rounds = (1_000, 2_000, 1) if chosen.quick else (10_000, 10_000, 3)
    report = Report("parked", driver=command()[1])
    allowed = allow_files(wanted + SPARE_FILES)
    connections = min(wanted, allowed - SPARE_FILES)
    with progress("parked", rounds) as step:
        samples: list[dict[str, Any]] = []
        for number in range(rounds):
            step(f"{connections:,} connections, round {number + 1}")
            samples.append(measure(connections, timeout_ms))
    for row in rows(connections, samples):
        report.add(row)
    status = end(report, chosen.json)
    if connections < wanted:
        print(f"parked: only {connections:,} connections: the limit of open files is {allowed:,}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
