"""Responses of which a client may see a part: groups, offsets, transactions, members, operations."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.consumer_group_frames import describe, heartbeat, join
from conformance.frames import request
from conformance.group_frames import delete_groups, describe_groups, list_groups
from conformance.offset_frames import offset_commit, offset_fetch
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, Pause, Send, Settle, Step, Topic
from conformance.security.acl_steps import ADMIN, CLIENT, acl_case, admin, host_of
from conformance.transactions.frames import (
    add_partitions,
    describe_transactions,
    end_txn,
    init_transactions,
    list_transactions,
)

_MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"


def _committed(*groups: str, topics: Sequence[Topic]) -> tuple[Step, ...]:
    """Return the steps by which the harness commits offsets, so that the groups exist."""
    offsets = [(topic.name, 0, 5) for topic in topics]
    frames = [offset_commit(group, offsets) for group in groups]
    return (AwaitCoordinator(groups[0]), *admin(*frames))


def _list_groups(what: str, grants: str) -> Case:
    topic = Topic(f"acl-list-{what}")
    groups = [f"acl-list-{what}-{number}" for number in (1, 2)]
    return acl_case(
        f"authorized-parts/list-groups-{what}",
        "handleListGroupsRequest: groups without DESCRIBE permission are left out",
        *(list_groups(version=version) for version in (0, 4, 5)),
        grants=grants.format(groups[0]),
        topics=(topic,),
        before=_committed(*groups, topics=[topic]),
    )


def _offset_fetch(what: str, grants: str) -> Case:
    topics = tuple(Topic(f"acl-offsets-{what}-{number}") for number in (1, 2))
    group = f"acl-offsets-{what}"
    named = [(topic.name, (0,)) for topic in topics]
    return acl_case(
        f"authorized-parts/offset-fetch-{what}",
        "fetchAllOffsetsForGroup leaves out topics, fetchOffsetsForGroup returns an error for them",
        *(offset_fetch({group: None}, version=version) for version in (2, 7, 8, 10)),
        *(offset_fetch({group: named}, version=version) for version in (2, 8, 10)),
        offset_fetch({group: None}, version=9, require_stable=True),
        grants=grants.format(group, topics[0].name),
        topics=topics,
        before=_committed(group, topics=topics),
    )


def _group_operations(what: str, grants: str) -> Case:
    topic, group = Topic(f"acl-operations-{what}"), f"acl-operations-{what}"
    return acl_case(
        f"authorized-parts/describe-groups-{what}",
        "authorized operations in the response (AuthHelper.authorizedOperations)",
        *(describe_groups([group], version=version, operations=True) for version in (3, 5, 6)),
        grants=grants.format(group),
        topics=(topic,),
        before=_committed(group, topics=[topic]),
    )


def _consumers(what: str, grants: str) -> Case:
    topic, group = Topic(f"acl-consumers-{what}"), f"acl-consumers-{what}"
    return acl_case(
        f"authorized-parts/consumer-describe-{what}",
        "handleConsumerGroupDescribe: a group with an assigned topic that the client may not describe",
        *(describe(group, "acl-no-group", version=version, operations=True) for version in (0, 1)),
        grants=grants.format(group, topic.name),
        topics=(topic,),
        before=(AwaitCoordinator(group), *admin(join(group, _MEMBER, topic.name))),
    )


def _pattern(what: str, grants: str) -> Case:
    name, group = f"authorized-parts/pattern-{what}", f"acl-pattern-{what}"
    topics = tuple(Topic(f"acl-pattern-{what}-{number}", partitions=number) for number in (1, 2))
    looked_up = Pause(300)
    beat = Send((heartbeat(group, _MEMBER, 1),), CLIENT, host=host_of(name)), Settle(CLIENT)
    return acl_case(
        name,
        "TopicRegexResolver.filterTopicDescribeAuthorizedTopics: a pattern matches only topics that the client "
        "may describe",
        join(group, _MEMBER, regex=f"acl-pattern-{what}-.*"),
        grants=grants.format(group, topics[1].name),
        topics=topics,
        before=(AwaitCoordinator(group),),
        after=(looked_up, *beat, *admin(describe(group))),
    )


def _commit(what: str, grants: str) -> Case:
    topics = tuple(Topic(f"acl-commit-{what}-{number}") for number in (1, 2))
    group = f"acl-commit-{what}"
    offsets = [(topic.name, index, 7) for topic in topics for index in (0, 3)]
    return acl_case(
        f"authorized-parts/offset-commit-{what}",
        "handleOffsetCommitRequest: only offsets of topics that the client may read are committed",
        *(offset_commit(group, offsets, version=version) for version in (2, 8, 9, 10)),
        grants=grants.format(group, topics[0].name),
        topics=topics,
        before=(AwaitCoordinator(group),),
        after=admin(offset_fetch({group: None})),
    )


def _delete_groups() -> Case:
    topic = Topic("acl-delete-groups")
    groups = [f"acl-delete-groups-{number}" for number in (1, 2)]
    return acl_case(
        "authorized-parts/delete-groups",
        "handleDeleteGroupsRequest: only the group that the client may delete is deleted",
        delete_groups([*groups, "acl-delete-groups-3"]),
        grants=f"GROUP {groups[1]} DELETE",
        topics=(topic,),
        before=_committed(*groups, topics=[topic]),
        after=admin(describe_groups(groups)),
    )


def _transactions(what: str, grants: str) -> Case:
    topics = tuple(Topic(f"acl-transactions-{what}-{number}") for number in (1, 2))
    ids = [f"acl-transactions-{what}-{number}" for number in (1, 2)]
    partitions = {topic.name: (0,) for topic in topics}
    begun: tuple[Step, ...] = ()
    for frame in (init_transactions(ids[0]), add_partitions(ids[0], partitions)):
        begun += (Send((frame,), ADMIN), Settle(ADMIN))
    return acl_case(
        f"transactions-acls/{what}",
        "transactions without permission (handleDescribeTransactionsRequest, handleListTransactionsRequest)",
        describe_transactions(*ids),
        list_transactions(version=1, states=("Ongoing",)),
        grants=grants.format(ids[0], topics[0].name),
        topics=topics,
        before=(AwaitTransaction(ids[0]), *begun),
        after=(*admin(end_txn(ids[0], commit=False)), AwaitTransaction(ids[0], settled=True)),
    )


def _allowed() -> Case:
    """Return a case of a client that may do all of a producer and a consumer."""
    topic, group, transactional_id = Topic("acl-allowed"), "acl-allowed", "acl-allowed"
    return acl_case(
        "authorized-parts/all-allowed",
        "all parts are allowed, by prefixed and literal ACLs",
        offset_commit(group, [(topic.name, 0, 3)]),
        offset_fetch({group: None}),
        describe_groups([group], operations=True),
        request(61, 0, {"topics": [{"name": topic.name, "partition_indexes": (0,)}]}),
        describe_transactions(transactional_id),
        grants=f"TOPIC acl-allow* READ; TOPIC {topic.name} WRITE; GROUP acl-allow* READ; "
        "TRANSACTIONAL_ID acl-allowed WRITE",
        topics=(topic,),
        before=(AwaitCoordinator(group), AwaitTransaction(transactional_id)),
    )


CASES: list[Case] = [
    _list_groups("none", ""),
    _list_groups("one", "GROUP {0} READ"),
    _list_groups("deleted-only", "GROUP {0} DELETE; -GROUP {0} DESCRIBE"),
    _offset_fetch("no-topic", "GROUP {0} DESCRIBE"),
    _offset_fetch("one-topic", "GROUP {0} READ; TOPIC {1} READ"),
    _offset_fetch("no-group", "TOPIC {1} ALL"),
    _group_operations("read", "GROUP {0} READ"),
    _group_operations("all", "GROUP {0} ALL"),
    _group_operations("all-but-delete", "GROUP {0} ALL; -GROUP {0} DELETE"),
    _group_operations("configs", "GROUP {0} DESCRIBE; GROUP {0} ALTER_CONFIGS"),
    _consumers("without-topic", "GROUP {0} READ"),
    _consumers("with-topic", "GROUP {0} READ; TOPIC {1} DESCRIBE"),
    _consumers("without-group", "TOPIC {1} ALL"),
    _pattern("no-topic", "GROUP {0} READ"),
    _pattern("one-topic", "GROUP {0} READ; TOPIC {1} DESCRIBE"),
    _pattern("all-topics", "GROUP {0} READ; TOPIC acl-pattern-all-topics* READ"),
    _commit("one-topic", "GROUP {0} READ; TOPIC {1} READ"),
    _commit("described-only", "GROUP {0} READ; TOPIC {1} DESCRIBE"),
    _delete_groups(),
    _transactions("none", ""),
    _transactions("one-topic", "TRANSACTIONAL_ID {0} DESCRIBE; TOPIC {1} WRITE"),
    _transactions("no-topic", "TRANSACTIONAL_ID {0} WRITE"),
    _allowed(),
]
