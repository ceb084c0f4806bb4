"""OffsetCommit: by members and without a member, for partitions that exist or not, and while replicas lag."""

from __future__ import annotations

from conformance.group_frames import join_group, leave_group
from conformance.group_steps import RANGE, ask, join_anew, nth, two
from conformance.offset_frames import offset_commit, offset_fetch
from conformance.scenario import (
    At,
    AwaitCoordinator,
    AwaitGroup,
    AwaitIsr,
    Case,
    Freeze,
    Listen,
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


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...], timed: tuple[At, ...] = ()) -> Case:
    return Case(f"offset-commit/{what}", why, (AwaitCoordinator("warm"), *steps), topics, "groups", timed)


def _without_members(version: int) -> Case:
    """A client that assigns its partitions by itself."""
    group = f"commit-nobody-v{version}"
    topic = Topic(f"offsets-committed-v{version}", 3)
    name = topic.name
    return _case(
        f"nobody-v{version}",
        "a commit without a member creates a group without members (OffsetMetadataManager.commitOffset)",
        *ask(offset_commit(group, [(name, 0, (5, 1, "here")), (name, 2, (7, -1, None))], version=version)),
        *ask(offset_fetch({group: None})),
        *ask(offset_commit(group, [(name, 0, 4), (name, 1, (0, 0, ""))], version=version)),
        *ask(offset_commit(group, [(name, 1, -1)], version=version)),
        *ask(offset_commit(group, [(name, 1, (-5, -7, "x"))], version=version)),
        *ask(offset_fetch({group: None})),
        topics=(topic,),
    )


def _refused(version: int) -> Case:
    group = f"commit-refused-v{version}"
    topic = Topic(f"offsets-refused-v{version}", 2)
    name = topic.name
    one = [(name, 0, 5)]
    return _case(
        f"refused-v{version}",
        "invalid requests: errors of partitions first, then of the group (handleOffsetCommitRequest)",
        *ask(offset_commit(group, [], version=version)),
        *ask(offset_commit(group, [("nowhere", 0, 5)], version=version)),
        *ask(offset_commit(group, [("nowhere", 0, 5), (name, 0, 5), ("nowhere", 1, 5), (name, 7, 5)], version=version)),
        *ask(offset_commit(group, [(name, -1, 5), (name, 1, 5), (name, 2, 5)], version=version)),
        *ask(offset_commit(group, [(name, 0, 5), (name, 0, 6)], version=version)),
        *ask(offset_commit(group, [(name, 0, (5, -1, "x" * 4_097)), (name, 1, (5, -1, "x" * 4_096))], version=version)),
        *ask(offset_commit(group, [(name, 0, (5, -1, "\U0001f600" * 2_049))], version=version)),
        *ask(offset_commit(group, [(name, 0, (5, -1, "\u00e4" * 4_096))], version=version)),
        *ask(offset_commit("", one, version=version)),
        *ask(offset_commit(group, one, version=version, generation=0)),
        *ask(offset_commit(group, one, version=version, member_id="nobody")),
        *ask(offset_commit(group, one, version=version, member_id="nobody", generation=1)),
        *ask(offset_commit(group, one, version=version, generation=-2)),
        *ask(offset_commit(f"{group}-new", one, version=version, generation=1)),
        *ask(offset_commit(f"{group}-new", one, version=version, generation=1, member_id="nobody")),
        *ask(offset_commit(f"{group}-new", one, version=version, generation=-1, member_id="nobody")),
        *ask(offset_fetch({group: None, "": [(name, [0])], f"{group}-new": None})),
        topics=(topic,),
    )


def _instance(version: int) -> Case:
    group = f"commit-instance-v{version}"
    topic = Topic(f"offsets-instances-v{version}")
    one = [(topic.name, 0, 5)]

    def commit(**values: object) -> tuple[Step, ...]:
        return ask(offset_commit(group, one, version=version, **values))  # type: ignore[arg-type]

    return _case(
        f"static-v{version}",
        "a static member, and a member that only claims to be one (ClassicGroup.validateOffsetCommit)",
        *commit(instance_id="i"),
        *commit(instance_id="i", generation=0),
        *ask(join_group(group, protocols=RANGE, instance_id="i")),
        *commit(instance_id="i", generation=1),
        *commit(instance_id="i", generation=1, member_id="nobody"),
        *commit(instance_id="nobody", generation=1, member_id="nobody"),
        *commit(instance_id="i"),
        topics=(topic,),
    )


def _generations(version: int) -> Case:
    group = f"commit-generation-v{version}"
    topic = Topic(f"offsets-generations-v{version}")
    one = [(topic.name, 0, 5)]

    def commit(member_id: str, generation: int, conn: str = "a") -> tuple[Step, ...]:
        return ask(offset_commit(group, one, version=version, member_id=member_id, generation=generation), conn=conn)

    return _case(
        f"generations-v{version}",
        "members of a stable and of a rebalancing group, and no member (ClassicGroup.validateOffsetCommit)",
        *two(group),
        *commit(nth(1), 2),
        *commit(nth(1), 1),
        *commit(nth(1), 3),
        *commit(nth(1), -1),
        *commit("nobody", 2),
        *commit("", 2),
        *commit("", -1),
        *join_anew(group, 3, conn="c"),
        AwaitGroup(group, "PreparingRebalance", 3),
        *commit(nth(1), 2),
        *commit(nth(2), 1, conn="b"),
        *commit("", -1),
        *ask(leave_group(group, nth(1), nth(2)), conn="d"),
        Settle("c"),
        *commit(nth(1), 2),
        *commit(nth(3), 3, conn="c"),
        *ask(offset_fetch({group: None})),
        topics=(topic,),
    )


