"""Rows of the table of faults (docs/errors.md) that no other case had asked for."""

from __future__ import annotations

from datetime import timedelta

from conformance.config_frames import TOPIC, alter, describe, incremental
from conformance.frames import request
from conformance.scenario import Case, DeleteTopic, Freeze, MoveLeader, Pause, Send, Settle, Step, Thaw, Topic
from conformance.shared_steps import warm

_DELETE_TOPICS, _DELETE_RECORDS, _ALTER_LOG_DIRS, _CREATE_PARTITIONS = 20, 21, 34, 37
_FOLLOWED_MS = 250  # until the follower that does fetch has what was sent
_BAD = "a/b"


def _delete_records(topic: str, offset: int = 1, version: int = 2) -> bytes:
    parts = [{"partition_index": 0, "offset": offset}]
    values = {"topics": [{"name": topic, "partitions": parts}], "timeout": timedelta(seconds=9)}
    return request(_DELETE_RECORDS, version, values)


def _delete_waits(name: str, why: str, *meanwhile: Step) -> Case:
    topic = Topic(f"rows-asked-{name}", replicas=3)
    steps = (
        *warm(topic.name),
        Freeze(3),
        Send((_delete_records(topic.name),)),
        Pause(_FOLLOWED_MS),
        *meanwhile,
        Settle(),
        Thaw(3),
    )
    return Case(f"rows-asked/{name}", why, steps, (topic,), "three")


def _names() -> Case:
    """One by one."""
    frames = (
        alter((TOPIC, _BAD, {"retention.ms": "1"})),
        incremental((TOPIC, _BAD, [("retention.ms", 0, "1")])),
        describe((TOPIC, _BAD, None)),
        _delete_records(_BAD),
        *(
            request(
                _DELETE_TOPICS,
                version,
                {
                    "topics": [{"name": _BAD, "topic_id": None}],
                    "topic_names": (_BAD,),
                    "timeout": timedelta(seconds=9),
                },
            )
            for version in (5, 6)
        ),
        request(
            _CREATE_PARTITIONS,
            3,
            {
                "topics": [{"name": _BAD, "count": 3, "assignments": None}],
                "timeout": timedelta(seconds=9),
                "validate_only": False,
            },
        ),
        request(
            _ALTER_LOG_DIRS,
            2,
            {"dirs": [{"path": "/not-there", "topics": [{"name": _BAD, "partitions": (0,)}]}]},
        ),
    )
    steps = tuple(step for frame in frames for step in (Send((frame,)), Settle()))
    return Case("rows-asked/bad-names", "an invalid topic name, in every API with topic names", steps)


_MOVES, _DELETED = "rows-asked-delete-records-moves", "rows-asked-delete-records-deleted"
CASES: list[Case] = [
    _delete_waits("delete-records-moves", "the leader moves while DeleteRecords is parked", MoveLeader(_MOVES, 2)),
    _delete_waits(
        "delete-records-deleted", "the topic is deleted while DeleteRecords is parked", DeleteTopic(_DELETED)
    ),
    _names(),
]
