"""Writes of a group coordinator that its replicas do not have: the request gets an error, and the change stays or is
undone."""

from __future__ import annotations

from conformance.consumer_group_frames import describe as consumer_group_describe
from conformance.consumer_group_frames import heartbeat as consumer_heartbeat
from conformance.consumer_group_frames import join
from conformance.group_frames import delete_groups, describe_groups, heartbeat, join_group, leave_group, sync_group
from conformance.group_steps import RANGE, alone, ask, nth, nth_static
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import (
    At,
    AwaitCoordinator,
    AwaitIsr,
    Case,
    Freeze,
    MoveLeader,
    Pause,
    Send,
    Settle,
    Step,
    Thaw,
    Topic,
)

_OFFSETS = "__consumer_offsets"
_WATERMARK_MS = 1_200  # followers learn of the watermark by the answer to their next fetch, 500 ms later at most
_LATE = (At(9, 1_000, 1_000),)  # offsets.commit.timeout.ms of the box


def _case(
    what: str,
    why: str,
    *steps: Step,
    topics: tuple[Topic, ...] = (),
    timed: tuple[At, ...] = _LATE,
) -> Case:
    ready = (AwaitCoordinator("warm"), AwaitIsr(_OFFSETS, (1, 2, 3)), MoveLeader(_OFFSETS, 1), AwaitCoordinator("warm"))
    return Case(f"unconfirmed/{what}", why, (*ready, *steps), topics, "coordinator", timed)


def _late(frame: bytes) -> tuple[Step, ...]:
    """Return a request with a write that is not replicated in time."""
    return Freeze(3), Send((frame,)), Settle(), Thaw(3)


def _sync() -> Case:
    group = "unconfirmed-sync"
    assigned = {nth(1): b"all"}
    return _case(
        "sync-group",
        "an assignment is not replicated in time: the group rebalances again (GroupMetadataManager)",
        *alone(group, sync=False),
        *_late(sync_group(group, nth(1), assignments=assigned, correlation_id=9)),
        *ask(describe_groups([group])),
        *ask(heartbeat(group, nth(1), 1)),
        *ask(sync_group(group, nth(1), 1, assigned)),
        *ask(join_group(group, nth(1), protocols=RANGE)),
        *ask(sync_group(group, nth(1), 2, assigned)),
        *ask(describe_groups([group])),
    )


def _join_static() -> Case:
    group = "unconfirmed-static"
    old, new = nth_static(1, "one"), nth_static(2, "one")
    return _case(
        "join-static",
        "a static member returns, and its new member id is not replicated in time: the old member has its place again",
        AwaitCoordinator(group),
        *ask(join_group(group, protocols=RANGE, instance_id="one")),
        *ask(sync_group(group, old, 1, {old: b"all"}, instance_id="one")),
        *_late(join_group(group, protocols=RANGE, instance_id="one", correlation_id=9)),
        *ask(heartbeat(group, old, 1, instance_id="one")),
        *ask(heartbeat(group, new, 1, instance_id="one")),
        *ask(describe_groups([group])),
    )


def _join_new() -> Case:
    group = "unconfirmed-new"
    return _case(
        "join-new",
        "the first member of a new group, while nothing is replicated",
        AwaitCoordinator(group),
        Freeze(3),
        Send((join_group(group, protocols=RANGE, version=3, correlation_id=9),)),
        Settle(),
        Thaw(3),
        Pause(_WATERMARK_MS),
        *ask(describe_groups([group])),
        *ask(join_group(group, nth(1), protocols=RANGE, version=3)),
        *ask(describe_groups([group])),
        timed=(),
    )


def _leave() -> Case:
    group = "unconfirmed-leave"
    return _case(
        "leave-group",
        "the last member leaves, and the empty group is not replicated",
        *alone(group),
        Freeze(3),
        Send((leave_group(group, nth(1), correlation_id=9),)),
        Settle(),
        Thaw(3),
        *ask(describe_groups([group])),
        timed=(),
    )


