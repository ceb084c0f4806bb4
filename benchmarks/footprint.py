"""Resident memory of the brokers: idle, and after the same load.

    python -m benchmarks footprint [--quick] [--json]

Idle is three brokers with a topic of one partition and no connection. The load is 100,000 produce requests of 1 KiB (a
tenth with --quick), acks=-1, pipelined over one connection: 110 MB of log, which is kept as by default (5 MiB of it by
librdkafka's mock). `python -m benchmarks memory` has what a parked request costs, and whether a long run grows.
"""

from __future__ import annotations

import sys

from benchmarks.drivers.driver import Effort, Target, command, settle
from benchmarks.drivers.frames import error_at, produce_frame, record_batch
from benchmarks.peers.brokers import OURS, fleet
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import LIMIT, compare

TOPIC = "t000"
IDLE_LIMIT_MB = 60.0
LOAD_LIMIT_MS = 60_000


def main(argv: list[str]) -> int:
    chosen = options("footprint", __doc__, argv, "a tenth of the load, once")
    rounds, requests = (1, 10_000) if chosen.quick else (3, 100_000)
    report = Report("footprint", driver=command()[1])
    with fleet() as started, progress("footprint", rounds * len(started.names)) as step:
        idle: dict[str, list[float]] = {name: [] for name in started.names}
        loaded: dict[str, list[float]] = {name: [] for name in started.names}
        for number in range(rounds):
            for name, broker in started.renew().items():
                step(name)
                leader = broker.create_topic(f"t{number:03}")[0]
                idle[name].append(broker.resident_bytes() / 1e6)
                frame = produce_frame(f"t{number:03}", 0, record_batch(1024), acks=-1)
                settle([Target(leader, [frame])], 64, Effort(0, LOAD_LIMIT_MS, requests), error_at(TOPIC))
                loaded[name].append(broker.resident_bytes() / 1e6)
        work = f"after {requests:,} requests of 1 KiB"
        report.add(compare("idle", LIMIT, "MB", idle[OURS], [IDLE_LIMIT_MB]))
        for what, samples in (("idle", idle), (work, loaded)):
            for peer in started.names[1:]:
                note = missing(started.reasons, peer)
                report.add(compare(what, peer, "MB", samples[OURS], samples[peer], note=note))
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
