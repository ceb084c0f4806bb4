"""The purgatory in process, with the mixes of requests of Kafka's own test of its performance.

    python -m benchmarks purgatory [--quick] [--json]

Requests arrive as a Poisson process and wait under 3 of 100 keys, always the same 3, for at most 200 ms; each is
completed when its latency is over, if that is below the timeout. Latencies are log-normal: p50 20 ms and p75 60 ms, of
which some time out, or p50 200 ms and p75 400 ms, of which half do. The tick is 1 ms.

Time is virtual, at 105,000 requests a second: what Confluent published for Kafka's purgatory in 2015. What is told is
requests by second of CPU: as long as that is above 105,000, one core keeps up with it in real time.

Source   TestPurgatoryPerformance.scala of Apache Kafka. It has a thread each for arrivals, completions and expirations.
"""

from __future__ import annotations

import math
import multiprocessing
import random
import sys
import time

from benchmarks.reporting.report import Report, end, options, progress
from benchmarks.reporting.rows import LIMIT, compare
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.core.purgatory.purgatory import DelayedOperationPurgatory
from fakebroker.protocol.topic_partition import TopicPartition

RATE = 105_000  # requests per virtual second
TIMEOUT_MS = 200
KEYS, OF_KEYS = 3, 100
PERCENTILE_75 = 0.674490  # of the normal distribution
MIXES = {"few time out": (20.0, 60.0), "half time out": (200.0, 400.0)}


class Clock:
    __slots__ = ("ms",)

    def __init__(self) -> None:
        self.ms = 0


class Request(DelayedOperation):
    """Completes when its latency is over."""

    __slots__ = ("_clock", "_completes_at", "_counts")

    def __init__(self, clock: Clock, latency_ms: int, counts: list[int]) -> None:
        super().__init__(TIMEOUT_MS)
        self._clock = clock
        self._completes_at = clock.ms + latency_ms
        self._counts = counts

    def try_complete(self) -> bool:
        return self._clock.ms >= self._completes_at and self.force_complete()

    def on_complete(self) -> None:
        self._counts[0] += 1

    def on_expiration(self) -> None:
        self._counts[1] += 1


def arrivals(count: int, p50_ms: float, p75_ms: float, seed: int) -> list[list[int]]:
    """The latencies of the requests that arrive in each millisecond."""
    chance = random.Random(seed)
    mean = math.log(p50_ms)
    deviation = (math.log(p75_ms) - mean) / PERCENTILE_75
    latencies: list[list[int]] = []
    at_ms = 0.0
    for _ in range(count):
        at_ms += chance.expovariate(RATE / 1000)
        while len(latencies) <= at_ms:
            latencies.append([])
        latencies[-1].append(int(chance.lognormvariate(mean, deviation)))
    return latencies


def measure(count: int, p50_ms: float, p75_ms: float, seed: int) -> tuple[float, float]:
    """Requests per second of CPU, and the share that timed out."""
    plan = arrivals(count, p50_ms, p75_ms, seed)
    chance = random.Random(seed)
    keys = [TopicPartition(f"fakeKey{chance.randrange(OF_KEYS)}", 0) for _ in range(KEYS)]
    clock = Clock()
    counts = [0, 0]  # completed, of these expired
    purgatory: DelayedOperationPurgatory[Request] = DelayedOperationPurgatory("bench", 0)
    due: list[list[Request]] = [[] for _ in range(len(plan) + TIMEOUT_MS + 1)]
    started = time.thread_time()
    for now_ms in range(len(due)):
        clock.ms = now_ms
        purgatory.advance_clock(now_ms)
        for request in due[now_ms]:
            request.force_complete()
        due[now_ms] = []
        for latency_ms in plan[now_ms] if now_ms < len(plan) else ():
            request = Request(clock, latency_ms, counts)
            if latency_ms < TIMEOUT_MS:
                due[now_ms + latency_ms].append(request)
            purgatory.try_complete_else_watch(request, keys, now_ms)
    seconds = time.thread_time() - started
    if counts[0] != count or purgatory.num_delayed():
        raise AssertionError(f"{counts[0]} of {count} requests completed, {purgatory.num_delayed()} are left")
    return count / seconds, counts[1] / count


def main(argv: list[str]) -> int:
    chosen = options("purgatory", __doc__, argv, "a fifth of the requests")
    rounds, count = (3, 100_000) if chosen.quick else (5, 500_000)
    report = Report("purgatory")
    with (
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
        progress("purgatory", rounds * len(MIXES)) as step,
    ):
        samples: dict[str, list[float]] = {name: [] for name in MIXES}
        shares: dict[str, float] = {}
        for number in range(rounds):
            for name, (p50_ms, p75_ms) in MIXES.items():
                step(name)
                rate, shares[name] = pool.apply(measure, (count, p50_ms, p75_ms, number + 1))
                samples[name].append(rate)
    for name, (p50_ms, p75_ms) in MIXES.items():
        work = f"purgatory, p50 {p50_ms:.0f} ms, p75 {p75_ms:.0f} ms: {shares[name]:.0%} time out"
        report.add(compare(work, LIMIT, "requests/s", samples[name], [RATE]))
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
