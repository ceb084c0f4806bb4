"""Decoded messages, read freely: what has which field is decided by an API's version, and no type knows it."""

from __future__ import annotations

from typing import Any

from fakebroker.protocol import messages

_WITH_TIMES = (38, 39, 40)  # of delegation tokens


def decode_request(api_key: int, version: int, frame: bytes, offset: int) -> Any:
    return messages.decode_request(api_key, version, frame, offset)


def decode_response(api_key: int, version: int, frame: bytes) -> tuple[int, Any]:
    """Return (correlation id, message). A time of -1, for none, is 0 in it: kio reads no time before 1970."""
    if api_key in _WITH_TIMES:
        frame = frame.replace(b"\xff" * 8, bytes(8))
    return messages.decode_response(api_key, version, frame)
