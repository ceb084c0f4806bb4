"""Brokers that do not coordinate: those of a cluster that cannot make the topic, and groups without a name."""

from __future__ import annotations

from conformance.consumer_group_frames import describe as consumer_group_describe
from conformance.consumer_group_frames import join
from conformance.group_frames import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    sync_group,
)
from conformance.group_steps import ask
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import AwaitCoordinator, Case, Step, Topic
from conformance.transactions.frames import (
    add_offsets,
    add_partitions,
    describe_transactions,
    end_txn,
    find_transaction_coordinator,
    init_transactions,
    list_transactions,
    txn_offset_commit,
)


def _asked(group: str, topic: str) -> tuple[bytes, ...]:
    """Every request of a group."""
    one = [(topic, 0, 5)]
    return (
        join_group(group),
        join_group(group, "m"),
        sync_group(group, "m"),
        heartbeat(group, "m"),
        leave_group(group, "m"),
        leave_group(group, "m", version=2),
        describe_groups([group]),
        delete_groups([group]),
        offset_commit(group, one),
        offset_commit(group, one, generation=1, member_id="m"),
        offset_fetch({group: None}),
        offset_fetch({group: [(topic, [0])]}, require_stable=True),
        offset_delete(group, [(topic, [0])]),
        txn_offset_commit("nobody", group, one, producer_id=4_000_012),
        join(group, "m", topic),
        consumer_group_describe(group),
        list_groups(),
    )


def _each(*frames: bytes) -> tuple[Step, ...]:
    return tuple(step for frame in frames for step in ask(frame))


def _groups() -> Case:
    topic = Topic("no-coordinator-groups")
    return Case(
        "no-coordinator/groups",
        "too few brokers for the offsets topic: groups have no coordinator, and nothing is done",
        _each(find_coordinator("g"), find_coordinator("g", version=3), *_asked("g", topic.name)),
        (topic,),
        "no-coordinators",
    )


def _transactions() -> Case:
    topic = Topic("no-coordinator-transactions")
    return Case(
        "no-coordinator/transactions",
        "too few brokers for the transaction log: transactional ids have no coordinator",
        _each(
            find_transaction_coordinator("t"),
            find_transaction_coordinator("t", version=3),
            init_transactions("t"),
            add_partitions("t", {topic.name: (0,)}, producer_id=4_000_012),
            add_partitions("t", {topic.name: (0,)}, producer_id=4_000_012, version=5),
            add_offsets("t", "g", producer_id=4_000_012),
            end_txn("t", producer_id=4_000_012),
            describe_transactions("t"),
            list_transactions(),
        ),
        (topic,),
        "no-coordinators",
    )


def _nameless() -> Case:
    topic = Topic("no-coordinator-nameless")
    return Case(
        "no-coordinator/nameless",
        "an empty group id: INVALID_GROUP_ID, or another error (GroupCoordinatorService.isGroupIdNotEmpty)",
        (AwaitCoordinator("warm"), *_each(*_asked("", topic.name)[:-1])),
        (topic,),
        "groups",
    )


CASES: list[Case] = [_groups(), _transactions(), _nameless()]
