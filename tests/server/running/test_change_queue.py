"""Changes come one after the other (server/running/changes.py)."""

from __future__ import annotations

import asyncio

import pytest
from support.watchdog import run

from fakebroker.server.running.changes import ChangeQueue


def test_each_takes_its_turn_and_returns_or_raises_what_it_does() -> None:
    async def work() -> None:
        changes, steps = ChangeQueue(), []

        async def change(number: int) -> int:
            steps.append(f"{number} begins")
            await asyncio.sleep(0)
            steps.append(f"{number} ends")
            if number == 1:
                raise ValueError("refused")
            return number

        results = await asyncio.gather(
            *(changes.make(lambda number=number: change(number)) for number in range(3)),  # type: ignore[misc]
            return_exceptions=True,
        )
        assert [str(result) for result in results] == ["0", "refused", "2"]
        assert steps == [f"{number} {what}" for number in range(3) for what in ("begins", "ends")]

    run(work())


def test_a_change_that_has_begun_is_made_to_its_end_and_one_that_waits_is_not_made() -> None:
    async def work() -> None:
        changes, go_on, made = ChangeQueue(), asyncio.Event(), []

        async def slow() -> None:
            await go_on.wait()
            made.append("slow")

        async def quick(name: str) -> None:
            made.append(name)

        begun = asyncio.ensure_future(changes.make(slow))
        waiting = asyncio.ensure_future(changes.make(lambda: quick("cancelled")))
        later = asyncio.ensure_future(changes.make(lambda: quick("later")))
        await asyncio.sleep(0)
        begun.cancel()
        waiting.cancel()
        for change in (begun, waiting):
            with pytest.raises(asyncio.CancelledError):
                await change
        assert (made, later.done()) == ([], False)
        go_on.set()
        await later
        assert made == ["slow", "later"]

    run(work())
