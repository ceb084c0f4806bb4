"""Steps of cases about fetch sessions: requests within one, and what there is to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from conformance.frames import FETCH, batch, produce, request
from conformance.scenario import Case, Send, Settle, Step, Topic
from conformance.session_ids import session

NOBODY = UUID(int=0x5556)
BATCH = batch(b"v" * 100)
SIZE = len(BATCH)

Partitions = Mapping[str | UUID, Mapping[int, int]]  # fetch offsets, by topic and partition


def part_of(index: int, offset: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """One partition of a request."""
    defaults = {
        "partition_max_bytes": 1 << 20,
    }
    return {"partition": index, "fetch_offset": offset, **defaults, **values}


def _named(topic: str | UUID) -> dict[str, Any]:
    return {"topic_id": topic, "topic": ""} if isinstance(topic, UUID) else {"topic": topic, "topic_id": None}


def fetch(
    correlation_id: int,
    wanted: Partitions | None = None,
    forget: Mapping[str | UUID, Sequence[int]] | None = None,
    *,
    version: int = 12,
    id: int = 0,
    epoch: int = 0,
    wait_ms: int = 0,
    part: Mapping[str, Any] | None = None,
    **values: Any,
) -> bytes:
    """A Fetch of the session `id`; `part` has what is said of each partition."""
    topics = [
        _named(topic) | {"partitions": [part_of(index, offset, part or {}) for index, offset in offsets.items()]}
        for topic, offsets in (wanted or {}).items()
    ]
    defaults = {
        "max_wait": timedelta(milliseconds=wait_ms),
        "min_bytes": 1,
        "max_bytes": 1 << 26,
        "session_id": id,
        "session_epoch": epoch,
        "topics": topics,
        "forgotten_topics_data": [
            _named(topic) | {"partitions": list(indexes)} for topic, indexes in (forget or {}).items()
        ],
    }
    return request(FETCH, version, defaults | values, correlation_id)


def fill(topic: Topic, partition: int = 0, times: int = 1, number: int = 900) -> tuple[Step, ...]:
    """BATCH, so many times; correlation ids from `number` on."""
    return Send(
        tuple(produce(topic.name, {partition: BATCH}, correlation_id=number + n) for n in range(times))
    ), Settle()


def session_case(name: str, why: str, topics: Topic | tuple[Topic, ...], *steps: Step, **more: Any) -> Case:
    """A case of the group fetch-session."""
    made = (topics,) if isinstance(topics, Topic) else topics
    return Case(f"fetch-session/{name}", why, steps, made, **more)


def asked(*frames: bytes) -> tuple[Step, ...]:
    """Each sent when the one before is answered."""
    return tuple(step for frame in frames for step in (Send((frame,)), Settle()))


ONE, TWO = session(1), session(2)
