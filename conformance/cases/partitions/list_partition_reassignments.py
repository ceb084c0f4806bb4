"""ListPartitionReassignments: what is under way, of what was asked for."""

from __future__ import annotations

from datetime import timedelta

from conformance.frames import request
from conformance.scenario import Case, Send, Settle, Topic

_KEY = 46


def listed(topics: list[tuple[str, list[int]]] | None, correlation_id: int = 1) -> bytes:
    named = None if topics is None else [{"name": name, "partition_indexes": indexes} for name, indexes in topics]
    return request(_KEY, 0, {"timeout": timedelta(seconds=30), "topics": named}, correlation_id)


_TOPIC = Topic("reassignments-none", 2)

CASES: list[Case] = [
    Case(
        "list-partition-reassignments/none",
        "no reassignment is in progress, for any request",
        (
            Send(
                (
                    listed(None),
                    listed([], 2),
                    listed([(_TOPIC.name, [0, 1, 7, -1])], 3),
                    listed([("reassignments-nobody", [0]), ("a/b", []), ("", [0])], 4),
                )
            ),
            Settle(),
        ),
        (_TOPIC,),
    ),
]
