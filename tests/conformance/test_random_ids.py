"""Ids that clusters make up are the same in every transcript."""

from __future__ import annotations

from datetime import timedelta

from conformance.group_frames import JOIN_GROUP, heartbeat, member
from conformance.random_ids import RandomIds, random_id, random_uuid
from conformance.targets.wire import Sent
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type

JOIN = Sent(JOIN_GROUP, 9)
FIRST, SECOND = "3fb7a0b6-6c0e-4d44-9e23-0e55ac1e3a9c", "b2ff0cf3-35ce-4e0c-8b11-dd9b1d6a9a01"


def joined(leader: str, member_id: str, *others: str) -> bytes:
    values = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "generation_id": 1,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "leader": leader,
        "skip_assignment": False,
        "member_id": member_id,
        "members": [{"member_id": other, "group_instance_id": None, "metadata": b""} for other in others],
    }
    return encode_response(build(response_type(JOIN_GROUP, 9), values), 1)[4:]


def test_ids_are_numbered_as_they_are_told() -> None:
    frame = RandomIds().stand_ins(JOIN, joined(member(FIRST), member(SECOND), member(FIRST), member(SECOND)))

    one, two = member(random_uuid(1)), member(random_uuid(2))
    assert frame == joined(one, two, one, two)


def test_what_the_case_sends_has_the_ids_of_the_cluster() -> None:
    ids = RandomIds()
    ids.stand_ins(JOIN, joined(member(FIRST), member(FIRST)))

    assert ids.real(heartbeat("g", member(random_uuid(1)))) == heartbeat("g", member(FIRST))
    assert ids.real(heartbeat("g", member(random_uuid(2)))) == heartbeat("g", member(random_uuid(2)))


def test_ids_that_the_case_sent_stay() -> None:
    ids = RandomIds()
    ids.real(heartbeat("g", member(FIRST)))

    assert ids.stand_ins(JOIN, joined(member(FIRST), "mine")) == joined(member(FIRST), "mine")


def test_ids_of_the_new_protocol_stand_alone() -> None:
    frame = joined("gTq5oDchQY-HsQqJ9WkC_w", "gTq5oDchQY-HsQqJ9WkC_w-longer")

    assert RandomIds().stand_ins(JOIN, frame) == joined(random_id(1), f"{random_id(1)}-longer")


def test_stand_ins_are_as_long_as_what_they_stand_for() -> None:
    assert len(random_uuid(12)) == len(FIRST)
    assert len(random_id(12)) == 22