def _retention(version: int) -> Case:
    group = f"commit-retention-v{version}"
    topic = Topic(f"offsets-retention-v{version}")
    return _case(
        f"retention-v{version}",
        "the retention time of an offset, set by its client (KIP-211)",
        *ask(offset_commit(group, [(topic.name, 0, 5)], version=version, retention_ms=60_000)),
        *ask(offset_commit(group, [(topic.name, 0, 6)], version=version, retention_ms=0)),
        *ask(offset_commit(group, [(topic.name, 0, 7)], version=version, retention_ms=-2)),
        *ask(offset_fetch({group: None})),
        topics=(topic,),
    )


def _frozen() -> Case:
    topic = Topic("offsets-commit-frozen")
    frame = offset_commit("frozen", [(topic.name, 0, 5)])
    reads = offset_fetch({"frozen": [(topic.name, [0])]}, correlation_id=2)
    stable = offset_fetch({"frozen": [(topic.name, [0])]}, correlation_id=3, require_stable=True)
    return Case(
        "offset-commit/frozen-follower",
        "a commit waits for all in-sync replicas; until then it is not read, and OffsetFetch with require_stable waits",
        (
            AwaitCoordinator("warm"),
            AwaitIsr(_OFFSETS, (1, 2, 3)),
            MoveLeader(_OFFSETS, 1),
            AwaitCoordinator("warm"),
            *ask(offset_commit("frozen", [(topic.name, 0, 4)])),
            Freeze(3),
            Send((frame,)),
            Listen(200),
            *ask(reads, conn="b"),
            Send((stable,), "c"),
            Listen(200, "c"),
            Thaw(3),
            Settle(),
            Settle("c"),
            *ask(reads, conn="b"),
        ),
        (topic,),
        "coordinator",
    )


def _late() -> Case:
    topic = Topic("offsets-commit-late")
    frame = offset_commit("late", [(topic.name, 0, 5)])
    stable = offset_fetch({"late": [(topic.name, [0])]}, correlation_id=3, require_stable=True)
    return Case(
        "offset-commit/frozen-too-long",
        "offsets.commit.timeout.ms: COORDINATOR_NOT_AVAILABLE, and NOT_COORDINATOR for reads; the offset is "
        "written anyway",
        (
            AwaitCoordinator("warm"),
            AwaitIsr(_OFFSETS, (1, 2, 3)),
            MoveLeader(_OFFSETS, 1),
            AwaitCoordinator("warm"),
            Freeze(3),
            Send((frame,)),
            Pause(100),  # else a busy Kafka may read before it writes
            Send((stable,), "c"),
            Settle(),
            Settle("c"),
            Thaw(3),
            *ask(offset_commit("late", [(topic.name, 0, 6)], correlation_id=4)),
            *ask(offset_fetch({"late": None}), conn="b"),
        ),
        (topic,),
        "coordinator",
        (At(1, 1_000, 1_000),),
    )


def _moves() -> Case:
    topic = Topic("offsets-commit-moves")
    return Case(
        "offset-commit/moves",
        "committed offsets are at the next coordinator, and the previous one returns NOT_COORDINATOR",
        (
            AwaitCoordinator("warm"),
            AwaitIsr(_OFFSETS, (1, 2, 3)),
            MoveLeader(_OFFSETS, 1),
            AwaitCoordinator("warm"),
            *ask(offset_commit("moves", [(topic.name, 0, 5)])),
            Pause(_WATERMARK_MS),
            AwaitIsr(_OFFSETS, (1, 2, 3)),
            MoveLeader(_OFFSETS, 2),
            AwaitCoordinator("warm"),
            *ask(offset_commit("moves", [(topic.name, 0, 6)]), offset_fetch({"moves": None}, correlation_id=2)),
            Send((offset_fetch({"moves": None}),), "b", 2),
            Settle("b"),
            Send((offset_commit("moves", [(topic.name, 0, 7)], correlation_id=2),), "b", 2),
            Settle("b"),
            AwaitIsr(_OFFSETS, (1, 2, 3)),
            Pause(_WATERMARK_MS),
            MoveLeader(_OFFSETS, 1),
            AwaitCoordinator("warm"),
            *ask(offset_fetch({"moves": None})),
        ),
        (topic,),
        "coordinator",
    )


CASES: list[Case] = [
    *(_without_members(version) for version in range(2, 11)),
    *(_refused(version) for version in range(2, 11)),
    *(_instance(version) for version in range(7, 11)),
    *(_generations(version) for version in range(2, 11)),
    *(_retention(version) for version in range(2, 5)),
    _frozen(),
    _late(),
    _moves(),
]
