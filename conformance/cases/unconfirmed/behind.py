"""A leader that does not know yet how far its partition is committed: it says no end (KIP-207)."""

from __future__ import annotations

from conformance.frames import batch, fetch, list_offsets, produce
from conformance.scenario import Case, Freeze, MoveLeader, Pause, ReadLog, Send, Settle, Step, Thaw, Topic
from conformance.shared_steps import warm

_FOLLOWED_MS = 250  # until the follower that does fetch has what was sent


def _ask(*frames: bytes) -> tuple[Step, ...]:
    return tuple(step for frame in frames for step in (Send((frame,), "b", 2), Settle("b")))


def _end() -> Case:
    topic = Topic("behind-end", replicas=3)
    return Case(
        "behind/end",
        "a new leader with a high watermark below the start of its epoch: ListOffsets in each version, by "
        "time, and a Fetch",
        (
            *warm(topic.name),
            Freeze(3),
            Send(
                (produce(topic.name, batch(b"a"), acks=1), produce(topic.name, batch(b"b"), acks=1, correlation_id=2))
            ),
            Settle(),
            Pause(_FOLLOWED_MS),
            MoveLeader(topic.name, 2),
            *_ask(
                *(list_offsets(topic.name, -1, version=version) for version in (1, 2, 4, 5, 7, 9)),
                *(list_offsets(topic.name, timestamp, version=7) for timestamp in (-2, -3, 0, 1_900_000_000_000)),
                list_offsets(topic.name, -1, version=7, isolation_level=1),
                fetch(topic.name, 0),
                fetch(topic.name, 2),
            ),
            Thaw(3),
            ReadLog(topic.name, broker=2),
            *_ask(list_offsets(topic.name, -1)),
        ),
        (topic,),
        "three",
    )


CASES: list[Case] = [_end()]
