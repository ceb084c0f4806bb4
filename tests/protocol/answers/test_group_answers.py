"""The answers to JoinGroup, SyncGroup and Heartbeat by hand and by kio: all versions, byte for byte."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.answers.group_answers import encode_heartbeat, encode_join_group, encode_sync_group
from fakebroker.protocol.answers.pieces import FrameInPieces
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type

texts = st.text(max_size=200)
names = st.none() | texts
data = st.binary(max_size=300) | st.integers(65_530, 65_540).map(bytes)  # large ones are not copied
i32s = st.integers(-(1 << 31), (1 << 31) - 1)
throttles = st.integers(0, (1 << 31) - 1)
codes = st.sampled_from(ErrorCode)
members = st.lists(st.tuples(texts, names, data), max_size=200)


def whole(frame: bytes | FrameInPieces) -> bytes:
    return frame if isinstance(frame, bytes) else frame.join()


def by_kio(key: int, version: int, correlation_id: int, **values: Any) -> bytes:
    return encode_response(build(response_type(key, version), values), correlation_id)


@given(st.integers(0, 4), i32s, throttles, codes)
def test_heartbeat(version: int, correlation_id: int, throttle_ms: int, code: ErrorCode) -> None:
    expected = by_kio(12, version, correlation_id, throttle_time=timedelta(milliseconds=throttle_ms), error_code=code)
    assert encode_heartbeat(version, correlation_id, throttle_ms, code) == expected


@given(st.integers(0, 5), i32s, throttles, codes, names, names, data)
def test_sync_group(
    version: int,
    correlation_id: int,
    throttle_ms: int,
    code: ErrorCode,
    protocol_type: str | None,
    protocol_name: str | None,
    assignment: bytes,
) -> None:
    assert whole(
        encode_sync_group(version, correlation_id, throttle_ms, code, protocol_type, protocol_name, assignment)
    ) == by_kio(
        14,
        version,
        correlation_id,
        throttle_time=timedelta(milliseconds=throttle_ms),
        error_code=code,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignment=assignment,
    )


@given(st.integers(0, 9), i32s, throttles, codes, i32s, names, names, texts, st.booleans(), texts, members)
def test_join_group(
    version: int,
    correlation_id: int,
    throttle_ms: int,
    code: ErrorCode,
    generation_id: int,
    protocol_type: str | None,
    protocol_name: str | None,
    leader: str,
    skip_assignment: bool,
    member_id: str,
    others: list[tuple[str, str | None, bytes]],
) -> None:
    """Before version 7 there is no null for no protocol."""
    frame = encode_join_group(
        version,
        correlation_id,
        throttle_ms,
        code,
        generation_id,
        protocol_type,
        protocol_name,
        leader,
        skip_assignment,
        member_id,
        others,
    )
    assert whole(frame) == by_kio(
        11,
        version,
        correlation_id,
        throttle_time=timedelta(milliseconds=throttle_ms),
        error_code=code,
        generation_id=generation_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name or (None if version >= 7 else ""),
        leader=leader,
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=[
            {"member_id": each_id, "group_instance_id": instance_id, "metadata": metadata}
            for each_id, instance_id, metadata in others
        ],
    )


def test_large_metadata_are_not_copied_into_the_answer() -> None:
    others = [(f"m{number}", None, b"x" * 1_048_576) for number in range(10)]
    tracemalloc.start()
    try:
        frame = encode_join_group(9, 1, 0, 0, 1, "consumer", "range", "m0", False, "m0", others)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(frame, FrameInPieces)
    assert frame.size > 10 * 1_048_576
    assert peak < 65_536
    assert [part for part in frame.take(frame.size) if len(part) == 1_048_576] == [member[2] for member in others]
