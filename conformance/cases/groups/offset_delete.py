"""OffsetDelete: of groups with and without members."""

from __future__ import annotations

from conformance.group_frames import subscription
from conformance.group_steps import alone, ask, nth
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import AwaitCoordinator, Case, Step, Topic


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...]) -> Case:
    return Case(f"offset-delete/{what}", why, (AwaitCoordinator("warm"), *steps), topics, "groups")


def _without_members() -> Case:
    topic = Topic("offsets-delete-nobody", 3)
    name, group = topic.name, "delete-nobody"
    return _case(
        "nobody",
        "a group without members: existing offsets, unknown ones, and one twice (OffsetMetadataManager.deleteOffsets)",
        *ask(offset_delete(group, [(name, [0])])),
        *ask(offset_commit(group, [(name, 0, 5), (name, 1, 6), (name, 2, 7)])),
        *ask(offset_delete(group, [(name, [0, 0]), ("nowhere", [1]), (name, [7, 1])])),
        *ask(offset_fetch({group: None})),
        *ask(offset_delete(group, [(name, [0])])),
        *ask(offset_delete(group, [("nowhere", [0, 1])])),
        *ask(offset_delete(group, [("nowhere", [])])),
        *ask(offset_delete(group, [(name, [])])),
        *ask(offset_delete(group, [])),
        *ask(offset_delete("", [(name, [0])])),
        *ask(offset_delete("", [])),
        *ask(offset_delete("delete-nowhere", [("nowhere", [0])])),
        *ask(offset_delete(group, [(name, [2])])),
        *ask(offset_fetch({group: None})),
        topics=(topic,),
    )


def _members() -> Case:
    topics = (Topic("offsets-delete-read"), Topic("offsets-delete-unread"))
    read, unread = (topic.name for topic in topics)
    group = "delete-members"
    commit = offset_commit(group, [(read, 0, 5), (unread, 0, 6)], member_id=nth(1), generation=1)
    return _case(
        "members",
        "a group of consumers: offsets of subscribed topics are kept (ClassicGroup.isSubscribedToTopic)",
        *alone(group, protocols=(("range", subscription(read)),)),
        *ask(commit),
        *ask(offset_delete(group, [(read, [0]), (unread, [0]), ("nowhere", [0])])),
        *ask(offset_fetch({group: None})),
        topics=topics,
    )


def _others() -> Case:
    topic = Topic("offsets-delete-others")
    group = "delete-others"
    return _case(
        "others",
        "a group with members that are not consumers: NON_EMPTY_GROUP (ClassicGroup.validateOffsetDelete)",
        *alone(group, sync=False, protocol_type="connect"),
        *ask(offset_delete(group, [(topic.name, [0])])),
        topics=(topic,),
    )


CASES: list[Case] = [_without_members(), _members(), _others()]
