"""Frames as messages, by the codec's definitions, and back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    is_flexible,
    request_type,
    response_type,
)
from witness_mutants.wire.fields import places_of, value_at

# The field of a message that has batches.
RECORDS = {"Produce request": "topic_data.partition_data.records", "Fetch response": "responses.partitions.records"}


@cache
def named(api: int, version: int, is_request: bool) -> str:
    """Return the name of a message in the table of facts."""
    kind = (request_type if is_request else response_type)(api, version)
    name, side = re.findall(r"(\w+?)(Request|Response)$", kind.__name__)[0]
    return f"{name} v{version} {side.lower()}"


@dataclass(frozen=True)
class Message:
    """A request, or the response to one. `client_id` is of a request."""

    api: int
    version: int
    is_request: bool
    correlation_id: int
    body: Any
    client_id: str | None = None

    @classmethod
    def request(cls, frame: bytes) -> Self:
        """Read a frame without its length. Raises ProtocolError."""
        api, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        header = decode_request_header(frame, is_flexible(api, version))
        body = decode_request(api, version, frame, header.body_offset)
        return cls(api, version, True, header.correlation_id, body, header.client_id)

    @classmethod
    def response(cls, api: int, version: int, frame: bytes) -> Self:
        """Read a frame without its length. Raises ProtocolError."""
        correlation_id, body = decode_response(api, version, frame)
        return cls(api, version, False, correlation_id, body)

    @property
    def name(self) -> str:
        return named(self.api, self.version, self.is_request)

    @property
    def records(self) -> str | None:
        """Return the field that has batches; None if there is none."""
        return RECORDS.get(re.sub(" v[0-9]+ ", " ", self.name))

    @property
    def has_records(self) -> bool:
        return self.records is not None and any(value_at(self.body, at) for at in places_of(self.body, self.records))

    def with_body(self, body: Any) -> Message:
        return replace(self, body=body)

    def frame(self) -> bytes:
        """Return the whole frame. Raises whatever kio raises for an invalid value."""
        if self.is_request:
            return encode_request(self.body, self.correlation_id, self.client_id)
        return encode_response(self.body, self.correlation_id)
