"""Walks over a stream of records: a summary of all, or facts of each.

Theory   `SummaryStream` has the results of `walk`. `FactsStream` reports one record after the other, without an object
         for each; it needs records that a summary has checked.
Units    timestamps and their deltas are milliseconds.
"""

from __future__ import annotations

from mypy_extensions import i64, mypyc_attr

from fakebroker.protocol.record_stream.fields import RecordFields
from fakebroker.protocol.record_walk import (
    LARGEST_SIZE,
    RecordsSummary,
    delta_at,
    skip_headers,
    varint_at,
    walk_whole,
)


class SummaryStream(RecordFields):
    """`walk`, over pieces."""

    def __init__(self, count: i64, check_sizes: bool, largest_size: i64 = LARGEST_SIZE) -> None:
        super().__init__(count, check_sizes, largest_size)
        self._earliest: i64 = 0
        self._latest: i64 = 0
        self._null_keys: i64 = 0
        self._in_order = True

    @property
    def summary(self) -> RecordsSummary:
        return RecordsSummary(self._earliest, self._latest, self._null_keys, self._in_order)

    def whole_records(self, data: bytes, position: i64) -> i64:
        position, index, earliest, latest, null_keys, in_order = walk_whole(
            data,
            position,
            self.index,
            self.count,
            self.check_sizes,
            self.largest_size,
            self._earliest,
            self._latest,
            self._null_keys,
            self._in_order,
        )
        self.index = index
        self._earliest = earliest
        self._latest = latest
        self._null_keys = null_keys
        self._in_order = in_order
        return position

    def on_timestamp(self, delta_ms: int) -> None:
        if self.index == 0:
            self._earliest = self._latest = delta_ms
        elif delta_ms > self._latest:
            self._latest = delta_ms
        elif delta_ms < self._earliest:
            self._earliest = delta_ms

    def on_offset(self, delta: i64) -> None:
        if delta != self.index:
            self._in_order = False

    def on_key(self, size: i64) -> None:
        if size < 0:
            self._null_keys += 1


@mypyc_attr(allow_interpreted_subclasses=True)
class FactsStream(RecordFields):
    """A stream that calls `on_facts` for each record, until `is_stopped`; `index` is the record's number."""

    def __init__(self, count: i64) -> None:
        super().__init__(count, False, LARGEST_SIZE)
        self._delta_ms: int = 0
        self._offset_delta: i64 = 0
        self._key_size: i64 = 0
        self._value_size: i64 = 0

    def on_facts(self, delta_ms: int, offset_delta: i64, key_size: i64, value_size: i64) -> None:
        """Receive a record: its timestamp relative to the base timestamp; sizes of -1 are null."""

    def whole_records(self, data: bytes, position: i64) -> i64:
        end: i64 = len(data)
        start = position
        raw: i64
        key_size: i64
        value_size: i64
        while self.index < self.count and not self.is_stopped:
            try:
                _, position = varint_at(data, start)
                delta, position = delta_at(data, position + 1)
                raw, position = varint_at(data, position)
                offset_delta = (raw >> 1) ^ -(raw & 1)
                raw, position = varint_at(data, position)
                key_size = -1
                if not raw & 1:
                    key_size = raw >> 1
                    position += key_size
                raw, position = varint_at(data, position)
                value_size = -1
                if not raw & 1:
                    value_size = raw >> 1
                    position += value_size
                position = skip_headers(data, position, self.index)
            except IndexError:
                break
            if position > end:
                break
            start = position
            self.on_facts(delta, offset_delta, key_size, value_size)
            self.index += 1
        return start

    def on_timestamp(self, delta_ms: int) -> None:
        self._delta_ms = delta_ms

    def on_offset(self, delta: i64) -> None:
        self._offset_delta = delta

    def on_key(self, size: i64) -> None:
        self._key_size = size

    def on_value(self, size: i64) -> None:
        self._value_size = size

    def on_record_end(self) -> None:
        self.on_facts(self._delta_ms, self._offset_delta, self._key_size, self._value_size)
