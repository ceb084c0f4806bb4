"""The wait and the life of the sender (producer/client/sender_thread.py)."""

from __future__ import annotations

import pytest

from fakebroker.producer.client.sender_thread import SenderThread


def test_a_woken_sender_runs_at_once_unless_it_has_ended() -> None:
    thread = SenderThread(0)
    thread.wait(0, 500)
    thread.wake(100)
    assert (thread.poll_until_ms, thread.is_woken) == (100, True)
    thread.end()
    thread.wake(200)
    assert thread.poll_until_ms is None


@pytest.mark.parametrize(("waited_ms", "late_ms"), [(1, 1), (1_999, 1), (3_000, 3), (500_000, 100)])
def test_a_wait_ends_late_by_a_thousandth(waited_ms: int, late_ms: int) -> None:
    thread = SenderThread(0)
    thread.wait(7, 7 + waited_ms)
    thread.oversleep(7 + waited_ms)
    assert thread.poll_until_ms == 7 + waited_ms + late_ms


def test_a_sender_that_is_being_closed_has_to_end_at_its_time_once() -> None:
    thread = SenderThread(0)
    before = thread.is_running
    assert not thread.has_to_end(1_000_000)
    thread.initiate_close(10, 90)
    assert (before, thread.is_running) == (True, False)
    assert [thread.has_to_end(now_ms) for now_ms in (99, 100)] == [False, True]
    thread.end()
    assert thread.is_closed
    assert not thread.has_to_end(100)
