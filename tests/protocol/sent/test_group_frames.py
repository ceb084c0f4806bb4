"""Frames of members, written by hand, are read by kio, in each version that is sent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, is_flexible
from fakebroker.protocol.sent.group_frames import BEAT, COMMIT, FIND, JOIN, LEAVE, SYNC, GroupFrames

LOAD = {FIND: 3, JOIN: 7, BEAT: 4, LEAVE: 4, SYNC: 5, COMMIT: 8}
SIMULATION = {FIND: 3, JOIN: 9, BEAT: 4, LEAVE: 5, SYNC: 5, COMMIT: 9}


def read(api: int, version: int, frame: bytes) -> Any:
    header = decode_request_header(frame[4:], is_flexible(api, version))
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (api, version, 5, "me")
    return decode_request(api, version, frame[4:], header.body_offset)


@pytest.mark.parametrize("versions", [LOAD, SIMULATION])
def test_what_members_say(versions: dict[int, int]) -> None:
    frames = GroupFrames("me", versions)
    assert read(FIND, 3, frames.find_coordinator(5, "g")).key == "g"
    joins = read(JOIN, versions[JOIN], frames.join(5, "g", "m", 600, 700, b"s"))
    assert (joins.group_id, joins.member_id, joins.protocol_type) == ("g", "m", "consumer")
    assert (joins.session_timeout, joins.rebalance_timeout) == (timedelta(seconds=0.6), timedelta(seconds=0.7))
    assert [(protocol.name, protocol.metadata) for protocol in joins.protocols] == [("range", b"s")]
    syncs = read(SYNC, 5, frames.sync(5, "g", "m", 3, {"m": b"x", "n": b"y"}))
    assert (syncs.generation_id, syncs.member_id, syncs.protocol_name) == (3, "m", "range")
    assert [(assignment.member_id, assignment.assignment) for assignment in syncs.assignments] == [
        ("m", b"x"),
        ("n", b"y"),
    ]
    beats = read(BEAT, 4, frames.heartbeat(5, "g", "m", 3))
    assert (beats.group_id, beats.member_id, beats.generation_id) == ("g", "m", 3)
    leaves = read(LEAVE, versions[LEAVE], frames.leave(5, "g", "m"))
    assert [member.member_id for member in leaves.members] == ["m"]
    commits = read(COMMIT, versions[COMMIT], frames.commit(5, "g", "m", 3, {("t", 0): 7, ("t", 1): 8}))
    assert (commits.generation_id_or_member_epoch, commits.member_id) == (3, "m")
    assert [
        (topic.name, part.partition_index, part.committed_offset)
        for topic in commits.topics
        for part in topic.partitions
    ] == [("t", 0, 7), ("t", 1, 8)]
