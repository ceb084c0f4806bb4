"""The time line of one request, by the journal: as steps, and as a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from fakebroker.control.bodies import TimelineQuery
from fakebroker.control.errors import ControlError, not_found
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.routes.state import WaitingRequest, waiting_request
from fakebroker.core.journal.events import Event, Request
from fakebroker.core.journal.json_lines import to_json
from fakebroker.testing.producing.broker_timeline import steps_of_offset, steps_of_request
from fakebroker.testing.producing.picture import picture
from fakebroker.testing.producing.timeline import TimelineStep

router = APIRouter(prefix="/journal", tags=["journal"], route_class=Route)

_SVG = "image/svg+xml"


class Step(BaseModel):
    """`elapsed_ms` counts from the receipt of the request, `text` describes the step, `event` is that of the
    journal."""

    elapsed_ms: int
    where: str
    text: str
    event: dict[str, Any]


class Timeline(BaseModel):
    """`parked` is the request while it is parked, else null. `until_ms` is the end of the time line: now for a parked
    request, else its last step; it counts as `elapsed_ms` does."""

    steps: list[Step]
    parked: WaitingRequest | None
    until_ms: int


@router.get("/timeline")
async def get_timeline(here: Here, query: Annotated[TimelineQuery, Query()]) -> Timeline:
    """The steps of one request at the brokers, and what happened to its partitions meanwhile. Select it by its number
    (`request` in the journal's events), or by an offset that it wrote."""
    steps = _steps(here, query)
    parked = _parked(here, steps)
    return Timeline(steps=[_told(step) for step in steps], parked=parked, until_ms=_until_ms(here, steps, parked))


def _told(step: TimelineStep) -> Step:
    event = cast(Event, step.event)  # producers are no source here
    return Step(elapsed_ms=step.elapsed_ms, where=step.where, text=step.text, event=json.loads(to_json(event)))


@router.get("/timeline.svg", response_class=Response, responses={200: {"content": {_SVG: {}}}})
async def draw_timeline(here: Here, query: Annotated[TimelineQuery, Query()]) -> Response:
    """The time line of a Produce as a picture, light or dark as its reader prefers."""
    steps = _steps(here, query)
    first_event = steps[0].event
    if not isinstance(first_event, Request) or first_event.api != "Produce":
        raise ControlError(422, "INVALID_ARGUMENT", "only Produce requests have pictures")
    return Response(picture(steps, now_ms=_until_ms(here, steps, _parked(here, steps))), media_type=_SVG)


def _parked(here: HostedCluster, steps: Sequence[TimelineStep]) -> WaitingRequest | None:
    event = steps[0].event
    waits = here.told.waits.get(event.request) if isinstance(event, Request) else None
    return None if waits is None else waiting_request(here, waits)


def _until_ms(here: HostedCluster, steps: Sequence[TimelineStep], parked: WaitingRequest | None) -> int:
    last = steps[-1]
    return last.elapsed_ms + (0 if parked is None else here.driver.clock.reached().mono_ms - last.mono_ms)


def _steps(here: HostedCluster, query: TimelineQuery) -> list[TimelineStep]:
    events = here.told.journal.events()
    by_offset = (query.topic, query.partition, query.offset)
    try:
        if query.request is not None and by_offset == (None, None, None):
            return steps_of_request(events, query.request)
        if (
            query.request is None
            and query.topic is not None
            and query.partition is not None
            and query.offset is not None
        ):
            return steps_of_offset(events, query.topic, query.partition, query.offset)
    except ValueError as error:
        raise not_found(str(error)) from None
    raise ControlError(422, "INVALID_ARGUMENT", "choose a request by its number, or by topic, partition and offset")
