"""A classic group becomes a consumer group while its members work, and then a classic group again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.consumer_member import ConsumerHarness, error_of, held

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.messages import (
    HeartbeatRequest,
    JoinRequest,
    LeaveRequest,
    LeavingMember,
    MemberProtocol,
    Reply,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.core.groups.group import GroupType
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.group_records.consumer_protocol import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)


class Migrating(ConsumerHarness):
    """A migration with classic members."""

    def __init__(self, brokers: int = 1, **config: str) -> None:
        names = {name.replace("_", "."): value for name, value in config.items()}
        super().__init__(
            brokers,
            config={
                "group.initial.rebalance.delay.ms": "0",
                "group.consumer.assignment.interval.ms": "0",
                **names,
            },
        )
        self.topic("t", 4)

    def classic_join(
        self, member_id: str = "", instance_id: str | None = None, owned: tuple[int, ...] = (), user_data: bytes = b""
    ) -> list[Any]:
        """Return the response of a classic JoinGroup, or its error."""
        subscription = Subscription(("t",), user_data or None, [NamedTopicPartitions("t", owned)] if owned else [])
        request = JoinRequest(
            "g",
            member_id,
            instance_id,
            "client",
            "/10.0.0.1",
            "consumer",
            (MemberProtocol("range", encode_subscription(subscription)),),
            30_000,
            60_000,
            False,
            True,
        )
        return self._classic(lambda shard, reply: shard.classic.join(request, reply))

    def classic_sync(self, member_id: str, generation: int, **assignments: bytes) -> list[SyncAnswer]:
        request = SyncRequest("g", generation, member_id, None, "consumer", "range", assignments)
        return self._classic(lambda shard, reply: shard.classic.sync(request, reply))

    def classic_heartbeat(self, member_id: str, generation: int) -> ErrorCode:
        request = HeartbeatRequest("g", generation, member_id, None)
        return self.write(lambda shard: shard.classic.heartbeat(request)).value

    def _classic(self, operation: Callable[[Any, Any], Any]) -> list[Any]:
        answers: list[Any] = []
        outcome = self.write(lambda shard: operation(shard, Reply(answers.append)))
        self.advance(1)  # a first generation begins with a timer
        return answers or ([error_of(outcome).code] if outcome.error is not None else [])

    def classic_group_of_one(self) -> str:
        """Make a classic group with a stable member in generation 1, which has all partitions; return the id of the
        member."""
        [joined] = self.classic_join()
        assignment = encode_assignment(Assignment([NamedTopicPartitions("t", (0, 1, 2, 3))]))
        [synced] = self.classic_sync(joined.member_id, 1, **{joined.member_id: assignment})
        assert synced.error_code is ErrorCode.none
        return str(joined.member_id)


def told(answer: SyncAnswer) -> list[int]:
    return sorted(
        partition for _, partitions in decode_assignment(answer.assignment).partitions for partition in partitions
    )


def test_there_and_back() -> None:
    harness = Migrating()
    classic = harness.classic_group_of_one()

    joined = harness.join("m", "t")
    assert held(joined) == set()
    described = harness.described()
    assert {member.member_id: member.is_classic for member in described.members} == {classic: True, "m": False}

    # The classic member is told to join again, gives up what it is not to have, and the other one gets it.
    assert harness.classic_heartbeat(classic, 1) is ErrorCode.rebalance_in_progress
    [again] = harness.classic_join(classic, owned=(0, 1, 2, 3))
    assert again.generation_id == 1
    [synced] = harness.classic_sync(classic, 1)
    assert told(synced) == [0, 1]
    assert harness.classic_heartbeat(classic, 1) is ErrorCode.rebalance_in_progress
    [again] = harness.classic_join(classic, owned=(0, 1))
    assert again.generation_id == joined.member_epoch
    [synced] = harness.classic_sync(classic, again.generation_id)
    assert told(synced) == [0, 1]
    topic = harness.topic_id("t")
    assert held(harness.heartbeat("m", joined.member_epoch)) == {(topic, 2), (topic, 3)}
    assert harness.described().state == "Stable"
    assert harness.classic_heartbeat(classic, again.generation_id) is ErrorCode.none

    # The last one of the consumer protocol leaves.
    harness.heartbeat("m", -1)
    group = harness.shard().groups.get("g")
    assert isinstance(group, ClassicGroup)
    assert group.state.value == "PreparingRebalance"
    assert list(group.members) == [classic]
    assert harness.classic_heartbeat(classic, group.generation_id) is ErrorCode.rebalance_in_progress
    [joined_again] = harness.classic_join(classic, owned=(0, 1))
    assert joined_again.leader == classic


def test_another_coordinator_knows_the_group_that_became_classic() -> None:
    harness = Migrating(brokers=2)
    classic = harness.classic_group_of_one()
    harness.join("m", "t")
    harness.heartbeat("m", -1)
    harness.move(2)
    group = harness.shard().groups.get("g")
    assert isinstance(group, ClassicGroup)
    assert list(group.members) == [classic]


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_an_upgrade_may_be_forbidden(policy: str) -> None:
    harness = Migrating(group_consumer_migration_policy=policy)
    harness.classic_group_of_one()
    refused = error_of(harness.beat("m", 0, rebalance_timeout_ms=1, topic_names=["t"], owned=[]))
    assert (refused.code, refused.message) == (
        ErrorCode.group_id_not_found,
        "Cannot upgrade classic group g to consumer group because online upgrade is disabled.",
    )


def test_without_migration_no_classic_member_comes_in() -> None:
    harness = Migrating(group_consumer_migration_policy="disabled")
    harness.join("m", "t")
    assert harness.classic_join() == [ErrorCode.inconsistent_group_protocol]


@pytest.mark.parametrize("policy", ["upgrade", "bidirectional"])
def test_a_downgrade_may_be_forbidden(policy: str) -> None:
    harness = Migrating(group_consumer_migration_policy=policy)
    harness.classic_group_of_one()
    harness.join("m", "t")
    harness.heartbeat("m", -1)
    kind = harness.shard().groups.group("g").type
    assert kind is (GroupType.CONSUMER if policy == "upgrade" else GroupType.CLASSIC)


def test_an_assignor_with_data_of_its_own_forbids_it() -> None:
    harness = Migrating()
    [joined] = harness.classic_join()
    assignment = encode_assignment(Assignment([NamedTopicPartitions("t", (0,))], b"mine"))
    harness.classic_sync(joined.member_id, 1, **{joined.member_id: assignment})
    refused = error_of(harness.beat("m", 0, rebalance_timeout_ms=1, topic_names=["t"], owned=[]))
    assert refused.code is ErrorCode.group_id_not_found
    assert "an unsupported custom assignor is in use" in refused.message


def test_an_empty_group_changes_its_kind_freely() -> None:
    harness = Migrating(group_consumer_migration_policy="disabled")
    classic = harness.classic_group_of_one()
    leave = LeaveRequest("g", (LeavingMember(classic),))
    harness.write(lambda shard: shard.classic.leave(leave))
    harness.join("m", "t")
    assert harness.group().type is GroupType.CONSUMER
    harness.heartbeat("m", -1)
    [joined] = harness.classic_join()
    assert joined.error_code is ErrorCode.none
    assert isinstance(harness.shard().groups.get("g"), ClassicGroup)


def test_a_classic_member_that_does_not_sync_is_put_out() -> None:
    harness = Migrating()
    harness.join("m", "t", rebalance_timeout_ms=300_000)
    [joined] = harness.classic_join()
    assert [member.member_id for member in harness.described().members if member.is_classic] == [joined.member_id]
    for _ in range(2):
        harness.advance(20_000)
        harness.beat("m", harness.group().member("m").member_epoch)
        harness.classic_heartbeat(joined.member_id, joined.generation_id)
    harness.advance(20_000)
    assert [member.member_id for member in harness.described().members] == ["m"]


def test_a_sync_counts_as_a_heartbeat_of_a_classic_member() -> None:
    harness = Migrating()
    harness.join("m", "t", rebalance_timeout_ms=300_000)
    [joined] = harness.classic_join()
    harness.advance(25_000)
    harness.beat("m", harness.group().member("m").member_epoch)
    harness.classic_sync(joined.member_id, joined.generation_id)
    harness.advance(29_000)  # 54 s behind the join; the session timeout is 30 s
    assert joined.member_id in [member.member_id for member in harness.described().members]
    harness.advance(1_000)
    assert [member.member_id for member in harness.described().members] == ["m"]


def test_others_may_take_a_member_out() -> None:
    harness = Migrating()
    harness.join("m", "t")
    harness.join("n", "t", instance_id="i")
    leave = LeaveRequest("g", (LeavingMember("m"), LeavingMember("", "i"), LeavingMember("x"), LeavingMember("y", "i")))
    answer = harness.write(lambda shard: shard.classic.leave(leave)).value
    assert [member.error_code for member in answer.members] == [
        ErrorCode.none,
        ErrorCode.none,
        ErrorCode.unknown_member_id,
        ErrorCode.fenced_instance_id,
    ]
    assert harness.described().state == "Empty"
