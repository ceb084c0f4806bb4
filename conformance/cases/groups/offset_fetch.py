"""OffsetFetch: some and all, of groups that are there and that are not."""

from __future__ import annotations

from conformance.frames import delete_topics
from conformance.group_steps import alone, ask, nth
from conformance.offset_frames import Offsets, offset_commit, offset_fetch
from conformance.scenario import AwaitCoordinator, Case, CatchUp, Pause, Step, Topic


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...]) -> Case:
    return Case(f"offset-fetch/{what}", why, (AwaitCoordinator("warm"), *steps), topics, "groups")


def _some(version: int) -> Case:
    group = f"fetch-v{version}"
    topics = (Topic(f"offsets-fetched-v{version}", 3), Topic(f"offsets-fetched-too-v{version}"))
    one, two = (topic.name for topic in topics)
    committed: Offsets = [(one, 0, (5, 1, "here")), (one, 2, (7, 3, "")), (two, 0, 8)]

    def fetch(*topic_partitions: tuple[str, list[int]]) -> tuple[Step, ...]:
        return ask(offset_fetch({group: topic_partitions}, version=version))

    return _case(
        f"some-v{version}",
        "partitions with and without an offset, and unknown ones (OffsetMetadataManager.fetchOffsets)",
        *fetch((one, [0])),
        *ask(offset_commit(group, committed)),
        *fetch((one, [0, 1, 2]), (two, [0])),
        *fetch((two, [0, 0]), (one, [7, -1])),
        *fetch((one, [0]), (one, [2])),
        *fetch(("nowhere", [0]), (one, [0]), ("nowhere-else", [])),
        *fetch((one, [])),
        *fetch(),
        *ask(offset_fetch({"": [(one, [0])]}, version=version)),
        topics=topics,
    )


def _all(version: int) -> Case:
    group = f"fetch-all-v{version}"
    topics = (Topic(f"offsets-all-v{version}", 3), Topic(f"offsets-all-too-v{version}"))
    committed: Offsets = [(topics[0].name, 2, (7, 3, "x")), (topics[0].name, 0, 5), (topics[1].name, 0, 8)]
    return _case(
        f"all-v{version}",
        "null topics: all offsets of the group (OffsetMetadataManager.fetchAllOffsets)",
        *ask(offset_fetch({group: None}, version=version)),
        *ask(offset_commit(group, committed)),
        *ask(offset_fetch({group: None}, version=version)),
        *ask(offset_fetch({group: None}, version=version, require_stable=version >= 7)),
        topics=topics,
    )


def _many(version: int) -> Case:
    group = f"fetch-many-v{version}"
    topic = Topic(f"offsets-many-v{version}", 2)
    return _case(
        f"groups-v{version}",
        "several groups, each with its own result (KIP-709)",
        *ask(offset_commit(f"{group}-a", [(topic.name, 0, 5)])),
        *ask(offset_commit(f"{group}-b", [(topic.name, 1, 6)])),
        *ask(
            offset_fetch(
                {f"{group}-b": None, "nobody": [(topic.name, [0])], f"{group}-a": [(topic.name, [0, 1])]},
                version=version,
            )
        ),
        *ask(offset_fetch({}, version=version)),
        topics=(topic,),
    )


def _member(version: int) -> Case:
    group = f"fetch-member-v{version}"
    topic = Topic(f"offsets-member-v{version}")
    topic_partitions = [(topic.name, [0])]

    def fetch(member_id: str | None, epoch: int) -> tuple[Step, ...]:
        return ask(offset_fetch({group: topic_partitions}, version=version, member_id=member_id, member_epoch=epoch))

    return _case(
        f"member-v{version}",
        "a classic group ignores member id and epoch (ClassicGroup.validateOffsetFetch)",
        *alone(group),
        *ask(offset_commit(group, [(topic.name, 0, 5)], member_id=nth(1), generation=1)),
        *fetch(nth(1), 1),
        *fetch("nobody", 7),
        *fetch(None, 3),
        topics=(topic,),
    )


def _deleted(version: int) -> Case:
    group = f"fetch-deleted-v{version}"
    topics = (Topic(f"offsets-deleted-v{version}"), Topic(f"offsets-kept-v{version}"))
    gone, kept = (topic.name for topic in topics)
    return _case(
        f"deleted-topic-v{version}",
        "the offsets of a deleted topic are removed (GroupCoordinatorShard.onTopicsDeleted)",
        *ask(offset_commit(group, [(gone, 0, 5), (kept, 0, 6)])),
        *ask(delete_topics([gone]), conn="b"),
        CatchUp(),
        Pause(500),  # Kafka's coordinator hears of it a moment after the broker
        *ask(offset_fetch({group: None}, version=version)),
        *ask(offset_fetch({group: [(gone, [0]), (kept, [0])]}, version=version)),
        topics=topics,
    )


CASES: list[Case] = [
    *(_some(version) for version in range(1, 11)),
    *(_all(version) for version in range(2, 11)),
    *(_many(version) for version in range(8, 11)),
    *(_member(version) for version in (9, 10)),
    *(_deleted(version) for version in (9, 10)),
]