def _consumer() -> Case:
    topic = Topic("unconfirmed-consumer", 2)
    group = topic.name
    return _case(
        "consumer-heartbeat",
        "a member of a consumer group with a join that is not replicated in time is a member anyway "
        "(CoordinatorRuntime)",
        AwaitCoordinator(group),
        *_late(join(group, "m", topic.name, correlation_id=9)),
        Pause(_WATERMARK_MS),  # what is described is what is committed
        *ask(consumer_group_describe(group)),
        *ask(consumer_heartbeat(group, "m", 1)),
        *ask(consumer_heartbeat(group, "m", -1)),
        topics=(topic,),
    )


def _offset_delete() -> Case:
    topic = Topic("unconfirmed-offset-delete", 2)
    group = topic.name
    return _case(
        "offset-delete",
        "a deletion of offsets that is not replicated in time is done anyway",
        AwaitCoordinator(group),
        *ask(offset_commit(group, [(topic.name, 0, 5), (topic.name, 1, 6)])),
        *_late(offset_delete(group, [(topic.name, [0])], correlation_id=9)),
        Pause(_WATERMARK_MS),
        *ask(offset_fetch({group: None})),
        topics=(topic,),
    )


def _delete_groups() -> Case:
    topic = Topic("unconfirmed-delete-groups")
    group = topic.name
    return _case(
        "delete-groups",
        "a deletion of a group that is not replicated in time is done anyway",
        AwaitCoordinator(group),
        *ask(offset_commit(group, [(topic.name, 0, 5)])),
        *_late(delete_groups([group], correlation_id=9)),
        Pause(_WATERMARK_MS),
        *ask(offset_fetch({group: None}), describe_groups([group], correlation_id=2)),
        topics=(topic,),
    )


def _moves() -> Case:
    """Each on a connection of its own, since each waits."""
    topic = Topic("unconfirmed-moves", 2)
    names = [f"unconfirmed-moves-{number}" for number in range(5)]
    offsets, deleted, gone, classic, leaving = names
    consumers = "unconfirmed-moves-join"
    one = [(topic.name, 0, 5)]
    return _case(
        "moves",
        "the coordinator moves while writes are parked: NOT_COORDINATOR; the next coordinator has the replicated part",
        *(AwaitCoordinator(name) for name in names),
        *ask(*(offset_commit(name, one, correlation_id=number) for number, name in enumerate(names[:3], 1))),
        *ask(join_group(classic, protocols=RANGE, version=3)),
        *ask(join_group(leaving, protocols=RANGE, version=3)),
        *ask(sync_group(leaving, nth(2), 1, {nth(2): b"all"})),
        Pause(_WATERMARK_MS),
        Freeze(3),
        Send((offset_commit(offsets, [(topic.name, 0, 6)]),), "b"),
        Send((offset_delete(deleted, [(topic.name, [0])]),), "c"),
        Send((delete_groups([gone]),), "d"),
        Send((join(consumers, "m", topic.name),), "e"),
        Send((sync_group(classic, nth(1), 1, {nth(1): b"all"}),), "f"),
        Send((leave_group(leaving, nth(2)),), "g"),
        Send((join_group("unconfirmed-moves-new", protocols=RANGE, version=3),), "h"),
        Pause(250),  # broker 2 has them
        MoveLeader(_OFFSETS, 2),
        *(Settle(conn) for conn in "bcdefgh"),
        Thaw(3),
        AwaitCoordinator("warm"),
        Pause(_WATERMARK_MS),
        *_at_the_next(offset_fetch(dict.fromkeys((offsets, deleted, gone)))),
        *_at_the_next(consumer_group_describe(consumers), describe_groups([classic])),
        *_at_the_next(describe_groups([leaving]), heartbeat(classic, nth(1), 1), sync_group(classic, nth(1), 1)),
        AwaitIsr(_OFFSETS, (1, 2, 3)),
        Pause(_WATERMARK_MS),
        MoveLeader(_OFFSETS, 1),
        AwaitCoordinator("warm"),
        topics=(topic,),
        timed=(),
    )


def _at_the_next(*frames: bytes) -> tuple[Step, ...]:
    return tuple(step for frame in frames for step in (Send((frame,), "i", 2), Settle("i")))


CASES: list[Case] = [
    _sync(),
    _join_static(),
    _join_new(),
    _leave(),
    _consumer(),
    _offset_delete(),
    _delete_groups(),
    _moves(),
]
