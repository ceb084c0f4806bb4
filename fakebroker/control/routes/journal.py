"""The journal: events, and expectations of Produce responses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from fakebroker.cluster.cluster import Cluster
from fakebroker.control.answers import named
from fakebroker.control.bodies import Expectation, JournalQuery
from fakebroker.control.cluster_observer import ClusterObserver
from fakebroker.control.errors import ControlError, given
from fakebroker.control.here import Here, Route
from fakebroker.control.journal.expecting import ExpectationMatcher
from fakebroker.core.faults.table import api_keys
from fakebroker.core.journal.events import Event
from fakebroker.core.journal.json_lines import KINDS, to_json
from fakebroker.core.journal.view import ProduceView
from fakebroker.protocol.error_code import error_from_name, kafka_name
from fakebroker.protocol.slices import Slices
from fakebroker.spelling import known_name

router = APIRouter(prefix="/journal", tags=["journal"], route_class=Route)

_FIELDS = (
    "topic",
    "partition",
    "broker",
    "request",
    "connection",
    "api",
    "client_id",
    "principal",
    "group_id",
    "transactional_id",
    "fault",
)
_IS_SHOWN = 1000  # entries of a response
_LOOKED_AT = 256  # events in a slice
_ENCODED = 16  # events in a slice
_FREED_OF_A_SLICE = 1_024  # events; 100,000 take 19 ms


class JournalPage(BaseModel):
    """`events` with their numbers (`seq`), the oldest first. `next` is the `after` of the next page, `total` the number
    of the next event to come; `dropped` earlier events are gone."""

    events: list[dict[str, Any]]
    next: int
    total: int
    dropped: int


class Expected(BaseModel):
    """`entries` are the last 1,000 partitions of requests that matched, or, if the expectation does not hold, those
    that were there instead. `reason` says why it does not hold."""

    matches: bool
    reason: str | None
    count: int
    entries: list[dict[str, Any]]


@router.get("", response_model=JournalPage)
async def get_journal(here: Here, query: Annotated[JournalQuery, Query()]) -> Response:
    """Events, filtered and page by page. Without `after` the last ones. The last 100,000 are kept, from the first call
    on (from the start with --control-port)."""
    return Response(
        await here.work.do(_page(here.told, query, matcher(here.core, query))), media_type="application/json"
    )


def _page(observer: ClusterObserver, query: JournalQuery, matches: Callable[[Event], bool]) -> Slices[str]:
    """Return a JournalPage."""
    first, events = observer.since(query.after or 0)
    total = following = observer.total
    chosen: list[tuple[int, Event]] = []
    is_last = query.after is None
    for place, event in enumerate(reversed(events) if is_last else events):
        if place % _LOOKED_AT == _LOOKED_AT - 1:
            yield
        if matches(event):
            if len(chosen) == query.limit:
                following = total if is_last else chosen[-1][0] + 1
                break
            chosen.append((total - 1 - place if is_last else first + place, event))
    if is_last:
        chosen.reverse()
    lines: list[str] = []
    for number, event in chosen:
        lines.append(f'{{"seq":{number},{to_json(event)[1:]}')
        if len(lines) % _ENCODED == 0:
            yield
    return f'{{"events":[{",".join(lines)}],"next":{following},"total":{total},"dropped":{observer.journal.dropped}}}'


@router.delete("", status_code=204)
async def clear_journal(here: Here) -> None:
    """Drop all events so far."""
    await here.work.do(_freed(here.told.journal.clear()))


def _freed(events: deque[Event]) -> Slices[None]:
    while events:
        for _ in range(min(_FREED_OF_A_SLICE, len(events))):
            events.popleft()
        yield


@router.post("/expect")
async def expect(here: Here, body: Expectation) -> Expected:
    """Check the responses to Produce requests. With `timeout_ms` it waits until the expectation holds, for so long at
    most."""
    with given():
        expecting = ExpectationMatcher(body, lambda: list(here.core.metadata.topic_names()))

    async def look() -> Slices[ProduceView | None]:
        produces = await here.produces.now()
        return expecting.look(produces, here.told.journal.dropped)

    view = await here.waiting.until(look, body.timeout_ms, body.timeout_wall_ms)
    if view is not None:
        return Expected(matches=True, reason=None, count=len(view), entries=_entries(view))
    produces = await here.produces.now()
    there, reason = await here.work.do(expecting.tell(produces, here.told.journal.dropped))
    return Expected(matches=reason is None, reason=reason, count=len(there), entries=_entries(there))


def _entries(view: ProduceView) -> list[dict[str, Any]]:
    return [named(entry) | {"waited_ms": entry.waited_ms} for entry in view[-_IS_SHOWN:]]


def matcher(core: Cluster, query: JournalQuery) -> Callable[[Event], bool]:
    """Return the filter of a query. Raises ControlError for a name or a broker that there is not."""
    kinds = None if query.event is None else {kind.strip() for kind in query.event.split(",")}
    wanted = {name: value for name in _FIELDS if (value := getattr(query, name)) is not None}
    if kinds is not None and not kinds <= KINDS.keys():
        unknown = ", ".join(sorted(kinds - KINDS.keys()))
        raise ControlError(422, "INVALID_ARGUMENT", f"there is no event {unknown!a}: there are {', '.join(KINDS)}")
    types = None if kinds is None else {KINDS[kind] for kind in kinds}
    with given():
        if query.api is not None:
            wanted["api"] = known_name(query.api, api_keys(), "API")
        if query.broker is not None:
            core.lives.state_of(query.broker)
        error = None if query.error is None else kafka_name(error_from_name(query.error))

    if types is None and not wanted and error is None:
        return lambda event: True

    def matches(event: Event) -> bool:
        return (
            (types is None or type(event) in types)
            and all(_has(event, name, value) for name, value in wanted.items())
            and (error is None or _has_error(event, error))
        )

    return matches


def _has(event: Event, name: str, value: object) -> bool:
    if hasattr(event, name):
        return bool(getattr(event, name) == value)
    if name in ("topic", "partition"):  # of a Produce request, or its response
        place = 0 if name == "topic" else 1
        partitions = getattr(event, "partitions", ())
        return any(isinstance(one, tuple) and one[place] == value for one in partitions)
    return False


def _has_error(event: Event, error: str) -> bool:
    partitions = getattr(event, "partitions", ())
    return getattr(event, "error", None) == error or any(getattr(one, "error", None) == error for one in partitions)
