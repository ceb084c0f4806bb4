"""Consumer groups in the APIs of all groups: ListGroups, DescribeGroups, DeleteGroups."""

from __future__ import annotations

from conformance import group_frames
from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.scenario import AwaitCoordinator, Case, Step, Topic

_BOX = "consumer-groups"


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-admin/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _described(version: int) -> Case:
    group = f"cga-described-v{version}"
    frame = group_frames.describe_groups([group], version=version)
    return _case(
        f"described-v{version}",
        "DescribeGroups returns a consumer group as dead up to v5, then with an error (KIP-1043)",
        *one_by_one(join(group, "m"), frame, heartbeat(group, "m", -1), frame),
    )


def _deleted(version: int) -> Case:
    group = f"cga-deleted-v{version}"
    frame = group_frames.delete_groups([group], version=version)
    return _case(
        f"deleted-v{version}",
        "a group can be deleted when it has no members",
        *one_by_one(join(group, "m"), frame, heartbeat(group, "m", -1), frame, describe(group), frame),
    )


def _classic_requests() -> Case:
    group = topic = "cga-classic"
    return _case(
        "classic-requests",
        "requests of the classic protocol for members of the consumer protocol",
        *one_by_one(
            join(group, "m", topic, instance_id="i"),
            group_frames.heartbeat(group, "m", 2),
            group_frames.heartbeat(group, "n", 2),
            group_frames.heartbeat(group, "m", 2, instance_id="j"),
            group_frames.heartbeat(group, "n", 2, instance_id="i"),
            group_frames.sync_group(group, "m", 2),
            group_frames.sync_group(group, "n", 2),
            group_frames.leave_group(group, "n", ("m", "j"), ("n", "i")),
            group_frames.leave_group(group, ("", "i")),
            describe(group),
            group_frames.heartbeat(group, "m", 2),
            group_frames.sync_group(group, "m", 2),
            group_frames.leave_group(group, "m"),
        ),
        topics=(Topic(topic, partitions=1),),
    )


CASES: list[Case] = [
    *(_described(version) for version in (0, 5, 6)),
    *(_deleted(version) for version in (0, 2)),
    _classic_requests(),
]
