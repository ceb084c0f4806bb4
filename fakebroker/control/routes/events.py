"""Events as they happen: server-sent events.

Source   https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from fakebroker.control.bodies import JournalQuery
from fakebroker.control.errors import ControlError
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.overview import overview
from fakebroker.control.routes.journal import matcher
from fakebroker.core.journal.events import Event

log = logging.getLogger("fakebroker")
router = APIRouter(tags=["journal"], route_class=Route)

MAX_STREAMS = 20  # per cluster
_PAUSE_S = 0.05  # between two writes
_OVERVIEW_S = 0.25  # between two overviews
_ALIVE_S = 15.0  # a comment, so that no proxy closes a quiet stream


class EventsQuery(JournalQuery):
    """A selection of the journal's events; and whether the overview is sent too."""

    overview: bool = Query(
        False,
        description="also send brokers, partitions, parked requests and the clock, whenever they may have changed",
    )


@router.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def get_events(here: Here, request: Request, query: Annotated[EventsQuery, Query()]) -> StreamingResponse:
    """A stream of the journal's events: `event:` is the kind, `id:` the number, `data:` the JSON. It begins behind
    `after` (or the header Last-Event-ID), else with the next event. If events behind that are gone, `dropped` says how
    many. A stream that loses events because its reader is too slow ends with `end`, which says so."""
    matches = matcher(here.core, query)
    last_id = request.headers.get("last-event-id", "")
    after = query.after
    if after is None:
        after = int(last_id) + 1 if last_id.isascii() and last_id.isdigit() and len(last_id) < 16 else here.told.total
    if here.streams >= MAX_STREAMS:
        raise ControlError(429, "TOO_MANY", f"the events of this cluster have {MAX_STREAMS} readers already")

    async def stream() -> AsyncIterator[str | bytes]:
        here.streams += 1
        try:
            async for text in _lines(here, after, matches, query.overview):
                yield text
        except ControlError:  # the cluster stops
            pass
        finally:
            here.streams -= 1

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _lines(
    here: HostedCluster, number: int, matches: Callable[[Event], bool], with_overview: bool
) -> AsyncIterator[str | bytes]:
    loop = asyncio.get_running_loop()
    observer = here.told
    overview_at_s = alive_at_s = loop.time()
    seen = -1
    has_begun = False
    yield ": the events of a cluster\n\n"
    while not here.changes.ended.is_set():
        if here.told is not observer:  # the cluster was reset
            observer, number = here.told, 0
            yield "event: reset\ndata: {}\n\n"
        changes = here.changes.count
        lines = await here.work.do(here.lines.read(observer, number, matches))
        if lines.missed and has_begun:
            reason = f"the reader is {observer.total - number} events behind, and {lines.missed} of them are gone"
            log.warning("ended a stream of events: %s", reason)
            yield f"event: end\ndata: {json.dumps({'reason': reason})}\n\n"
            return
        parts: list[bytes] = []
        if lines.missed:
            parts.append(b'event: dropped\ndata: {"events": %d}\n\n' % lines.missed)
        parts.append(lines.text)
        number, has_begun = lines.number, True
        now_s = loop.time()
        if with_overview and here.changes.count != seen and now_s >= overview_at_s:
            seen = here.changes.count
            overview_at_s = now_s + _OVERVIEW_S
            parts.append(f"event: overview\ndata: {(await overview(here)).model_dump_json()}\n\n".encode())
        if now_s >= alive_at_s:
            alive_at_s = now_s + _ALIVE_S
            parts.append(b": alive\n\n")
        if text := b"".join(parts):
            yield text
        if lines.is_all:
            is_seen = not with_overview or seen == here.changes.count
            await here.changes.next(changes, (alive_at_s if is_seen else overview_at_s) - loop.time())
            await here.changes.rest(_PAUSE_S)
