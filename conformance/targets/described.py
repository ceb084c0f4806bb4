"""Answers to DescribeTransactions, which kio cannot read: of a transaction that has not begun they tell -1 as its time.

Units    wall milliseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from fakebroker.protocol.error_code import kafka_name

KEY = 65
_FRONT = 9  # the correlation id, no tags, the throttle time


def described_transactions(frame: bytes) -> tuple[dict[str, Any], list[int]]:
    """Version 0 as plain values, and where producer ids stand in it. Raises ValueError if it is something else."""
    reader = _Reader(frame)
    places: list[int] = []
    states = [_state(reader, places) for _ in range(reader.length())]
    reader.tags()
    if reader.at != len(frame):
        raise ValueError(f"{len(frame) - reader.at} bytes behind the answer")
    return {"throttle_time": reader.number(">i", _FRONT - 4), "transaction_states": states}, places


def _state(reader: _Reader, places: list[int]) -> dict[str, Any]:
    code = reader.next(">h")
    says: dict[str, Any] = {
        "error_code": f"{kafka_name(code)}({code})",
        "transactional_id": reader.text(),
        "transaction_state": reader.text(),
        "transaction_timeout": reader.next(">i"),
        "transaction_start_time": reader.next(">q"),
    }
    places.append(reader.at)
    says |= {"producer_id": reader.next(">q"), "producer_epoch": reader.next(">h")}
    says["topics"] = list(_topics(reader))
    reader.tags()
    return says


def _topics(reader: _Reader) -> Iterator[dict[str, Any]]:
    for _ in range(reader.length()):
        yield {"topic": reader.text(), "partitions": [reader.next(">i") for _ in range(reader.length())]}
        reader.tags()


class _Reader:
    """A reader of flexible messages."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame
        self.at = _FRONT

    def number(self, layout: str, at: int) -> int:
        try:
            return int(struct.unpack_from(layout, self._frame, at)[0])
        except struct.error as problem:
            raise ValueError(str(problem)) from problem

    def next(self, layout: str) -> int:
        number = self.number(layout, self.at)
        self.at += struct.calcsize(layout)
        return number

    def length(self) -> int:
        """Return the length of an array or a text, which is a varint of one more."""
        decoded_length, shift = 0, 0
        while True:
            byte = self.next(">B")
            decoded_length |= (byte & 0x7F) << shift
            if byte < 0x80:
                return max(decoded_length - 1, 0)
            shift += 7

    def text(self) -> str:
        size = self.length()
        self.at += size
        if self.at > len(self._frame):
            raise ValueError("a text is cut off")
        return self._frame[self.at - size : self.at].decode()

    def tags(self) -> None:
        if self.next(">B"):
            raise ValueError("there are tagged fields")
