"""SyncGroup, Heartbeat and LeaveGroup, every version (apis/groups/)."""

from __future__ import annotations

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 12, 13, 14
INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, INCONSISTENT_GROUP_PROTOCOL = 24, 25, 23
NOBODY = {"group_id": "g", "generation_id": 1, "member_id": "nobody", "group_instance_id": None}
PROTOCOL = {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}


@pytest.fixture
def client() -> SimulatedClient:
    simulation = Simulation(brokers=1)
    simulation.topic("__consumer_offsets", 1, 1)
    return simulation.connect()


@pytest.mark.parametrize("version", served_versions(SYNC_GROUP))
def test_sync_of_an_unknown_member(client: SimulatedClient, version: int) -> None:
    assert ask(client, SYNC_GROUP, version, **NOBODY | PROTOCOL).error_code == UNKNOWN_MEMBER_ID
    assert ask(client, SYNC_GROUP, version, **NOBODY | PROTOCOL | {"group_id": ""}).error_code == INVALID_GROUP_ID


def test_sync_needs_a_protocol_since_v5(client: SimulatedClient) -> None:
    values = NOBODY | PROTOCOL | {"group_id": "", "protocol_name": None}
    assert ask(client, SYNC_GROUP, 4, **values).error_code == INVALID_GROUP_ID
    assert ask(client, SYNC_GROUP, 5, **values).error_code == INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", served_versions(HEARTBEAT))
def test_heartbeat_of_an_unknown_member(client: SimulatedClient, version: int) -> None:
    assert ask(client, HEARTBEAT, version, **NOBODY).error_code == UNKNOWN_MEMBER_ID
    assert ask(client, HEARTBEAT, version, **NOBODY | {"group_id": ""}).error_code == INVALID_GROUP_ID


@pytest.mark.parametrize("version", served_versions(LEAVE_GROUP))
def test_unknown_members_cannot_leave(client: SimulatedClient, version: int) -> None:
    members = [{"member_id": name, "group_instance_id": None, "reason": None} for name in ("nobody", "neither")]
    values = {"group_id": "g", "member_id": "nobody", "members": members}
    answer = ask(client, LEAVE_GROUP, version, **values)
    if version < 3:
        assert answer.error_code == UNKNOWN_MEMBER_ID
    else:
        assert answer.error_code == 0
        assert [(member.member_id, member.error_code) for member in answer.members] == [
            ("nobody", UNKNOWN_MEMBER_ID),
            ("neither", UNKNOWN_MEMBER_ID),
        ]
    assert ask(client, LEAVE_GROUP, version, **values | {"group_id": ""}).error_code == INVALID_GROUP_ID
