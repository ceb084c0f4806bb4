"""Work of the control in slices: bounded in each turn of the loop, for any number of clients."""

from __future__ import annotations

import asyncio

import pytest
from support.watchdog import run

from fakebroker.control.errors import ControlError
from fakebroker.control.sliced_work import SlicedWork
from fakebroker.network.turn import Turn
from fakebroker.protocol.slices import Slices

SLICES_OF_A_TURN = 8  # with a Turn that counts


class Slow:
    """Work of a number of slices, which are counted."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def work(self, name: str, slices: int) -> Slices[str]:
        for _ in range(slices):
            self.done.append(name)
            yield
        return name


def test_all_requests_together_do_so_many_slices_in_a_turn_and_no_one_waits_for_a_long_one() -> None:
    async def test() -> None:
        slow, work = Slow(), SlicedWork(Turn())
        long = [asyncio.ensure_future(work.do(slow.work(f"long {number}", 100))) for number in range(20)]
        short = asyncio.ensure_future(work.do(slow.work("short", 2)))
        seen = 0
        while not all(task.done() for task in (*long, short)):
            await asyncio.sleep(0)
            assert len(slow.done) - seen <= SLICES_OF_A_TURN
            seen = len(slow.done)
            if short.done():
                assert short.result() == "short"
            else:
                assert seen <= 3 * 21 + SLICES_OF_A_TURN
        assert [task.result() for task in long] == [f"long {number}" for number in range(20)]
        assert len(slow.done) == 20 * 100 + 2

    run(test())


def test_an_error_is_raised_to_its_own_caller_only() -> None:
    def fails() -> Slices[None]:
        yield
        raise ValueError("no")

    async def test() -> None:
        work = SlicedWork(Turn())
        good = asyncio.ensure_future(work.do(Slow().work("good", 10)))
        with pytest.raises(ValueError, match="no"):
            await work.do(fails())
        assert await good == "good"

    run(test())


def test_one_that_is_cancelled_is_not_gone_on_with() -> None:
    async def test() -> None:
        slow, work = Slow(), SlicedWork(Turn())
        cancelled = asyncio.ensure_future(work.do(slow.work("cancelled", 1_000)))
        await asyncio.sleep(0)
        cancelled.cancel()
        await work.do(slow.work("other", 10))
        assert slow.done.count("cancelled") <= 2 * SLICES_OF_A_TURN

    run(test())


def test_when_the_cluster_stops_nothing_is_gone_on_with() -> None:
    async def test() -> None:
        slow, work = Slow(), SlicedWork(Turn())
        accepted = asyncio.ensure_future(work.do(slow.work("asked", 1_000)))
        await asyncio.sleep(0)
        work.end()
        for refused in (accepted, work.do(slow.work("late", 1))):
            with pytest.raises(ControlError, match="about to stop"):
                await refused
        assert len(slow.done) <= SLICES_OF_A_TURN

    run(test())
