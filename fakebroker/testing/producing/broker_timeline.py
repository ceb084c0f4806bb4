"""The timeline of one request by the brokers' journal alone; timeline.py also uses the producer's journal.

Theory   The steps are the events of the request, and until its response also those of its partitions: high watermarks,
         ISRs, leaders. These explain the response. While another partition keeps the request parked, the high watermark
         may move many times: only its last value before the next step is kept.
Units    milliseconds of the brokers' clock; `elapsed_ms` counts from the arrival of the request.
Errors   ValueError in one sentence, if the journal does not have it (any more).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fakebroker.core.journal import events
from fakebroker.testing.producing.joining import request_of
from fakebroker.testing.producing.telling import told_of
from fakebroker.testing.producing.timeline import TimelineStep

_OF_A_PARTITION = events.WatermarkMoved | events.IsrChanged | events.LeaderChanged


def steps_of_request(journal: Iterable[events.Event], request: int) -> list[TimelineStep]:
    """Return the steps of a request, by its number in the journal."""
    request_event: events.Request | None = None
    partitions: tuple[tuple[str, int], ...] = ()
    steps: list[TimelineStep] = []
    watermarks: dict[tuple[str, int], TimelineStep] = {}  # since the last other step; the last one of each partition
    for event in journal:
        if request_event is None:  # most of the journal, so this comes first
            if type(event) is not events.Request or event.request != request:
                continue
            request_event = event
        is_of_partition = isinstance(event, _OF_A_PARTITION) and (event.topic, event.partition) in partitions
        if is_of_partition and isinstance(event, events.WatermarkMoved):
            watermarks.pop((event.topic, event.partition), None)
            watermarks[event.topic, event.partition] = _step(event, request_event)
        elif is_of_partition or request_of(event) == request:
            steps += [*watermarks.values(), _step(event, request_event)]
            watermarks.clear()
        if isinstance(event, events.Produce) and event.request == request:
            partitions = event.partitions
        elif isinstance(event, events.Answer) and event.request == request:
            break
    steps += watermarks.values()
    if not steps:
        raise ValueError(f"the journal has no request {request}")
    return steps


def steps_of_offset(journal: Sequence[events.Event], topic: str, partition: int, offset: int) -> list[TimelineStep]:
    """Return the steps of the request that wrote this offset, the last one if there are several."""
    for event in reversed(journal):
        if (
            isinstance(event, events.Append)
            and (event.topic, event.partition, event.error) == (topic, partition, events.NO_ERROR)
            and not event.is_duplicate
            and event.base_offset <= offset <= event.last_offset
        ):
            return steps_of_request(journal, event.request)
    raise ValueError(f"the journal has no request that wrote offset {offset} of {topic}-{partition}")


def _step(event: events.Event, request: events.Request) -> TimelineStep:
    elapsed_ms = event.mono_ms - request.received_mono_ms
    where = f"broker {request.broker}"
    return TimelineStep(elapsed_ms, event.mono_ms, event.wall_ms, where, request.correlation_id, told_of(event), event)
