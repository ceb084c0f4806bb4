"""Faults and barriers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from fakebroker.control.bodies import FaultWait, Release
from fakebroker.control.errors import ControlError, conflict, given, not_found
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import HostedCluster
from fakebroker.core.faults.fault import Fault
from fakebroker.protocol.slices import Slices
from fakebroker.server.arising.in_hand import AsyncStateFault
from fakebroker.server.faults_in_hand import AsyncFault, AsyncFaults

MAX_FAULTS = 10_000
_LISTED = 16  # in a slice
router = APIRouter(prefix="/faults", tags=["faults"], route_class=Route)

FaultId = Annotated[str, Path(max_length=100)]
NewFault = Annotated[
    dict[str, Any],
    Body(
        json_schema_extra={
            "properties": {
                "when": {"type": "object"},
                "do": {},
                "times": {},
                "force": {"type": "boolean"},
                "preset": {"type": "string"},
            }
        },
        examples=[
            {"when": {"api": "Produce", "topic": "orders"}, "do": "NOT_ENOUGH_REPLICAS"},
            {"when": {"api": "Produce", "at": "after_append"}, "do": "disconnect"},
            {"when": {"api": "Fetch", "partition": 2}, "do": {"delay": 100}, "times": 3},
            {"when": {"api": "Produce"}, "do": "hold", "times": "every_time"},
            {"preset": "partition", "a": [1], "b": [2, 3], "controller": "b"},
        ],
    ),
]


class FaultNow(BaseModel):
    """`id` is its name in the journal. `hits` is how often it has fired, `matches` how many requests it has matched,
    `held` how many it holds; `installed` says if it may act again; `problem`, if it is there, what it could not do. A
    state fault (`preset`) acts on brokers, and says if it is `done`."""

    model_config = ConfigDict(extra="allow")

    id: str
    hits: int
    matches: int
    held: int
    installed: bool


class FaultList(BaseModel):
    faults: list[FaultNow]


class FaultWaited(FaultNow):
    """`matched` is false if a limit was reached first."""

    matched: bool


class Released(FaultNow):
    """`released` requests continue."""

    released: int


class Removed(BaseModel):
    removed: int


@router.post("", status_code=201)
async def add_fault(here: Here, fault: NewFault) -> FaultNow:
    """Install a fault: when, do, times (docs/faults.md). A fault that can never match or act is refused, with the
    reason. With a `preset` it is a state fault: full_disk, slow_disk, gc_pause, partition, rolling_restart,
    unclean_shutdown."""
    if len(here.cluster.faults) + len(here.cluster.faults.arisen()) >= MAX_FAULTS:
        raise ControlError(429, "TOO_MANY", f"there are {MAX_FAULTS} faults already: remove some")
    if "preset" in fault:
        with given():
            arisen = here.cluster.faults.arise(fault)
        arisen._arisen.on_change.append(here.changes.tell)
        return _now(arisen)
    with given():
        handle = here.cluster.faults.add(Fault.from_json(fault))
    handle._armed.on_change.append(here.changes.tell)  # waiting requests check it then
    return _now(handle)


@router.get("", response_model=FaultList)
async def get_faults(here: Here) -> Response:
    """All faults, including those that have fired for the last time, and all state faults that are not over."""
    return Response(await here.work.do(_list(here.cluster.faults)), media_type="application/json")


def _list(faults: AsyncFaults) -> Slices[str]:
    """Return a FaultList."""
    lines: list[str] = []
    handles: list[AsyncFault | AsyncStateFault] = [*faults.list(), *_lasting(faults)]
    for handle in handles:
        lines.append(_now(handle).model_dump_json())
        if len(lines) % _LISTED == 0:
            yield
    return f'{{"faults":[{",".join(lines)}]}}'


@router.delete("")
async def remove_faults(here: Here) -> Removed:
    """Remove all faults, and release the requests that they hold."""
    return Removed(removed=await here.work.do(here.cluster.faults._clear_in_slices()))


@router.get("/{fault_id}")
async def get_fault(here: Here, fault_id: FaultId) -> FaultNow:
    """One fault: how often it has fired."""
    return _now(_find(here, fault_id))


@router.delete("/{fault_id}", status_code=204)
async def remove_fault(here: Here, fault_id: FaultId) -> None:
    """Remove a fault, and release the requests that it holds."""
    _find(here, fault_id).remove()


@router.post("/{fault_id}/wait")
async def wait_for_fault(here: Here, fault_id: FaultId, body: FaultWait) -> FaultWaited:
    """Wait until a fault has fired `hits` times, and holds `held` requests. A state fault has to be done as well."""
    handle = _find(here, fault_id)

    def look() -> Slices[bool | None]:
        yield
        if isinstance(handle, AsyncStateFault):
            return True if handle.hits >= body.hits and not body.held and (handle.is_done or handle.is_over) else None
        return True if handle.hits >= body.hits and handle.held >= body.held else None

    matched = await here.waiting.until(look, body.timeout_ms, body.timeout_wall_ms)
    return FaultWaited(**handle.to_json(), matched=matched is not None)


@router.post("/{fault_id}/release")
async def release(here: Here, fault_id: FaultId, body: Release) -> Released:
    """Release the requests that a fault holds, or the first `count`; later ones are held."""
    handle = _find(here, fault_id)
    if isinstance(handle, AsyncStateFault):
        raise conflict(f"fault {fault_id} is a preset, which holds no requests: remove it instead")
    released = handle.release(body.count)
    return Released(**handle.to_json(), released=released)


def _lasting(faults: AsyncFaults) -> list[AsyncStateFault]:
    return [arisen for arisen in faults.arisen() if not arisen.is_over]


def _find(here: HostedCluster, fault_id: str) -> AsyncFault | AsyncStateFault:
    for arisen in here.cluster.faults.arisen():
        if arisen.id == fault_id:
            return arisen
    try:
        return here.cluster.faults.get(fault_id)
    except KeyError as error:
        raise not_found(str(error.args[0])) from None


def _now(handle: AsyncFault | AsyncStateFault) -> FaultNow:
    return FaultNow(**handle.to_json())
