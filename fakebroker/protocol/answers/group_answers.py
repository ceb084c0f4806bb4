"""Write the answers to JoinGroup (versions 0 to 9), SyncGroup (0 to 5) and Heartbeat (0 to 4) by hand: whole frames.

tests/protocol/answers/test_group_answers.py ties it to kio.

Units    milliseconds.
Source   clients/src/main/resources/common/message/{JoinGroup,SyncGroup,Heartbeat}Response.json @ 4.4
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from librt.strings import BytesWriter, write_i16_be, write_i32_be
from mypy_extensions import mypyc_attr

from fakebroker.protocol.varint import encode_unsigned_varint


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class _Frame:
    """Of a flexible version or not."""

    __slots__ = ("_flexible", "_out")

    def __init__(self, correlation_id: int, flexible: bool) -> None:
        self._flexible = flexible
        self._out = BytesWriter()
        self.i32(correlation_id)
        self.end()

    def i32(self, value: int) -> None:
        write_i32_be(self._out, value)

    def i16(self, value: int) -> None:
        write_i16_be(self._out, value)

    def boolean(self, value: bool) -> None:
        self._out.append(1 if value else 0)

    def text(self, value: str | None) -> None:
        """Whether null may be is not asked."""
        if value is None:
            if self._flexible:
                self._out.append(0)
            else:
                self.i16(-1)
            return
        encoded = value.encode()
        if self._flexible:
            self._compact(len(encoded))
        else:
            self.i16(len(encoded))
        self._out.write(encoded)

    def data(self, value: bytes) -> None:
        self.count(len(value))
        self._out.write(value)

    def count(self, value: int) -> None:
        """Of an array, or of bytes."""
        if self._flexible:
            self._compact(value)
        else:
            self.i32(value)

    def end(self) -> None:
        """Of a struct: nothing is tagged."""
        if self._flexible:
            self._out.append(0)

    def whole(self) -> bytes:
        """With its length."""
        body = self._out.getvalue()
        framed = BytesWriter()
        write_i32_be(framed, len(body))
        framed.write(body)
        return framed.getvalue()

    def _compact(self, value: int) -> None:
        if value < 127:
            self._out.append(value + 1)
        else:
            self._out.write(encode_unsigned_varint(value + 1))


def encode_join_group(
    version: int,
    correlation_id: int,
    throttle_time_ms: int,
    error_code: int,
    generation_id: int,
    protocol_type: str | None,
    protocol_name: str | None,
    leader: str,
    skip_assignment: bool,
    member_id: str,
    members: Sequence[tuple[str, str | None, bytes]],
) -> bytes:
    """Members are (member id, group instance id, metadata). No protocol name is empty before version 7."""
    frame = _Frame(correlation_id, version >= 6)
    if version >= 2:
        frame.i32(throttle_time_ms)
    frame.i16(error_code)
    frame.i32(generation_id)
    if version >= 7:
        frame.text(protocol_type)
        frame.text(protocol_name or None)
    else:
        frame.text(protocol_name or "")
    frame.text(leader)
    if version >= 9:
        frame.boolean(skip_assignment)
    frame.text(member_id)
    frame.count(len(members))
    for each_id, instance_id, metadata in members:
        frame.text(each_id)
        if version >= 5:
            frame.text(instance_id)
        frame.data(metadata)
        frame.end()
    frame.end()
    return frame.whole()


def encode_sync_group(
    version: int,
    correlation_id: int,
    throttle_time_ms: int,
    error_code: int,
    protocol_type: str | None,
    protocol_name: str | None,
    assignment: bytes,
) -> bytes:
    frame = _Frame(correlation_id, version >= 4)
    if version >= 1:
        frame.i32(throttle_time_ms)
    frame.i16(error_code)
    if version >= 5:
        frame.text(protocol_type)
        frame.text(protocol_name)
    frame.data(assignment)
    frame.end()
    return frame.whole()


def encode_heartbeat(version: int, correlation_id: int, throttle_time_ms: int, error_code: int) -> bytes:
    frame = _Frame(correlation_id, version >= 4)
    if version >= 1:
        frame.i32(throttle_time_ms)
    frame.i16(error_code)
    frame.end()
    return frame.whole()
