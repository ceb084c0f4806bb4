"""The possible points of failure, by the journal of a run without failures.

Theory   For each request there are these failures: it is lost before it is handled; it is handled and its response is
         lost; it gets one of the transient errors of its API that a client has to handle, each at the point where Kafka
         returns it. A point is a fault that fires once, on the n-th request of its API. Another run has nearly the same
         order of requests of each API, whatever their connections do.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import BEFORE_ANSWER, BEFORE_WORK, REQUEST_READ
from fakebroker.core.faults.times import on_call
from fakebroker.core.journal.events import Answer, Event, Produce, Request

# Transient errors: a retry succeeds, possibly after a search for another broker.
PASSING: Final = (
    "NOT_LEADER_OR_FOLLOWER",
    "NOT_ENOUGH_REPLICAS",
    "REQUEST_TIMED_OUT",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "LEADER_NOT_AVAILABLE",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR",
    "CONCURRENT_TRANSACTIONS",
    "NOT_CONTROLLER",
)
_OF_WAITING: Final = ("REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")  # only for Produce with acks=all
_OF_TRANSACTIONS: Final = ("CONCURRENT_TRANSACTIONS",)
_NO_ERRORS: Final = ("ApiVersions",)


class Point(NamedTuple):
    """A failure. `text` describes it."""

    fault: Fault
    text: str

    @property
    def spec(self) -> str:
        """Return the fault in JSON, for `--kafka-failure` and `Fault.from_json(json.loads(...))`."""
        return json.dumps(self.fault.to_json(), separators=(",", ":"))

    @property
    def option(self) -> str:
        """Return the option for a command line."""
        return f"--kafka-failure {shlex.quote(self.spec)}"


def points_of(events: Iterable[Event]) -> list[Point]:
    """Return the points in the order of the requests."""
    requests: dict[int, Request] = {}
    produces: dict[int, Produce] = {}
    answered: set[int] = set()
    for event in events:
        if isinstance(event, Request):
            requests[event.request] = event
        elif isinstance(event, Produce):
            produces[event.request] = event
        elif isinstance(event, Answer) and event.outcome == "sent":
            answered.add(event.request)
    counts: Counter[str] = Counter()
    points: list[Point] = []
    for number, request in requests.items():
        counts[request.api] += 1
        points += _of(request.api, counts[request.api], produces.get(number), number in answered)
    return points


def _of(api: str, call: int, produce: Produce | None, is_answered: bool) -> Iterable[Point]:
    who = f"{api} {call}"
    yield Point(_fault(api, REQUEST_READ, "disconnect", call), f"{who}: the request is lost")
    if not is_answered:
        return
    yield Point(_fault(api, BEFORE_ANSWER, "disconnect", call), f"{who}: it is done, and the answer is lost")
    if api in _NO_ERRORS:
        return
    for error in PASSING:
        if produce is not None and error in _impossible(produce):
            continue
        try:
            fault = Fault({"api": api}, error, on_call(call))
        except ValueError:  # not an error of this API in Kafka
            continue
        done = "nothing is done" if fault.when.at == BEFORE_WORK else "it is done"
        yield Point(fault, f"{who}: {done}, and {error} is answered")


def _impossible(produce: Produce) -> tuple[str, ...]:
    """Return the errors that Kafka never returns for this Produce request."""
    of_waiting = () if produce.acks == -1 else _OF_WAITING
    return of_waiting if produce.transactional_id is not None else of_waiting + _OF_TRANSACTIONS


def _fault(api: str, at: str, do: str, call: int) -> Fault:
    return Fault({"api": api, "at": at}, do, on_call(call))


def sample(points: Sequence[Point], most: int) -> list[Point]:
    """Return at most `most` points, evenly spread."""
    if len(points) <= most:
        return list(points)
    return [points[index * len(points) // most] for index in range(most)]
