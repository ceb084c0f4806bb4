"""Writes that coordinators cannot make because they exceed `max.message.bytes` of their topic: the error codes, and the
state of the group or the transaction afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.group_frames import describe_groups, leave_group, sync_group
from conformance.group_frames import heartbeat as classic_heartbeat
from conformance.group_steps import alone, ask, join_anew, nth, second_joins, synced, two
from conformance.offset_frames import offset_commit, offset_fetch
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, Pause, Send, Settle, Step, Topic
from conformance.transactions.frames import add_partitions, describe_transactions, end_txn, init_transactions

_BOX = "small-batches"
_LARGE = b"x" * 1_000
_PROTOCOLS = (("range", _LARGE),)


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"larger-than-a-batch/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _metadata() -> Case:
    group = "larger-metadata"
    return _case(
        "metadata",
        "JoinGroup writes nothing; the leader's SyncGroup fails, and all members rejoin "
        "(classicGroupSyncToClassicGroup)",
        *alone(group, sync=False, protocols=_PROTOCOLS),
        *ask(describe_groups([group])),
        *ask(sync_group(group, nth(1), 1, {nth(1): b"all"})),
        *ask(classic_heartbeat(group, nth(1), 1)),
        *ask(describe_groups([group])),
        *ask(sync_group(group, nth(1), 1, {nth(1): b"all"})),
        *ask(leave_group(group, nth(1))),
        *ask(describe_groups([group])),
    )


def _assignment() -> Case:
    group = "larger-assignment"
    return _case(
        "assignment",
        "members that wait for an assignment that is too large get the error too",
        *two(group, sync=False),
        Send((sync_group(group, nth(2), 2),), "b"),
        Pause(100),
        *ask(sync_group(group, nth(1), 2, {nth(1): _LARGE, nth(2): b"little"})),
        Settle("b"),
        *ask(describe_groups([group])),
        *ask(classic_heartbeat(group, nth(1), 2)),
        *ask(classic_heartbeat(group, nth(2), 2), conn="b"),
    )


def _second() -> Case:
    group = "larger-second"
    return _case(
        "second",
        "the first member is stable, and the metadata of the second one are too large",
        *alone(group),
        *second_joins(group, protocols=(("range", _LARGE),)),
        *synced(group, 2, {nth(1): b"of the first", nth(2): b"of the second"}),
        *ask(describe_groups([group])),
        *ask(classic_heartbeat(group, nth(1), 2)),
    )


def _static() -> Case:
    group = "larger-static"
    return _case(
        "static",
        "a static member that returns writes the group again",
        *join_anew(group, 1, protocols=_PROTOCOLS, version=3),
        Settle(),
        *ask(describe_groups([group])),
    )


def _commits() -> Case:
    topic = Topic("larger-commits", 40)
    few = [(topic.name, index, (5, -1, "x" * 300)) for index in range(2)]
    many = [(topic.name, index, (7, -1, "x" * 300)) for index in range(40)]
    one = [(topic.name, 0, (9, -1, "x" * 900))]
    return _case(
        "commits",
        "a commit is one batch, with any number of offsets",
        *ask(offset_commit("larger-commits", few)),
        *ask(offset_commit("larger-commits", many)),
        *ask(offset_commit("larger-commits", one)),
        *ask(offset_commit("larger-commits", [*few, *one])),
        *ask(offset_fetch({"larger-commits": None})),
        topics=(topic,),
    )


def _consumer() -> Case:
    group = topic = "larger-consumer"
    names = [f"{topic}-{'x' * 100}-{number}" for number in range(10)]
    return _case(
        "consumer",
        "a KIP-848 member with a subscription that is too large, at first and later; after that Kafka lists it twice",
        *one_by_one(
            join(group, "m", *names),
            describe(group),
            join(group, "m", topic),
            join(group, "n", *names),
            describe(group),
            heartbeat(group, "m", 2, topics=names),
            heartbeat(group, "m", 2),
            heartbeat(group, "m", -1),
        ),
        topics=(Topic(topic, partitions=3),),
    )


def _target() -> Case:
    group = topic = "larger-target"
    return _case(
        "target",
        "the target assignment of a member is too large",
        *one_by_one(join(group, "m", topic), describe(group), heartbeat(group, "m", 2), join(group, "n", topic)),
        topics=(Topic(topic, partitions=300),),
    )


def _transaction() -> Case:
    name = "larger-transaction"
    topics = tuple(Topic(f"larger-transaction-{number}-{'x' * 200}") for number in range(6))
    whole: dict[str, Sequence[int]] = {topic.name: (0,) for topic in topics}
    steps = (
        AwaitTransaction(name),
        *ask(init_transactions(name)),
        *ask(add_partitions(name, {topics[0].name: (0,)})),
        *ask(add_partitions(name, whole)),
        *ask(describe_transactions(name)),
        *ask(add_partitions(name, {topics[1].name: (0,)})),
        *ask(describe_transactions(name)),
        *ask(end_txn(name, commit=False)),
    )
    return Case(
        "transactions-larger-than-a-batch/partitions",
        "a transaction with more partitions than fit into a batch",
        steps,
        topics,
        box=_BOX,
    )


CASES = [
    _metadata(),
    _assignment(),
    _second(),
    _static(),
    _commits(),
    _consumer(),
    _target(),
    _transaction(),
]
