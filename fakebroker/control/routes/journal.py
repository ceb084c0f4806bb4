"""The journal: what happened, and whether that is what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from fakebroker.control.answers import named
from fakebroker.control.bodies import Expectation, JournalQuery
from fakebroker.control.errors import ControlError, given
from fakebroker.control.here import Here, Route
from fakebroker.core.journal.events import Event
from fakebroker.core.journal.json_lines import to_json
from fakebroker.core.journal.view import ProduceView

router = APIRouter(prefix="/journal", tags=["journal"], route_class=Route)

_FIELDS = (
    "topic",
    "partition",
    "broker",
    "request",
    "connection",
    "api",
    "client_id",
    "group_id",
    "transactional_id",
    "fault",
)
_IS_SHOWN = 1000  # entries of an answer


class JournalPage(BaseModel):
    """`events` with their numbers (`seq`), the oldest first. `next` is the `after` of the next page, `total` the number
    of the next event that will happen; `dropped` events before these are not kept any more."""

    events: list[dict[str, Any]]
    next: int
    total: int
    dropped: int


class Expected(BaseModel):
    """`entries` are the partitions of requests that matched, or, if it does not hold, what was there instead; the last
    1,000 of them. `reason` says why it does not hold."""

    matches: bool
    reason: str | None
    count: int
    entries: list[dict[str, Any]]


@router.get("")
async def get_journal(here: Here, query: Annotated[JournalQuery, Query()]) -> JournalPage:
    """Events, filtered and page by page. Without `after` the last ones. They are kept from the first call on (from the
    start with --control-port), the last 100,000 of them."""
    told = here.told
    matches = matcher(query)
    if query.after is None:
        first, found = told.since(0)
        chosen = _last(((first + place, event) for place, event in enumerate(found)), matches, query.limit)
        following = told.total
    else:
        first, found = told.since(query.after)
        chosen, following = [], told.total
        for number, event in enumerate(found, first):
            if matches(event):
                if len(chosen) == query.limit:
                    following = chosen[-1][0] + 1
                    break
                chosen.append((number, event))
    lines = [{"seq": number, **json.loads(to_json(event))} for number, event in chosen]
    return JournalPage(events=lines, next=following, total=told.total, dropped=told.journal.dropped)


@router.delete("", status_code=204)
async def clear_journal(here: Here) -> None:
    """Forget all events so far."""
    here.journal.clear()


@router.post("/expect")
async def expect(here: Here, body: Expectation) -> Expected:
    """Whether Produce requests were answered so. With `timeout_ms` it waits until it holds, for so long at most."""

    def there() -> ProduceView:
        return here.journal.produce(topic=body.topic, partition=body.partition, client_id=body.client_id)

    def look() -> ProduceView | None:
        return _try(there(), body)[0]

    with given():  # an error that there is not, before anybody waits for it
        look()

    found = await here.waiting.until(look, body.timeout_ms, body.timeout_wall_ms)
    if found is not None:
        return Expected(matches=True, reason=None, count=len(found), entries=_entries(found))
    view = there()
    found, reason = _try(view, body)
    return Expected(matches=found is not None, reason=reason, count=len(view), entries=_entries(view))


def _try(view: ProduceView, body: Expectation) -> tuple[ProduceView | None, str | None]:
    try:
        return view.expect(body.error, count=body.count, within_ms=body.within_ms), None
    except AssertionError as problem:
        return None, str(problem)


def _entries(view: ProduceView) -> list[dict[str, Any]]:
    return [named(entry) | {"waited_ms": entry.waited_ms} for entry in view[-_IS_SHOWN:]]


def matcher(query: JournalQuery) -> Callable[[Event], bool]:
    """Which events are meant."""
    kinds = None if query.event is None else {kind.strip() for kind in query.event.split(",")}
    wanted = {name: value for name in _FIELDS if (value := getattr(query, name)) is not None}
    if kinds is not None and not kinds <= KINDS.keys():
        unknown = ", ".join(sorted(kinds - KINDS.keys()))
        raise ControlError(422, "INVALID_ARGUMENT", f"there is no event {unknown!a}: there are {', '.join(KINDS)}")
    types = None if kinds is None else {KINDS[kind] for kind in kinds}

    def matches(event: Event) -> bool:
        return (
            (types is None or type(event) in types)
            and all(_has(event, name, value) for name, value in wanted.items())
            and (query.error is None or _has_error(event, query.error))
        )

    return matches


def _has(event: Event, name: str, value: object) -> bool:
    if hasattr(event, name):
        return bool(getattr(event, name) == value)
    if name in ("topic", "partition"):  # of a Produce, or its answer
        place = 0 if name == "topic" else 1
        partitions = getattr(event, "partitions", ())
        return any(isinstance(one, tuple) and one[place] == value for one in partitions)
    return False


def _has_error(event: Event, error: str) -> bool:
    partitions = getattr(event, "partitions", ())
    return getattr(event, "error", None) == error or any(getattr(one, "error", None) == error for one in partitions)


def _last(events: Iterable[tuple[int, Event]], matches: Callable[[Event], bool], limit: int) -> list[tuple[int, Event]]:
    return [each for each in events if matches(each[1])][-limit:]


def _kind(kind: type[Event]) -> str:
    """As json_lines.py spells it."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__).removeprefix("_")


KINDS = {_kind(kind): kind for kind in Event.__args__}
