"""Events of producers and of their brokers, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.core.journal import events as broker_events
from fakebroker.producer.journal import events as own_events
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.testing.producing.clocks import Clocks

NOTHING: Final = -1


def request_of(event: broker_events.Event) -> int:
    """The number of the request that it is about, NOTHING if it is about none."""
    request: int = getattr(event, "request", NOTHING)
    return request


def merged(
    told: Sequence[ProducerEvent],
    heard: Sequence[broker_events.Event],
    numbers: dict[int, tuple[str, int]],
    clocks: Clocks,
) -> list[ProducerEvent | broker_events.Event]:
    """Both in the order of time. At one time the producer's come first, but for what it makes of an answer (or of a
    lost connection) that the broker has still to tell of."""
    merged: list[ProducerEvent | broker_events.Event] = []
    at = 0
    for event in told:
        until, now_ms = at, clocks.ms(event)
        while until < len(heard) and clocks.ms(heard[until]) < now_ms:
            until += 1
        if isinstance(event, own_events.AnswerReceived | own_events.ResponseHandled):
            about = event.producer, event.correlation_id
            place = until
            while place < len(heard) and clocks.ms(heard[place]) == now_ms:
                place += 1
                if numbers.get(request_of(heard[place - 1])) == about:
                    until = place
        merged += heard[at:until]
        merged.append(event)
        at = until
    return [*merged, *heard[at:]]
