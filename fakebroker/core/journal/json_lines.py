"""An event of the journal as a line of JSON, and back.

{"event": "append", "mono_ms": ..., ...}: the fields of the class in their order. `from_json(to_json(event)) == event`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fakebroker.core.journal.events import Answer, Event, PartitionAnswer

_KINDS: dict[str, type[Event]] = {
    re.sub("(?<=.)([A-Z])", r"_\1", kind.__name__).lower(): kind for kind in Event.__args__
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_json(event: Event) -> str:
    """One line, without its end."""
    values: dict[str, Any] = {"event": _NAMES[type(event)], **event._asdict()}
    if isinstance(event, Answer):
        values["partitions"] = [partition._asdict() for partition in event.partitions]
    return json.dumps(values, separators=(",", ":"))


def from_json(line: str) -> Event:
    """The event of a line. Raises ValueError for a line that is none."""
    try:
        values = json.loads(line)
        kind = _KINDS[values.pop("event")]
        if kind is Answer:
            values["partitions"] = [PartitionAnswer(**partition) for partition in values["partitions"]]
        return kind(**{name: _frozen(value) for name, value in values.items()})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"this is no event of a journal: {line.strip()!r}") from error


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if type(value) is list else value
