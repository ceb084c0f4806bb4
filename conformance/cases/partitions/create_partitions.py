"""CreatePartitions: how many there are to be, where their replicas go, and what cannot be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from conformance.frames import batch, metadata, produce, request
from conformance.scenario import Case, CatchUp, Send, Settle, Topic

_KEY = 37


def _asked(*topics: dict[str, Any], version: int = 3, correlation_id: int = 1, validate_only: bool = False) -> bytes:
    values = {"topics": topics, "timeout": timedelta(seconds=30), "validate_only": validate_only}
    return request(_KEY, version, values, correlation_id)


def _more(name: str, count: int, assignments: list[list[int]] | None = None) -> dict[str, Any]:
    entries = None if assignments is None else [{"broker_ids": ids} for ids in assignments]
    return {"name": name, "count": count, "assignments": entries}


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    """The metadata of the topics come last."""
    names: list[Any] = sorted(topic.name for topic in topics)
    last = (Settle(), CatchUp(), Send((metadata(names, 9, 99),)), Settle()) if topics else (Settle(),)
    return Case(f"create-partitions/{name}", why, (Send(frames), *last), topics, box)


def _topic(name: str, partitions: int = 1, replicas: int = 1) -> Topic:
    return Topic(f"partitions-{name}", partitions, replicas)


def _versions() -> list[Case]:
    cases = []
    for version in range(4):
        topic = _topic(f"v{version}")
        cases.append(
            _case(
                f"v{version}",
                "validateOnly, more, equal, fewer, zero, negative, an unknown topic, an invalid name, manual "
                "assignments",
                _asked(_more(topic.name, 2), version=version, validate_only=True),
                _asked(_more(topic.name, 3), version=version, correlation_id=2),
                _asked(_more(topic.name, 3), version=version, correlation_id=3),
                _asked(_more(topic.name, 1), version=version, correlation_id=4),
                _asked(_more(topic.name, 0), version=version, correlation_id=5),
                _asked(_more(topic.name, -1), version=version, correlation_id=6),
                _asked(_more("partitions-nobody", 2), version=version, correlation_id=7),
                _asked(_more("a/b", 2), version=version, correlation_id=8),
                _asked(_more(topic.name, 5, [[1], [1]]), version=version, correlation_id=9),
                topics=(topic,),
            )
        )
    return cases


_HAND: dict[str, list[list[int]]] = {
    "none": [],
    "too-few": [[1]],
    "too-many": [[1], [1], [1]],
    "unknown-broker": [[1], [9]],
    "negative-broker": [[1], [-1]],
    "empty": [[1], []],
    "good": [[1], [1]],
}
_HAND_THREE: dict[str, list[list[int]]] = {
    "good": [[2, 3], [3, 1]],
    "twice": [[2, 2], [3, 1]],
    "factor-1": [[2], [3]],
    "factor-mixed": [[2, 3], [3]],
    "factor-3": [[1, 2, 3], [1, 2, 3]],
    "unknown-broker": [[2, 9], [3, 1]],
}

CASES: list[Case] = [
    *_versions(),
    *(
        _case(
            f"assigned-{what}",
            "manual assignments, one list for each new partition (validateManualPartitionAssignment)",
            _asked(_more(f"partitions-a-{what}", 3, lists)),
            topics=(_topic(f"a-{what}"),),
        )
        for what, lists in _HAND.items()
    ),
    *(
        _case(
            f"assigned-three-{what}",
            "two replicas each, as the first partition has",
            _asked(_more(f"partitions-a3-{what}", 3, lists)),
            topics=(_topic(f"a3-{what}", 1, 2),),
            box="three",
        )
        for what, lists in _HAND_THREE.items()
    ),
    _case(
        "several",
        "each topic gets its own result",
        _asked(
            _more("partitions-s1", 2),
            _more("partitions-nobody", 2),
            _more("partitions-s2", 1),
            _more("partitions-s3", 4),
        ),
        topics=(_topic("s1"), _topic("s2"), _topic("s3", 2)),
    ),
    _case(
        "duplicate",
        "one name twice in one request: INVALID_REQUEST, and nothing is created",
        _asked(_more("partitions-d1", 2), _more("partitions-d1", 3), _more("partitions-d2", 2)),
        topics=(_topic("d1"), _topic("d2")),
    ),
    _case("nothing", "a request without topics", _asked()),
    _case("empty-name", "the empty name, and the metadata log", _asked(_more("", 2), _more("__cluster_metadata", 2))),
    *(
        _case(
            f"many-{count}",
            "the number of partitions that one request may add; above it POLICY_VIOLATION for all "
            "(validateTotalNumberOfPartitions)",
            _asked(_more(f"partitions-many-{count}", count), _more("partitions-nobody", 2), validate_only=True),
            topics=(_topic(f"many-{count}"),),
        )
        for count in (10_001, 10_002, 2**31 - 1)
    ),
    Case(
        "create-partitions/produce",
        "a producer finds the new partition, and none after it",
        (
            Send((_asked(_more("partitions-produce", 3)),)),
            Settle(),
            CatchUp(),
            Send(
                (
                    produce("partitions-produce", {2: batch()}, correlation_id=2),
                    produce("partitions-produce", {3: batch()}, correlation_id=3),
                )
            ),
            Settle(),
        ),
        (_topic("produce"),),
    ),
    _case(
        "checked-by-hand",
        "validateOnly with manual assignments creates nothing",
        _asked(_more("partitions-checked", 3, [[1], [1]]), validate_only=True),
        _asked(_more("partitions-checked", 3, [[1], [7]]), validate_only=True, correlation_id=2),
        topics=(_topic("checked"),),
    ),
]
