"""The view of a request for a predicate."""

from __future__ import annotations

from typing import Any, NamedTuple


class SeenRequest(NamedTuple):
    """A request. `request` is kio's message of that version: `seen.request.topic_data[0].name`. It is None before the
    body is read."""

    api: str
    version: int
    broker: int
    client_id: str
    connection: int
    listener: str
    principal: str
    request: Any
