"""Members of consumer groups that are too late, and the settings of a group that say when."""

from __future__ import annotations

from conformance.config_frames import GROUP, SET, incremental
from conformance.config_frames import one_by_one as altered
from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.scenario import AwaitCoordinator, Case, Pause, Step, Topic

_BOX = "consumer-groups"
_SESSION = {"consumer.session.timeout.ms": "700", "consumer.heartbeat.interval.ms": "300"}


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-timeout/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _set(group: str, **settings: str) -> tuple[Step, ...]:
    operations = [(name.replace("_", "."), SET, value) for name, value in settings.items()]
    return altered(incremental((GROUP, group, operations)), pause_ms=300)


def _session() -> Case:
    group = topic = "cgt-session"
    return _case(
        "session",
        "a member without heartbeats for the session timeout is removed, and others get its partitions",
        *_set(group, **_SESSION),
        *one_by_one(join(group, "a", topic), join(group, "b", topic), heartbeat(group, "a", 2, owned={topic: [0]})),
        Pause(400),
        *one_by_one(heartbeat(group, "b", 3)),
        Pause(500),
        *one_by_one(heartbeat(group, "b", 3), describe(group), heartbeat(group, "a", 3)),
        Pause(1500),
        *one_by_one(describe(group), heartbeat(group, "b", 5)),
        topics=(Topic(topic, partitions=2),),
    )


def _away() -> Case:
    group = topic = "cgt-away"
    return _case(
        "away",
        "a static member that has left temporarily is removed when its session ends",
        *_set(group, **_SESSION),
        *one_by_one(
            join(group, "a", topic, instance_id="i"),
            heartbeat(group, "a", -2, instance_id="i"),
            describe(group),
        ),
        Pause(1500),
        *one_by_one(describe(group), join(group, "b", topic, instance_id="i")),
        topics=(Topic(topic, partitions=2),),
    )


def _revocation() -> Case:
    group = topic = "cgt-revocation"
    return _case(
        "revocation",
        "a member that does not give up revoked partitions within its rebalance timeout is removed",
        *one_by_one(
            join(group, "a", topic, rebalance_ms=500),
            join(group, "b", topic),
            heartbeat(group, "a", 2),
            heartbeat(group, "b", 3),
        ),
        Pause(1200),
        *one_by_one(
            describe(group), heartbeat(group, "a", 2, owned={topic: [0]}), heartbeat(group, "b", 3), describe(group)
        ),
        topics=(Topic(topic, partitions=2),),
    )


def _assignment_interval() -> Case:
    group = topic = "cgt-interval"
    return _case(
        "assignment-interval",
        "the next target assignment is computed only after the interval; until then the last one is used (KIP-1263)",
        *_set(group, consumer_assignment_interval_ms="3000"),
        *one_by_one(
            join(group, "a", topic),
            join(group, "b", topic),
            heartbeat(group, "a", 2),
            heartbeat(group, "b", 2),
            describe(group),
        ),
        Pause(3500),
        *one_by_one(heartbeat(group, "a", 2), heartbeat(group, "b", 2), describe(group)),
        *one_by_one(heartbeat(group, "a", -1), heartbeat(group, "b", -1), join(group, "c", topic), describe(group)),
        topics=(Topic(topic, partitions=2),),
    )


def _heartbeat_interval() -> Case:
    group = topic = "cgt-beats"
    return _case(
        "heartbeat-interval",
        "a group's own heartbeat interval is returned from the next heartbeat on",
        *one_by_one(join(group, "a", topic)),
        *_set(group, consumer_heartbeat_interval_ms="7000"),
        *one_by_one(heartbeat(group, "a", 2), join(f"{group}-other", "a", topic)),
        topics=(Topic(topic, partitions=1),),
    )


CASES: list[Case] = [_session(), _away(), _revocation(), _assignment_interval(), _heartbeat_interval()]
