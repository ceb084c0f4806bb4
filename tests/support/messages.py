"""Decoded messages, read freely: what has which field is decided by an API's version, and no type knows it."""

from __future__ import annotations

from typing import Any

from fakebroker.protocol import messages


def decode_request(api_key: int, version: int, frame: bytes, offset: int) -> Any:
    return messages.decode_request(api_key, version, frame, offset)


def decode_response(api_key: int, version: int, frame: bytes) -> tuple[int, Any]:
    """Return (correlation id, message)."""
    return messages.decode_response(api_key, version, frame)
