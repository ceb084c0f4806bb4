"""Two answers to one sequence, compared: the first command at which they differ, and in what."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

Json = dict[str, Any]

_NUMBER = re.compile(r"\d+")
# Words of Kafka's and of ours that tell a reason, and what they are called here.
_REASONS = {
    "last append": "append",
    "batch creation": "creation",
    "last attempt": "attempt",
    "while allocating": "memory",
    "waited for memory": "memory",
    "while send in progress": "sending",
    "was sent": "sending",
}


class Difference(NamedTuple):
    """The first difference: the command, the field, Kafka's value, our value."""

    at: int
    field: str
    kafka: Any
    ours: Any


def difference(kafka: list[Json], ours: list[Json]) -> Difference | None:
    """The first, or None."""
    for at, (theirs, mine) in enumerate(zip(kafka, ours, strict=True)):
        left, right = normal(theirs), normal(mine)
        for field in left:
            if left[field] != right.get(field):
                return Difference(at, field, left[field], right.get(field))
    return None


def normal(answer: Json) -> Json:
    """Return the results without the words of messages: their numbers, in the order of size, and the reason are
    left."""
    events = [{**event, "text": _told(event["text"])} if "text" in event else event for event in answer["events"]]
    return {**answer, "events": events}


def _told(text: str | list[Any]) -> list[Any]:
    if isinstance(text, list):  # a golden transcript has it so already
        return text
    reason = next((name for words, name in _REASONS.items() if words in text), "")
    return [reason, *sorted(map(int, _NUMBER.findall(text)))]
