"""Writers of responses to JoinGroup (versions 0 to 9), SyncGroup (0 to 5) and Heartbeat (0 to 4) by hand: whole
frames."""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.protocol.answers.frame import Frame
from fakebroker.protocol.answers.pieces import FrameInPieces


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
) -> bytes | FrameInPieces:
    """Return the frame. Members are (member id, group instance id, metadata). A missing protocol name is empty before
    version 7."""
    frame = Frame(correlation_id, version >= 6)
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
    return frame.finish()


def encode_sync_group(
    version: int,
    correlation_id: int,
    throttle_time_ms: int,
    error_code: int,
    protocol_type: str | None,
    protocol_name: str | None,
    assignment: bytes,
) -> bytes | FrameInPieces:
    frame = Frame(correlation_id, version >= 4)
    if version >= 1:
        frame.i32(throttle_time_ms)
    frame.i16(error_code)
    if version >= 5:
        frame.text(protocol_type)
        frame.text(protocol_name)
    frame.data(assignment)
    frame.end()
    return frame.finish()


def encode_heartbeat(version: int, correlation_id: int, throttle_time_ms: int, error_code: int) -> bytes:
    frame = Frame(correlation_id, version >= 4)
    if version >= 1:
        frame.i32(throttle_time_ms)
    frame.i16(error_code)
    frame.end()
    return frame.whole()
