"""Partitions of a fetch session: their errors, their topics that are deleted and created, their leaders."""

from __future__ import annotations

from uuid import UUID

from conformance.frames import create_topics
from conformance.scenario import Case, CatchUp, DeleteTopic, MoveLeader, Send, Settle, Step, Topic
from conformance.session_ids import session
from conformance.session_steps import ONE, asked, fetch, fill, session_case

_EPOCH = Topic("fetch-session-epoch")
_DELETED = Topic("fetch-session-deleted")
_DELETED_ID = Topic("fetch-session-deleted-id")
_AGAIN = Topic("fetch-session-again")
_AGAIN_ID = Topic("fetch-session-again-id")
_MOVED = Topic("fetch-session-moved", replicas=3)
_ZERO = UUID(int=0)
_ZEROS = Topic("fetch-session-zeros", 2)
_SHARDS = Topic("fetch-session-shards")
_DIVERGING = Topic("fetch-session-diverging")


def _create(name: str) -> tuple[Step, ...]:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return Send((create_topics([topic], version=4, correlation_id=800),), conn="maker"), Settle("maker"), CatchUp()


CASES: list[Case] = [
    session_case(
        "leader-epochs",
        "errors of a partition are returned each time, and what follows them is returned again",
        _EPOCH,
        *fill(_EPOCH),
        *asked(
            fetch(1, {_EPOCH.name: {0: 1}}, part={"current_leader_epoch": 5}),
            fetch(2, id=ONE, epoch=1),
            fetch(3, {_EPOCH.name: {0: 1}}, id=ONE, epoch=2, part={"current_leader_epoch": 0}),
            fetch(4, id=ONE, epoch=3),
            fetch(5, {_EPOCH.name: {0: 7}}, id=ONE, epoch=4),
            fetch(6, id=ONE, epoch=5),
            fetch(7, {_EPOCH.name: {0: 1}}, id=ONE, epoch=6),
        ),
    ),
    session_case(
        "diverging",
        "diverging epochs are returned each time",
        _DIVERGING,
        *fill(_DIVERGING),
        *asked(
            fetch(1, {_DIVERGING.name: {0: 1}}, part={"last_fetched_epoch": 0}),
            fetch(2, {_DIVERGING.name: {0: 1}}, id=ONE, epoch=1, part={"last_fetched_epoch": 3}),
            fetch(3, id=ONE, epoch=2),
            fetch(4, {_DIVERGING.name: {0: 5}}, id=ONE, epoch=3, part={"last_fetched_epoch": 0}),
            fetch(5, {_DIVERGING.name: {0: 1}}, id=ONE, epoch=4, part={"last_fetched_epoch": 0}),
            fetch(6, {_DIVERGING.name: {0: 1}}, id=ONE, epoch=5, part={"last_fetched_epoch": 0}),
        ),
    ),
    *(
        session_case(
            f"deleted-v{version}",
            "a topic of the session is deleted: the session keeps its name, so the error is UNKNOWN_TOPIC_OR_PARTITION",
            topic,
            *fill(topic),
            *asked(fetch(1, {name: {0: 0}}, version=version)),
            DeleteTopic(topic.name),
            CatchUp(),
            *asked(
                fetch(2, version=version, id=ONE, epoch=1),
                fetch(3, version=version, id=ONE, epoch=2),
                fetch(4, {name: {0: 0}}, version=version, id=ONE, epoch=3),
                fetch(5, {name: {1: 0}}, version=version, id=ONE, epoch=4),
                fetch(6, {name: {0: 0}}, version=version, epoch=-1),
            ),
        )
        for version, topic, name in ((12, _DELETED, _DELETED.name), (13, _DELETED_ID, _DELETED_ID.placeholder))
    ),
    *(
        session_case(
            f"made-again-v{version}",
            "a topic is deleted and created again: by name it is the same, by id it is not (INCONSISTENT_TOPIC_ID)",
            topic,
            *fill(topic),
            *asked(fetch(1, {name: {0: 0}}, version=version)),
            DeleteTopic(topic.name),
            *_create(topic.name),
            *asked(
                fetch(2, version=version, id=ONE, epoch=1),
                fetch(3, version=version, id=ONE, epoch=2, wait_ms=100),
                fetch(4, {name: {0: 0}}, version=version, id=ONE, epoch=3),
                fetch(5, {name: {0: 0}}, version=version, epoch=-1),
            ),
        )
        for version, topic, name in ((12, _AGAIN, _AGAIN.name), (13, _AGAIN_ID, _AGAIN_ID.placeholder))
    ),
    session_case(
        "moved-v17",
        "the leader moves: each response has the error and the new leader",
        _MOVED,
        *fill(_MOVED),
        *asked(fetch(1, {_MOVED.placeholder: {0: 1}}, version=17, part={"current_leader_epoch": 0})),
        MoveLeader(_MOVED.name, 2),
        CatchUp(),
        *asked(
            fetch(2, version=17, id=ONE, epoch=1),
            fetch(3, version=17, id=ONE, epoch=2),
            fetch(4, {_MOVED.placeholder: {0: 1}}, version=17, id=ONE, epoch=3),
        ),
        box="three",
    ),
    session_case(
        "zeros-v13",
        "the zero topic id in a session: UNKNOWN_TOPIC_ID; named again it gets UNKNOWN_SERVER_ERROR until it "
        "is forgotten",
        _ZEROS,
        *fill(_ZEROS),
        *asked(
            fetch(1, {_ZERO: {0: 0}}, version=13),
            fetch(2, version=13, id=ONE, epoch=1),
            fetch(3, {_ZERO: {1: 0}}, version=13, id=ONE, epoch=2),
            fetch(4, version=13, id=ONE, epoch=3),
            fetch(5, {}, {_ZERO: [1]}, version=13, id=ONE, epoch=4),
            fetch(6, {_ZEROS.placeholder: {0: 0}}, version=13, id=ONE, epoch=5),
            fetch(7, {_ZERO: {0: 0, 1: 0}}, version=13),
        ),
    ),
    session_case(
        "many",
        "several sessions one after the other, in different shards",
        _SHARDS,
        *fill(_SHARDS),
        *asked(
            *(fetch(n, {_SHARDS.name: {0: 0}}) for n in range(1, 11)),
            *(fetch(20 + n, id=session(n), epoch=1) for n in range(1, 11)),
        ),
    ),
]
