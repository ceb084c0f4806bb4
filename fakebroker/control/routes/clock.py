"""The broker's clock."""

from __future__ import annotations

from fastapi import APIRouter

from fakebroker.control.answers import Advanced, ClockNow, clock_now
from fakebroker.control.bodies import MAX_MS, Advance, ClockTo
from fakebroker.control.errors import ControlError, given
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import HostedCluster

router = APIRouter(prefix="/clock", tags=["clock"], route_class=Route)


@router.get("")
async def get_clock(here: Here) -> ClockNow:
    """The broker's time, and the next deadline."""
    return clock_now(here)


@router.put("")
async def set_clock(here: Here, body: ClockTo) -> Advanced:
    """Set the clock; it does not go back."""
    if (body.elapsed_ms is None) == (body.wall_ms is None):
        raise ControlError(422, "INVALID_BODY", "give exactly one of elapsed_ms and wall_ms")
    clock = here.cluster.clock

    def ahead_ms() -> int:
        ms = body.elapsed_ms - clock.elapsed_ms if body.elapsed_ms is not None else (body.wall_ms or 0) - clock.wall_ms
        if ms < 0:
            raise ValueError(f"a clock does not go back: the time is {-ms} ms in the past")
        return _at_most(ms)

    with given():
        advanced_ms = await clock.advance_by(ahead_ms)
    return _answer(here, advanced_ms)


@router.post("/advance")
async def advance(here: Here, body: Advance) -> Advanced:
    """Advance the clock, deadline by deadline; all responses are written when this returns."""
    if (body.ms is None) == (body.to is None):
        raise ControlError(422, "INVALID_BODY", 'give exactly one of ms and to, as in {"ms": 30000}')
    clock, ms = here.cluster.clock, body.ms
    with given():
        if ms is None:
            return _answer(here, await clock.advance_to_next_deadline())
        return _answer(here, await clock.advance_by(lambda: _at_most(ms)))


def _at_most(ms: int) -> int:
    if ms > MAX_MS:
        raise ValueError(f"a clock is advanced by 0 to {MAX_MS} ms at a time, not {ms}")
    return ms


def _answer(here: HostedCluster, advanced_ms: int | None) -> Advanced:
    return Advanced(**clock_now(here).model_dump(), advanced_ms=advanced_ms)
