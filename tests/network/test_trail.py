"""The arrival time of a request's bytes (network/trail.py), with listeners that are added at any time."""

from __future__ import annotations

import pytest

from fakebroker.network.trail import Trail

NOW_MS = 99


def came(trail: Trail, size: int, at_ms: int | None = None) -> None:
    """Receive bytes, at a time that is noted if there is a listener."""
    trail.received_bytes += size
    if at_ms is not None:
        trail.arrived(at_ms)


@pytest.mark.parametrize(("buffered", "at_ms"), [(25, 1), (20, 1), (19, 2), (10, 2), (9, 3), (0, 3)])
def test_a_request_came_with_its_last_byte(buffered: int, at_ms: int) -> None:
    trail = Trail()
    for ms in (1, 2, 3):
        came(trail, 10, ms)
    assert trail.take(buffered, NOW_MS) == at_ms


def test_bytes_that_came_without_a_listener_came_now() -> None:
    trail = Trail()
    came(trail, 10)
    assert trail.take(0, NOW_MS) == NOW_MS


def test_times_from_before_a_pause_of_the_listeners_are_not_those_of_later_bytes() -> None:
    trail = Trail()
    came(trail, 10, 1)
    came(trail, 10)
    assert trail.take(0, NOW_MS) == NOW_MS
    came(trail, 10, 3)
    assert trail.take(0, NOW_MS) == 3
