"""The sections of a failed test's report about its cluster: the last events of the journal, and requests in flight."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from fakebroker.core.journal.broker_events import BrokerKilled, BrokerStopped
from fakebroker.core.journal.events import (
    Answer,
    Completed,
    ConnectionClosed,
    Event,
    Expired,
    Parked,
    Produce,
    Request,
)
from fakebroker.core.journal.journal import to_lines
from fakebroker.server.fake_cluster import FakeCluster

_TAIL = 40  # events
_LONG = 120  # characters per field
_CLOCKS = ("mono_ms", "wall_ms")


def sections(kafka: FakeCluster, name: str) -> list[tuple[str, str]]:
    """Return (title, text) sections, none if the cluster keeps no journal."""
    events = _events(kafka)
    if not events:
        return []
    parts = [(f"kafka journal of {name}", _tail(events, kafka.journal.dropped))]
    if waiting := in_flight(events):
        parts.append((f"kafka requests in flight of {name}", "\n".join(waiting)))
    return parts


def write_journal(kafka: FakeCluster, folder: Path, test: str) -> Path:
    """Write the journal, if one is kept, as lines of JSON, and return the path. Read it with
    `fakebroker.core.journal.journal.from_lines`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^\w.-]+", "-", test).strip("-")[-200:] + ".jsonl")
    with path.open("w") as file:
        file.writelines(to_lines(_events(kafka) or []))
    return path


def _events(kafka: FakeCluster) -> list[Event] | None:
    try:
        return list(kafka.journal)
    except RuntimeError:  # journal=0
        return None


def _tail(events: list[Event], dropped: int) -> str:
    before = dropped + max(0, len(events) - _TAIL)
    start_ms = events[0].mono_ms
    lines = [f"... {before} events before these"] if before else []
    lines += [
        f"{event.mono_ms - start_ms:>8} ms  {type(event).__name__:<17} {_fields(event)}" for event in events[-_TAIL:]
    ]
    return "\n".join(lines)


def _fields(event: Event) -> str:
    shown = []
    for name, value in event._asdict().items():
        if name in _CLOCKS or (value in ("", (), None, -1) and name != "acks"):
            continue
        if name == "records":
            value = len(value)
        elif name.endswith("mono_ms"):
            name, value = name.replace("mono_ms", "after_ms"), value - event.mono_ms
            if value == 0:
                continue
        elif isinstance(value, tuple):
            value = ", ".join(map(_item, value))
        shown.append(f"{name}={value!s:.{_LONG}}")
    return " ".join(shown)


def _item(value: object) -> str:
    if isinstance(value, tuple):
        return "-".join(map(str, value[:2])) + "".join(f" {part}" for part in value[2:])
    return str(value)


def in_flight(events: Iterable[Event]) -> list[str]:
    """Return a line for each request without a response on an open connection."""
    requests: dict[int, Request] = {}
    details: dict[int, str] = {}
    last_ms = 0
    for event in events:
        last_ms = max(last_ms, event.mono_ms)
        if isinstance(event, Request):
            requests[event.request] = event
        elif isinstance(event, Answer):
            requests.pop(event.request, None)
        elif isinstance(event, ConnectionClosed):
            requests = {
                number: request for number, request in requests.items() if request.connection != event.connection
            }
        elif isinstance(event, BrokerStopped | BrokerKilled):
            requests = {number: request for number, request in requests.items() if request.broker != event.broker}
        elif isinstance(event, Produce):
            to = ", ".join(f"{topic}-{partition}" for topic, partition in event.partitions)
            details[event.request] = f" acks={event.acks} to {to}"
        elif isinstance(event, Parked):
            details[event.request] = f"{details.get(event.request, '')}, waits for at most {event.timeout_ms} ms"
        elif isinstance(event, Completed | Expired):
            details[event.request] = f"{details.get(event.request, '')}, is over"
    return [
        f"request {request.request}: {request.api} v{request.version} of {request.client_id!r} "
        f"at broker {request.broker}{details.get(request.request, '')}; for {last_ms - request.mono_ms} ms"
        for request in requests.values()
    ]
