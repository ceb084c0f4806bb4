"""The events of producers and of their brokers, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.core.journal import events as broker_events
from fakebroker.producer.journal import events as own_events
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.testing.producing.clocks import Clocks

NOTHING: Final = -1


def request_of(event: broker_events.Event) -> int:
    """Return the number of the request of the event, NOTHING if it has none."""
    request: int = getattr(event, "request", NOTHING)
    return request


def merged(
    producer_events: Sequence[ProducerEvent],
    heard: Sequence[broker_events.Event],
    numbers: dict[int, tuple[str, int]],
    clocks: Clocks,
) -> list[ProducerEvent | broker_events.Event]:
    """Return both in causal order: a request is sent before a broker reports it, and its response is received after it
    is sent. All other events are in the order of time; clocks with different rounding may move it by a millisecond. At
    the same time the producer's events come first. The exception is its handling of a response (or a lost connection)
    that the broker has still to report."""
    merged: list[ProducerEvent | broker_events.Event] = []
    at = 0
    latest = _latest_places(producer_events, heard, numbers)
    answered = {
        numbers[event.request]: place + 1
        for place, event in enumerate(heard)
        if isinstance(event, broker_events.Answer) and event.request in numbers
    }
    for event, last in zip(producer_events, latest, strict=True):
        until, now_ms = at, clocks.ms(event)
        while until < len(heard) and clocks.ms(heard[until]) < now_ms:
            until += 1
        until = max(at, min(until, last))
        if isinstance(event, own_events.AnswerReceived | own_events.ResponseHandled):
            about = event.producer, event.correlation_id
            place = until
            while place < len(heard) and clocks.ms(heard[place]) == now_ms:
                place += 1
                if numbers.get(request_of(heard[place - 1])) == about:
                    until = place
            if isinstance(event, own_events.AnswerReceived):
                until = max(until, answered.get(about, 0))
        merged += heard[at:until]
        merged.append(event)
        at = until
    return [*merged, *heard[at:]]


def _latest_places(
    producer_events: Sequence[ProducerEvent], heard: Sequence[broker_events.Event], numbers: dict[int, tuple[str, int]]
) -> list[int]:
    """Return for each event of the producer the latest place in `heard` before which it must be. This is the first
    broker event of this request, or of one sent later."""
    first: dict[tuple[str, int], int] = {}
    for place, event in enumerate(heard):
        if (about := numbers.get(request_of(event))) is not None:
            first.setdefault(about, place)
    latest: list[int] = []
    limit = len(heard)
    for told_event in reversed(producer_events):
        if isinstance(told_event, own_events.RequestSent):
            limit = min(limit, first.get((told_event.producer, told_event.correlation_id), limit))
        latest.append(limit)
    latest.reverse()
    return latest
