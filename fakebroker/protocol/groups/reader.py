"""The reader of JoinGroup, SyncGroup and Heartbeat requests: by hand for usual ones, else by the tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from fakebroker.protocol.groups.requests import HeartbeatRequest, JoinGroupRequest, MemberProtocol, SyncRequest
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, decode_request_in_slices
from fakebroker.protocol.slices import Slices, finish

Request = TypeVar("Request")

_MILLISECOND: Final = timedelta(milliseconds=1)
_ELEMENTS_OF_A_SLICE: Final = 512


def read(
    key: int,
    by_hand: Callable[[int, bytes | LargeFrame, int], Request | None],
    of_kio: Callable[[Any], Slices[Request]],
    version: int,
    frame: bytes | LargeFrame,
    offset: int,
) -> Request:
    """Read the body at the offset. Raises ProtocolError like `messages.decode_request`."""
    request = by_hand(version, frame, offset)
    if request is not None:
        return request
    whole = frame if isinstance(frame, bytes) else frame.join()
    return finish(of_kio(decode_request(key, version, whole, offset)))


def read_in_slices(
    key: int,
    of_kio: Callable[[Any], Slices[Request]],
    version: int,
    frame: bytes | LargeFrame,
    offset: int,
    max_elements: int,
) -> Slices[Request]:
    """Read the body in slices, never by hand. Raises ProtocolError also for more elements than `max_elements`."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    return (yield from of_kio((yield from decode_request_in_slices(key, version, whole, offset, max_elements))))


def join_group_of_kio(request: Any) -> Slices[JoinGroupRequest]:
    protocols: list[MemberProtocol] = []
    for number, protocol in enumerate(request.protocols, 1):
        protocols.append(MemberProtocol(protocol.name, bytes(protocol.metadata)))
        if number % _ELEMENTS_OF_A_SLICE == 0:
            yield
    return JoinGroupRequest(
        request.group_id,
        request.session_timeout // _MILLISECOND,
        getattr(request, "rebalance_timeout", request.session_timeout) // _MILLISECOND,
        request.member_id,
        getattr(request, "group_instance_id", None),
        request.protocol_type,
        tuple(protocols),
        getattr(request, "reason", None),
    )


def sync_group_of_kio(request: Any) -> Slices[SyncRequest]:
    assignments: dict[str, bytes] = {}
    for number, assignment in enumerate(request.assignments, 1):
        assignments[assignment.member_id] = bytes(assignment.assignment)
        if number % _ELEMENTS_OF_A_SLICE == 0:
            yield
    return SyncRequest(
        request.group_id,
        request.generation_id,
        request.member_id,
        getattr(request, "group_instance_id", None),
        getattr(request, "protocol_type", None),
        getattr(request, "protocol_name", None),
        assignments,
    )


def heartbeat_of_kio(request: Any) -> Slices[HeartbeatRequest]:
    yield from ()
    return HeartbeatRequest(
        request.group_id, request.generation_id, request.member_id, getattr(request, "group_instance_id", None)
    )
