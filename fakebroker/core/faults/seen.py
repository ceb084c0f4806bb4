"""What a predicate sees of a request."""

from __future__ import annotations

from typing import Any, NamedTuple


class Seen(NamedTuple):
    """`request` is kio's message of that version: `seen.request.topic_data[0].name`. None where nothing is read."""

    api: str
    version: int
    broker: int
    client_id: str
    connection: int
    listener: str
    request: Any
