"""JoinGroup, SyncGroup and Heartbeat requests by hand and by kio: all versions, whatever the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damage import Damage, damaged, damages, told
from support.message_strategies import messages
from support.slices import count_slices

from fakebroker.protocol.build import build
from fakebroker.protocol.groups.by_hand import read_heartbeat, read_join_group, read_sync_group
from fakebroker.protocol.groups.reader import (
    heartbeat_of_kio,
    join_group_of_kio,
    read,
    read_in_slices,
    sync_group_of_kio,
)
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, encode_request, is_flexible, request_type
from fakebroker.protocol.slices import finish


class Kind(NamedTuple):
    key: int
    versions: range
    by_hand: Callable[[int, Any, int], Any]
    of_kio: Callable[[Any], Any]


JOIN_GROUP = Kind(11, range(10), read_join_group, join_group_of_kio)
HEARTBEAT = Kind(12, range(5), read_heartbeat, heartbeat_of_kio)
SYNC_GROUP = Kind(14, range(6), read_sync_group, sync_group_of_kio)
KINDS = (JOIN_GROUP, HEARTBEAT, SYNC_GROUP)

kinds_and_versions = st.sampled_from([(kind, version) for kind in KINDS for version in kind.versions])


@st.composite
def received_requests(draw: st.DrawFn) -> tuple[Kind, int, bytes, int]:
    """A version, a frame, and where the body starts."""
    kind, version = draw(kinds_and_versions)
    frame = encode_request(draw(messages(request_type(kind.key, version))), 7, "me")[4:]
    return kind, version, frame, decode_request_header(frame, is_flexible(kind.key, version)).body_offset


def three_ways(kind: Kind, version: int, received: bytes, offset: int) -> list[object]:
    return [
        told(lambda: read(kind.key, kind.by_hand, kind.of_kio, version, received, offset)),
        told(lambda: finish(kind.of_kio(decode_request(kind.key, version, received, offset)))),
        told(lambda: finish(read_in_slices(kind.key, kind.of_kio, version, received, offset, 1_000_000))),
    ]


@given(received_requests(), damages)
def test_all_read_the_same_and_find_the_same_fault(request: tuple[Kind, int, bytes, int], damage: Damage) -> None:
    kind, version, frame, offset = request
    by_hand, general, sliced = three_ways(kind, version, damaged(frame, offset, damage), offset)
    assert by_hand == general == sliced


@given(asked=kinds_and_versions, received=st.lists(st.sampled_from([0, 1, 2, 3, 128, 255])).map(bytes))
def test_all_say_the_same_of_any_bytes(asked: tuple[Kind, int], received: bytes) -> None:
    by_hand, general, sliced = three_ways(*asked, received, 0)
    assert by_hand == general == sliced


@given(request=received_requests())
def test_what_is_ordinary_is_read_by_hand(request: tuple[Kind, int, bytes, int]) -> None:
    kind, version, frame, offset = request
    read_request = kind.by_hand(version, frame, offset)
    assert read_request is not None
    assert read_request == finish(kind.of_kio(decode_request(kind.key, version, frame, offset)))


def sync_frame(assignments: int, size: int) -> tuple[bytes, int]:
    assignment_list = [{"member_id": f"m{number}", "assignment": b"x" * size} for number in range(assignments)]
    kind = request_type(14, 3)
    values = {"group_id": "g", "generation_id": 1, "member_id": "m0", "group_instance_id": None}
    frame = encode_request(build(kind, {**values, "assignments": assignment_list}), 7, "me")[4:]
    return frame, decode_request_header(frame, False).body_offset


def test_the_assignments_of_a_thousand_are_read_at_once() -> None:
    frame, offset = sync_frame(1_000, 150)
    large = LargeFrame([frame[:-1]], 1)
    large.copy(frame[-1:])
    request = read_sync_group(3, large, offset)
    assert request is not None
    assert request == read_sync_group(3, frame, offset)
    assert len(request.assignments) == 1_000


@pytest.mark.parametrize(("assignments", "size"), [(2_001, 1), (20, 60_000)])
def test_what_may_take_long_is_not_read_by_hand(assignments: int, size: int) -> None:
    frame, offset = sync_frame(assignments, size)
    assert read_sync_group(3, frame, offset) is None
    request, slices = count_slices(read_in_slices(14, sync_group_of_kio, 3, frame, offset, 10_000))
    assert len(request.assignments) == assignments
    assert slices > 1 or assignments < 1_000
