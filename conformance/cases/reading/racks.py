"""Racks (KIP-392): where brokers stand, and which replica a consumer had better read from."""

from __future__ import annotations

from typing import Any

from conformance.frames import batch, metadata, produce, request
from conformance.scenario import At, Case, CatchUp, Freeze, MoveLeader, Pause, Send, Settle, Step, Thaw, Topic
from conformance.session_steps import NOBODY, ONE, asked, fetch
from conformance.shared_steps import warm

_DESCRIBED = {"include_cluster_authorized_operations": False, "endpoint_type": 1, "include_fenced_brokers": False}
_FOLLOWED_MS = 1_200  # until followers have what was sent, and have fetched again: twice replica.fetch.wait.max.ms


def _case(name: str, why: str, topics: tuple[Topic, ...], *steps: Step, timed: tuple[At, ...] = ()) -> Case:
    return Case(f"racks/{name}", why, steps, topics, "racks", timed)


def _topic(name: str) -> Topic:
    return Topic(f"racks-{name}", replicas=3)


def _ready(topic: Topic) -> tuple[Step, ...]:
    return *warm(topic.name), Pause(_FOLLOWED_MS)


def _version(version: int) -> Case:
    topic = _topic(f"v{version}")
    name = topic.placeholder if version >= 13 else topic.name

    def of(number: int, rack: str, offset: int = 0, **values: Any) -> bytes:
        return fetch(number, {name: {0: offset}}, version=version, epoch=-1, rack_id=rack, **values)

    return _case(
        f"v{version}",
        "a consumer with a rack gets the replica there as the preferred one, unless it is the leader or there is none",
        (topic,),
        *_ready(topic),
        *asked(*(of(number, rack) for number, rack in enumerate(("", "a", "b", "c", "z", "B"), 1))),
        *asked(
            of(10, "b", 1),
            of(11, "b", 2),
            of(12, "b", -1),
            of(13, "b", part={"current_leader_epoch": 0}),
            of(14, "b", part={"current_leader_epoch": 4}),
            of(15, "b", part={"partition_max_bytes": -1}),
            of(16, "b", isolation_level=1),
            of(17, "b", 1, wait_ms=20_000, min_bytes=1 << 20),
            of(18, "b", part={"last_fetched_epoch": 5}),
            fetch(19, {name: {0: 0, 1: 0}, NOBODY if version >= 13 else "racks-nobody": {0: 0}}, version=version,
                  epoch=-1, rack_id="c"),
        ),
    )  # fmt: skip


_OLD = _topic("v10")
_FOLLOWER = _topic("follower")
_SESSION = _topic("session")
_BEHIND = _topic("behind")
_MOVED = _topic("moved")
_ALONE = Topic("racks-alone")
_DEBUG = _topic("debug")

CASES: list[Case] = [
    *(_version(version) for version in (11, 12, 13, 16, 18)),
    _case(
        "v10",
        "before v11 a request has no rack",
        (_OLD,),
        *_ready(_OLD),
        *asked(fetch(1, {_OLD.name: {0: 0}}, version=10, epoch=-1, rack_id="b")),
    ),
    _case(
        "follower",
        "a follower returns no preferred replica, and serves records up to the high watermark that it knows",
        (_FOLLOWER,),
        *_ready(_FOLLOWER),
        Send((fetch(1, {_FOLLOWER.name: {0: 0}}, epoch=-1, rack_id="b"),), conn="b", broker=2),
        Settle("b"),
        Send((fetch(2, {_FOLLOWER.name: {0: 0}}, epoch=-1, rack_id="c"),), conn="b", broker=2),
        Settle("b"),
        Send((fetch(3, {_FOLLOWER.name: {0: 1}}, epoch=-1, rack_id="c", wait_ms=100),), conn="b", broker=2),
        Settle("b"),
        Send((fetch(4, {_FOLLOWER.name: {0: 9}}, epoch=-1, rack_id="c"),), conn="b", broker=2),
        Settle("b"),
        Send((fetch(5, {_FOLLOWER.name: {0: 0}}, version=10, epoch=-1),), conn="b", broker=2),
        Settle("b"),
        timed=(At(3, 100, conn="b"),),
    ),
    _case(
        "session",
        "in a session each response has the preferred replica",
        (_SESSION,),
        *_ready(_SESSION),
        *asked(
            fetch(1, {_SESSION.name: {0: 0}}, rack_id="b"),
            fetch(2, id=ONE, epoch=1, rack_id="b"),
            fetch(3, id=ONE, epoch=2, rack_id="b", wait_ms=20_000),
            fetch(4, id=ONE, epoch=3, rack_id="a"),
            fetch(5, {_SESSION.name: {0: 1}}, id=ONE, epoch=4, rack_id="a"),
            fetch(6, id=ONE, epoch=5, rack_id="c"),
        ),
    ),
    _case(
        "behind",
        "a follower that does not have the offset is not preferred",
        (_BEHIND,),
        *_ready(_BEHIND),
        Freeze(3),
        Send((produce(_BEHIND.name, batch(b"next"), acks=1, correlation_id=1),)),
        Settle(),
        Pause(_FOLLOWED_MS),
        *asked(
            fetch(2, {_BEHIND.name: {0: 0}}, epoch=-1, rack_id="c"),
            fetch(3, {_BEHIND.name: {0: 1}}, epoch=-1, rack_id="c"),
            fetch(4, {_BEHIND.name: {0: 2}}, epoch=-1, rack_id="c"),
            fetch(5, {_BEHIND.name: {0: 2}}, epoch=-1, rack_id="b"),
        ),
        Thaw(3),
    ),
    _case(
        "alone",
        "one replica only: there is no other one to prefer",
        (_ALONE,),
        *warm(_ALONE.name),
        *asked(fetch(1, {_ALONE.name: {0: 0}}, epoch=-1, rack_id="b")),
    ),
    _case(
        "debug",
        "the debugging replica id -2 gets a preferred replica too",
        (_DEBUG,),
        *_ready(_DEBUG),
        *asked(fetch(1, {_DEBUG.name: {0: 0}}, epoch=-1, rack_id="b", replica_id=-2)),
    ),
    _case(
        "moved",
        "the new leader is returned with its rack",
        (_MOVED,),
        *warm(_MOVED.name),
        MoveLeader(_MOVED.name, 2),
        CatchUp(),
        *asked(
            fetch(1, {_MOVED.placeholder: {0: 0}}, version=17, epoch=-1, part={"current_leader_epoch": 0}),
            produce(_MOVED.placeholder, batch(b"v"), version=13, correlation_id=2),
            *(metadata([], version, 10 + version) for version in (1, 5, 9, 12, 13)),
            *(request(60, version, _DESCRIBED, 30 + version) for version in (0, 1, 2)),
        ),
    ),
]
