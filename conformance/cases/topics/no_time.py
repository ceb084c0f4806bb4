"""Requests to the controller without time: a timeout of 0, or below."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from conformance.frames import metadata, request
from conformance.scenario import Case, Send, Settle, Topic

_CREATE, _DELETE, _PARTITIONS, _ELECT, _ALTER, _LIST = 19, 20, 37, 43, 45, 46
_NOBODY = UUID(int=77)


def _asked(key: int, version: int, values: Mapping[str, Any], *milliseconds: int) -> list[bytes]:
    """Return a request with each of these timeouts."""
    return [
        request(key, version, {**values, "timeout": timedelta(milliseconds=timeout_ms)}, 1)
        for timeout_ms in milliseconds
    ]


def _new(*names: str) -> list[dict[str, Any]]:
    rest = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    return [{"name": name, **rest} for name in names]


def _create(version: int, *names: str, checked: bool = False) -> list[bytes]:
    return _asked(_CREATE, version, {"topics": _new(*names), "validate_only": checked}, 0, -1)


def _delete(version: int, *names: str) -> list[bytes]:
    topics = [{"name": name, "topic_id": None} for name in names]
    return _asked(_DELETE, version, {"topics": topics, "topic_names": names}, 0, -1)


def _delete_ids(*ids: UUID) -> list[bytes]:
    return _asked(_DELETE, 6, {"topics": [{"name": None, "topic_id": topic_id} for topic_id in ids]}, 0)


def _more(version: int, *names: str) -> list[bytes]:
    topics = [{"name": name, "count": 3, "assignments": None} for name in names]
    return _asked(_PARTITIONS, version, {"topics": topics, "validate_only": False}, 0, -1)


def _elect(version: int, topics: list[tuple[str, list[int]]] | None, kind: int = 0) -> list[bytes]:
    named = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]
    return _asked(_ELECT, version, {"election_type": kind, "topic_partitions": named}, 0, -1)


def _alter(version: int, *topics: tuple[str, list[int]]) -> list[bytes]:
    named = [
        {"name": name, "partitions": [{"partition_index": index, "replicas": [1]} for index in indexes]}
        for name, indexes in topics
    ]
    return _asked(_ALTER, version, {"allow_replication_factor_change": False, "topics": named}, 0, -1)


def _list(topics: list[tuple[str, list[int]]] | None) -> list[bytes]:
    named = None if topics is None else [{"name": name, "partition_indexes": indexes} for name, indexes in topics]
    return _asked(_LIST, 0, {"topics": named}, 0, -1)


def _case(name: str, why: str, *sent: list[bytes], topics: tuple[Topic, ...] = (), look_at: str) -> Case:
    frames = (*(frame for frames in sent for frame in frames), metadata([look_at], 9, 2))
    return Case(f"no-time/{name}", why, (Send(frames), Settle()), topics)


_TOPICS = {name: Topic(f"no-time-{name}", 2) for name in ("delete", "partitions", "elect", "alter", "list")}

CASES: list[Case] = [
    _case(
        "create",
        "a timeout of 0: REQUEST_TIMED_OUT, and no topic is created; without work to do no time is needed",
        _create(7, "no-time-new", "a/b"),
        _create(4, "no-time-new"),
        _create(7, "no-time-new", checked=True),
        _create(7, "no-time-new", "no-time-new"),
        _create(7, "no-time-new", "no-time-twice", "no-time-twice"),
        _create(7),
        look_at="no-time-new",
    ),
    _case(
        "delete",
        "a timeout of 0: REQUEST_TIMED_OUT, and no topic is deleted",
        _delete(6, "no-time-delete", "no-time-nobody"),
        _delete(4, "no-time-delete"),
        _delete(6, "no-time-delete", "no-time-delete"),
        _delete(6),
        _delete_ids(_NOBODY),
        topics=(_TOPICS["delete"],),
        look_at="no-time-delete",
    ),
    _case(
        "partitions",
        "a timeout of 0: REQUEST_TIMED_OUT, and no partition is added",
        _more(3, "no-time-partitions", "no-time-nobody"),
        _more(0, "no-time-partitions"),
        _more(3, "no-time-partitions", "no-time-partitions"),
        _more(3),
        topics=(_TOPICS["partitions"],),
        look_at="no-time-partitions",
    ),
    _case(
        "elect",
        "a timeout of 0: REQUEST_TIMED_OUT for all, or for each partition",
        _elect(2, [("no-time-elect", [0, 1]), ("no-time-nobody", [0])]),
        _elect(0, [("no-time-elect", [0])]),
        _elect(1, [("no-time-elect", [0])]),
        _elect(2, [("no-time-elect", [0])], kind=9),
        _elect(2, []),
        topics=(_TOPICS["elect"],),
        look_at="no-time-elect",
    ),
    _case(
        "alter-reassignments",
        "a timeout of 0: REQUEST_TIMED_OUT for all",
        _alter(1, ("no-time-alter", [0, 1]), ("no-time-nobody", [0])),
        _alter(0, ("no-time-alter", [0])),
        _alter(1),
        topics=(_TOPICS["alter"],),
        look_at="no-time-alter",
    ),
    _case(
        "list-reassignments",
        "a timeout of 0: REQUEST_TIMED_OUT for all",
        _list([("no-time-list", [0, 1]), ("no-time-nobody", [0])]),
        _list(None),
        _list([]),
        topics=(_TOPICS["list"],),
        look_at="no-time-list",
    ),
]
