"""Responses to a simulated client, as flat tuples."""

from __future__ import annotations

from support.requests import Produced
from support.simulation import SimulatedClient

NONE, UNKNOWN_TOPIC, NOT_LEADER, TIMED_OUT, NOT_ENOUGH, NOT_ENOUGH_AFTER = 0, 3, 6, 7, 19, 20


def answers(client: SimulatedClient, version: int = 9) -> list[tuple[int, int, int]]:
    """Return (milliseconds, error, base offset) of each response to a Produce of one partition."""
    results = []
    for at_ms, frame in client.answers:
        ((error, base_offset),) = Produced(frame, version).partitions.values()
        results.append((at_ms, error, base_offset))
    return results
