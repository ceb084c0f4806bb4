"""Connections that pipeline requests do not stall other clients: each turn is short, and timers run between turns.

Lateness is CPU time of the broker, as stalls are: see `support.under_attack`."""

from __future__ import annotations

import pytest
from support import doses
from support.requests import api_versions, produce
from support.under_attack import ATTEMPTS, UnderAttack, attack, hold

from benchmarks.neighbours import hostile

LATE_LIMIT_MS = 50.0
AHEAD = 256 * 1024  # bytes of requests that are sent at once


def pipelined(frame: bytes) -> bytes:
    return frame * max(1, AHEAD // len(frame))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "acks"), doses.nightly_but([(8, 1), (4, 0)], [(n, acks) for n in (1, 4, 8) for acks in (1, 0)])
)
def test_a_timeout_is_not_late_beside_neighbours_that_produce(neighbours: int, acks: int) -> None:
    data = pipelined(produce("busy", acks=acks))
    for attempt in range(1, ATTEMPTS + 1):  # see `hold`
        with UnderAttack("busy:1:1", brokers=3) as broker:
            broker.lateness_ms(20, 2)
            with attack(broker, data, neighbours, topic="busy"):
                late = broker.lateness_ms()
                broker.watch(0.2)
        limit_ms = LATE_LIMIT_MS * broker.slowness.factor()
        if max(*late, *broker.stalls) <= limit_ms:
            return
        figures = f"late by {sorted(late)} ms of work; a quiet client stalled for {max(broker.stalls):.0f} ms"
        assert attempt < ATTEMPTS, f"{figures}; {limit_ms:.0f} ms are allowed"


@pytest.mark.slow
@pytest.mark.parametrize("connections", doses.nightly_after(1, [10, 500]))
def test_api_versions_of_many_connections(connections: int) -> None:
    hold(pipelined(api_versions(version=0)), memory_mib=64 if connections == 10 else 256, connections=connections)


@pytest.mark.slow
def test_fetches_of_64_kib() -> None:
    fill = [produce("busy", acks=1, records=hostile.plain_batch(16 * 1024)) for _ in range(4)]
    hold(
        pipelined(hostile.fetch_much("busy", 64 * 1024)),
        "busy:1:1",
        memory_mib=64,
        connections=10,
        target="busy",
        fill=fill,
    )


def test_produces_of_1_mib() -> None:
    """The requests have more bytes than the log keeps."""
    frame = produce("busy", acks=1, records=hostile.plain_batch(1_000_000))
    limit = ["--config", "log.memory.bytes=16777216"]
    hold(frame * 2, "busy:1:1", memory_mib=96, connections=8, target="busy", arguments=limit)
