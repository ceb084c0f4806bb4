"""Speed of simulated clusters: produce requests per second of one process, with the oracle and without.

    python -m benchmarks simulation [--quick] [--json]

core     the same frame, built before, handed to the core again and again on one connection: what the broker costs
produce  acks=all on three brokers with instant followers: clients that build batches, real frames in both directions,
         answers decoded, the oracle beside it, its state compared after every step; whole logs at the end
mixed    what `make test` draws: clients of all kinds, faults, elections, retries, whole logs at every sixteenth step

The target is 20,000 requests a second with the oracle (produce). Medians of the rounds; seconds of CPU time, so what
else the machine does counts less.
"""

from __future__ import annotations

import sys
from statistics import median
from time import process_time

from benchmarks.reporting.report import Report, end, options, progress
from benchmarks.reporting.rows import LIMIT, compare
from fakebroker.testing import Run, Simulation, random_plan, wire
from fakebroker.testing.plan import Action, action
from fakebroker.testing.simulation import START_WALL_MS

TARGET_PER_S = 20_000
AT_THE_END = 1 << 30


def core(requests: int) -> float:
    simulation = Simulation(check_every=AT_THE_END)
    simulation.topic()
    client = simulation.connect()
    frame = wire.produce(1, -1, 1_000, [(("t", 0), wire.batch(b"v", 1, START_WALL_MS))])
    cluster, connection, now = simulation.cluster, client.connection, simulation.now
    started = process_time()
    for _ in range(requests):
        cluster.receive(connection, frame, now)
        cluster.take_effects()
    return requests / (process_time() - started)


def produce(requests: int) -> float:
    plan = [action("cluster", 3, 30_000), action("topic", 3, 3, 2, 0)]
    # The pipelining clients, five requests at a time.
    plan += [action("burst", 1 + 5 * (index % 2), -1, 1_000, index % 3, 5) for index in range(requests // 5)]
    return carry_out(plan, AT_THE_END)


def mixed(requests: int) -> float:
    plans = [random_plan(seed, 200) for seed in range(max(requests // 100, 1))]
    rates = [carry_out(plan, 16) for plan in plans]
    return median(rates)


def carry_out(plan: list[Action], look_every: int) -> float:
    run = Run(look_every=look_every)
    started = process_time()
    for step in plan:
        run.perform(step)
    run.finish()
    return run.requests / (process_time() - started)


WORKS = {"core": (core, 20_000), "produce": (produce, 5_000), "mixed": (mixed, 6_000)}


def main(argv: list[str]) -> int:
    chosen = options("simulation", __doc__, argv, "a fifth of the requests")
    rounds, part = (3, 5) if chosen.quick else (7, 1)
    samples: dict[str, list[float]] = {name: [] for name in WORKS}
    with progress("simulation", rounds * len(WORKS)) as step:
        for _ in range(rounds):
            for name, (work, requests) in WORKS.items():
                step(name)
                samples[name].append(work(requests // part))
    report = Report("simulation")
    report.add(compare("simulated acks=all, with the oracle", LIMIT, "requests/s", samples["produce"], [TARGET_PER_S]))
    for label, name in (("simulated acks=all, with the oracle", "produce"), ("what make test draws", "mixed")):
        report.add(compare(label, "the core alone", "requests/s", samples[name], samples["core"]))
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
