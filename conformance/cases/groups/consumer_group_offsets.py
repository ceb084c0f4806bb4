"""Offsets of consumer groups: which members may commit them, at which epoch, and which may fetch them."""

from __future__ import annotations

from conformance.consumer_group_frames import heartbeat, join, one_by_one
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import AwaitCoordinator, Case, Step, Topic

_BOX = "consumer-groups"


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-offsets/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _committed(version: int) -> Case:
    group = topic = f"cgo-commit-v{version}"

    def commit(partition: int, generation: int, member_id: str = "m", **values: str) -> bytes:
        at = [(topic, partition, 10 + partition)]
        return offset_commit(
            group,
            at,
            version=version,
            generation=generation,
            member_id=member_id,
            instance_id=values.get("instance_id"),
        )

    return _case(
        f"commit-v{version}",
        "a commit with the member's epoch, and with an older one for partitions that it owned (KIP-1251); "
        "before v9 refused",
        *one_by_one(
            join(group, "m", topic, instance_id="i"),
            commit(0, 2),
            commit(1, 1),
            commit(1, 3),
            commit(1, 2, "n"),
            commit(1, -1, ""),
            commit(1, 2, instance_id="other"),
            heartbeat(group, "m", 2, instance_id="i", topics=[topic, "cgo-not-there"]),
            join(group, "n", topic),
            heartbeat(group, "m", 3, instance_id="i"),
            commit(0, 2),
            commit(1, 2),
            commit(3, 2),
            commit(2, 3),
            commit(3, 1),
            commit(9, 2),
            heartbeat(group, "n", -1),
            heartbeat(group, "m", -1, instance_id="i"),
            commit(3, -1, ""),
            commit(3, 2),
            offset_fetch({group: None}, version=8),
        ),
        topics=(Topic(topic, partitions=4),),
    )


def _fetched(version: int) -> Case:
    group = topic = f"cgo-fetch-v{version}"

    def fetch(member_id: str | None, epoch: int) -> bytes:
        groups = {group: [(topic, [0])]}
        return offset_fetch(groups, version=version, member_id=member_id, member_epoch=epoch)

    return _case(
        f"fetch-v{version}",
        "from v9 on, a member names its member id and epoch, which must be valid",
        *one_by_one(
            join(group, "m", topic),
            offset_commit(group, [(topic, 0, 5)], version=9, generation=2, member_id="m"),
            *(fetch(name, epoch) for name, epoch in ((None, -1), ("m", 2), ("m", 1), ("m", 3), ("n", 2), (None, 2))),
            *(fetch(name, epoch) for name, epoch in (("m", -1), ("", -1), ("", 0))),
        ),
        topics=(Topic(topic, partitions=1),),
    )


def _deleted() -> Case:
    group, used, unused = "cgo-delete", "cgo-delete-used", "cgo-delete-unused"
    return _case(
        "delete",
        "offsets of topics with a subscription cannot be deleted",
        *one_by_one(
            offset_commit(group, [(used, 0, 1), (unused, 0, 2)], version=9),
            join(group, "m", used),
            offset_delete(group, [(used, [0]), (unused, [0])]),
            offset_fetch({group: None}, version=8),
            heartbeat(group, "m", -1),
            offset_delete(group, [(used, [0])]),
            offset_fetch({group: None}, version=8),
        ),
        topics=(Topic(used, partitions=1), Topic(unused, partitions=1)),
    )


CASES: list[Case] = [
    *(_committed(version) for version in (2, 8, 9, 10)),
    *(_fetched(version) for version in (8, 9, 10)),
    _deleted(),
]
