"""Classic groups and their log: written and loaded records, and failed writes."""

from __future__ import annotations

import tracemalloc

import pytest
from support.classic_members import SESSION_MS, ClassicMembers
from support.group_harness import GroupHarness

from fakebroker.core.groups.classic.records import group_metadata_record
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.group_records.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata


def stable(brokers: int = 1, count: int = 2) -> tuple[GroupHarness, ClassicMembers, list[str]]:
    harness = GroupHarness(brokers, config={"group.initial.rebalance.delay.ms": "10"})
    members = ClassicMembers(harness)
    return harness, members, members.stable(count)


def test_a_generation_is_a_record() -> None:
    harness, _, ids = stable()
    (new, empty), (key, value) = harness.records()
    assert new == key == GroupMetadataKey("g")
    assert isinstance(empty, GroupMetadataValue)
    assert (empty.protocol_type, empty.generation, empty.protocol, empty.leader, empty.members) == (
        "",
        0,
        None,
        None,
        (),
    )
    assert isinstance(value, GroupMetadataValue)
    assert (value.protocol_type, value.generation, value.protocol, value.leader) == ("consumer", 1, "range", ids[0])
    said = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
    assert value.members == tuple(
        MemberMetadata(member_id, None, "client", "/10.0.0.1", 300_000, 45_000, said, member_id.encode())
        for member_id in ids
    )


def test_the_next_coordinator_loads_the_group() -> None:
    harness, members, ids = stable(brokers=3)
    before = members.group.describe()
    harness.move(2)
    assert members.group.describe() == before
    assert members.heartbeat(ids[1], 1) is ErrorCode.none
    assert members.sync(ids[1], 1).told.assignment == ids[1].encode()
    harness.advance(SESSION_MS - 1)
    assert members.heartbeat(ids[0], 1) is ErrorCode.none
    harness.advance(1)
    assert list(members.group.members) == [ids[0]], "its session began anew"


def test_a_joining_member_gets_not_coordinator_when_the_coordinator_moves() -> None:
    harness, members, _ = stable(brokers=3)
    waits = members.join()
    assert waits.answer is None
    harness.move(2)
    assert waits.told.error_code is ErrorCode.not_coordinator


def test_a_syncing_member_gets_not_coordinator_when_the_coordinator_moves() -> None:
    harness, members, ids = stable(brokers=3)
    for member_id in ids:
        members.join(member_id)
    members.join(ids[0])
    again = [members.join(member_id) for member_id in ids]
    generation = next(request.answer.generation_id for request in again if request.answer is not None)
    waits = members.sync(ids[1], generation)
    assert waits.answer is None
    harness.move(2)
    assert waits.told.error_code is ErrorCode.not_coordinator


@pytest.mark.parametrize(
    ("append", "told"),
    [
        (ErrorCode.not_enough_replicas, ErrorCode.coordinator_not_available),
        (ErrorCode.not_leader_or_follower, ErrorCode.not_coordinator),
        (ErrorCode.message_too_large, ErrorCode.unknown_server_error),
        (ErrorCode.invalid_topic_exception, ErrorCode.invalid_topic_exception),
    ],
)
def test_an_assignment_that_cannot_be_written_is_taken_back(append: ErrorCode, told: ErrorCode) -> None:
    harness, members, ids = stable()
    first = members.join(ids[0])
    second = members.join(ids[1])
    assert first.told.generation_id == second.told.generation_id == 2
    waits = members.sync(ids[1], 2)
    harness.fail_next_append(append)
    assert members.sync(ids[0], 2, {ids[0]: b"new"}).told.error_code is told
    assert waits.told.error_code is told
    assert members.group.state_name() == "PreparingRebalance"
    assert {member.assignment for member in members.group.members.values()} == {b""}
    again = [members.join(member_id) for member_id in ids]
    assert {request.told.generation_id for request in again} == {3}


def test_a_group_that_cannot_be_written_is_none() -> None:
    harness = GroupHarness()
    members = ClassicMembers(harness)
    harness.fail_next_append(ErrorCode.not_enough_replicas)
    assert members.join().told.error_code is ErrorCode.coordinator_not_available
    assert harness.shard().groups.get("g") is None


def test_a_static_member_that_cannot_be_written_has_its_old_id() -> None:
    harness = GroupHarness(config={"group.initial.rebalance.delay.ms": "10"})
    members = ClassicMembers(harness)
    joined = members.join(instance_id="one")
    harness.advance(10)
    old = joined.told.member_id
    members.sync(old, 1, {old: b"all"}, instance_id="one")
    harness.fail_next_append(ErrorCode.not_enough_replicas)

    refused = members.join(instance_id="one").told

    assert (refused.error_code, refused.member_id) == (ErrorCode.coordinator_not_available, "")
    assert refused.leader == old
    assert members.heartbeat(old, 1, instance_id="one") is ErrorCode.none
    members.group.roster.check_invariants()


def test_an_assignment_is_returned_after_its_commit() -> None:
    harness, members, ids = stable(brokers=3)
    again = [members.join(member_id) for member_id in ids]
    assert {request.told.generation_id for request in again} == {2}
    harness.hold()
    syncs = [members.sync(ids[1], 2), members.sync(ids[0], 2, {ids[1]: b"all"})]
    harness.advance(100)
    assert all(sync.answer is None for sync in syncs)
    assert members.group.state_name() == "CompletingRebalance"
    harness.commit()
    harness.advance(0)
    assert [sync.told.assignment for sync in syncs] == [b"all", b""]


def test_in_time_or_not_at_all() -> None:
    harness, members, ids = stable(brokers=3)
    for member_id in ids:
        members.join(member_id)
    harness.hold()
    sync = members.sync(ids[0], 2)
    harness.advance(4_999)
    assert sync.answer is None
    harness.advance(1)
    assert sync.told.error_code is ErrorCode.coordinator_not_available


def test_an_assignment_larger_than_a_batch_is_refused_and_not_even_encoded() -> None:
    _, members, [leader, *_] = stable(count=1)
    large = {leader: b"x" * 2_000_000}
    joined = members.join(leader).told
    tracemalloc.start()
    try:
        synced = members.sync(leader, joined.generation_id, large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert synced.told.error_code is ErrorCode.unknown_server_error
    assert peak < 500_000


def test_the_least_size_of_a_generation_is_told() -> None:
    _, members, ids = stable()
    assignment = dict.fromkeys(ids, b"x" * 1_000)
    record = group_metadata_record(members.group, assignment)
    assert record.value is not None
    assert 2_000 < record.least_bytes <= len(record.value.encode())
