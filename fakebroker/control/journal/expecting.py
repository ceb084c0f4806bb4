"""Expectations of Produce requests: the journal is read once for all of them, and each reads only new responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from fakebroker.control.bodies import Expectation
from fakebroker.control.cluster_observer import ClusterObserver
from fakebroker.control.sliced_work import SlicedWork
from fakebroker.core.journal.produced import ProducedPartition, Produces
from fakebroker.core.journal.view import ExpectedResponse, ProduceSelection, ProduceView, view_in_slices, view_of
from fakebroker.protocol.slices import Slices

_LOOKED_AT: Final = 512  # entries in a slice
Topics = Callable[[], list[str]]


class ProducesSoFar:
    """The Produce requests of a cluster in its journal so far. `observer_now` returns its present observer."""

    def __init__(self, observer_now: Callable[[], ClusterObserver], work: SlicedWork) -> None:
        self._now = observer_now
        self._work = work
        self._told: ClusterObserver | None = None
        self._produces = Produces()
        self._read = 0  # events
        self._reading: asyncio.Future[None] | None = None

    async def now(self) -> Produces:
        """Return the requests that the journal has by now. After a reset, or when the journal was cleared, it is
        another object."""
        observer = self._now()
        wanted = observer.total
        while self._told is not observer or self._read < wanted:
            if self._reading is None:
                self._reading = asyncio.ensure_future(self._go_on(observer))
            await asyncio.shield(self._reading)
            if self._now() is not observer:
                observer = self._now()
                wanted = observer.total
        return self._produces

    async def _go_on(self, observer: ClusterObserver) -> None:
        try:
            if self._told is not observer:
                self._told, self._read = observer, 0
            first, events = observer.since(self._read)
            if observer.first >= self._read:  # all events read so far are gone
                self._produces = Produces()
            await self._work.do(self._produces.read(events, first, observer.first))
            self._read = first + len(events)
        finally:
            self._reading = None


class ExpectationMatcher:
    """One expectation, and its matches so far. `topics` returns the existing topics."""

    def __init__(self, body: Expectation, topics: Topics) -> None:
        """Raises ValueError for an error that Kafka does not have."""
        self._wanted = ProduceSelection(body.topic, body.partition, body.client_id)
        self._answered = ExpectedResponse.read(body.error, body.within_ms)
        self._count = body.count
        self._topics = topics
        self._produces: Produces | None = None
        self._answers = 0  # responses that were read
        self._found: dict[int, ProducedPartition] = {}

    def look(self, produces: Produces, dropped: int) -> Slices[ProduceView | None]:
        """Return the matches if the expectation holds, else None."""
        if produces is not self._produces:
            self._produces, self._answers, self._found = produces, 0, {}
        new = produces.answered_since(self._answers)
        self._answers = produces.answers
        for place, number in enumerate(new, 1):
            entry = produces.find(number)
            if entry is not None and self._wanted.has(entry) and self._answered.has(entry):
                self._found[number] = entry
            if place % _LOOKED_AT == 0:
                yield
        if len(self._found) != self._count and (self._count is not None or not self._found):
            return None
        entries = [self._found[number] for number in sorted(self._found) if number >= produces.first]
        view, _ = yield from self._judge(view_of(produces, self._wanted, dropped, self._topics(), entries))
        return view

    def tell(self, produces: Produces, dropped: int) -> Slices[tuple[ProduceView, str | None]]:
        """Return the matches, and the reason why the expectation does not hold; None if it does."""
        there = yield from view_in_slices(produces, self._wanted, dropped, self._topics())
        matches, reason = yield from self._judge(there)
        return (there, reason) if matches is None else (matches, None)

    def _judge(self, view: ProduceView) -> Slices[tuple[ProduceView | None, str | None]]:
        try:
            return (yield from view.expect_in_slices(self._answered, self._count)), None
        except AssertionError as problem:
            return None, str(problem)
