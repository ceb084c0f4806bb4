"""ListGroups, DescribeGroups and DeleteGroups, every version (apis/groups/)."""

from __future__ import annotations

import pytest
from support.asking import ask, served_versions
from support.classic_members import ClassicMembers
from support.group_harness import GroupHarness
from support.messages import decode_response
from support.requests import request
from support.simulation import SimulatedClient

DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS = 15, 16, 42
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND = 68, 69
READ_DELETE_DESCRIBE_AND_CONFIGS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


@pytest.fixture
def harness() -> GroupHarness:
    return GroupHarness(config={"group.initial.rebalance.delay.ms": "1"})


@pytest.fixture
def client(harness: GroupHarness) -> SimulatedClient:
    return harness.simulation.connect()


@pytest.mark.parametrize("version", served_versions(LIST_GROUPS))
def test_groups_are_listed(harness: GroupHarness, client: SimulatedClient, version: int) -> None:
    ClassicMembers(harness, "g").stable()
    ClassicMembers(harness, "h").join(knows_ids=True)
    groups = ask(client, LIST_GROUPS, version, states_filter=[], types_filter=[]).groups
    assert {group.group_id: group.protocol_type for group in groups} == {"g": "consumer", "h": ""}
    if version >= 4:
        [empty] = ask(client, LIST_GROUPS, version, states_filter=["empty"], types_filter=[]).groups
        assert (empty.group_id, empty.group_state) == ("h", "Empty")
    if version >= 5:
        assert ask(client, LIST_GROUPS, version, states_filter=[], types_filter=["consumer"]).groups == ()


@pytest.mark.parametrize("version", served_versions(DESCRIBE_GROUPS))
def test_groups_are_described(harness: GroupHarness, client: SimulatedClient, version: int) -> None:
    ids = ClassicMembers(harness).stable(2)
    answer = ask(client, DESCRIBE_GROUPS, version, groups=["g", "none"], include_authorized_operations=version >= 3)
    known, unknown = answer.groups
    assert (known.group_state, [member.member_id for member in known.members]) == ("Stable", ids)
    assert (unknown.group_state, unknown.error_code) == ("Dead", GROUP_ID_NOT_FOUND if version >= 6 else 0)
    if version >= 3:
        assert known.authorized_operations == READ_DELETE_DESCRIBE_AND_CONFIGS


@pytest.mark.parametrize("version", served_versions(DELETE_GROUPS))
def test_only_empty_groups_are_deleted(harness: GroupHarness, client: SimulatedClient, version: int) -> None:
    members = ClassicMembers(harness)
    [only] = members.stable()

    def deleted(*groups: str) -> dict[str, int]:
        answer = ask(client, DELETE_GROUPS, version, groups_names=groups)
        return {result.group_id: result.error_code for result in answer.results}

    assert deleted("g", "none", "g") == {"g": NON_EMPTY_GROUP, "none": GROUP_ID_NOT_FOUND}
    members.leave(only)
    assert deleted("g") == {"g": 0}
    assert deleted("g") == {"g": GROUP_ID_NOT_FOUND}
    assert deleted() == {}


def test_what_is_not_committed_yet_is_not_told() -> None:
    harness = GroupHarness(3)
    harness.hold()
    ClassicMembers(harness).join(knows_ids=True)
    assert ask(harness.simulation.connect(), LIST_GROUPS, 4, states_filter=[]).groups == ()
    harness.commit()
    harness.advance(0)
    assert [group.group_id for group in ask(harness.simulation.connect(), LIST_GROUPS, 4, states_filter=[]).groups] == [
        "g"
    ]


def test_requests_behind_a_deletion_are_answered(client: SimulatedClient) -> None:
    deletion = request(DELETE_GROUPS, 2, {"groups_names": ["a", "b"]}, correlation_id=1)
    client.send(deletion + request(LIST_GROUPS, 4, {"states_filter": []}, correlation_id=2))
    assert [
        decode_response(key, version, frame)[0]
        for (key, version), (_, frame) in zip(((DELETE_GROUPS, 2), (LIST_GROUPS, 4)), client.answers, strict=True)
    ] == [1, 2]
