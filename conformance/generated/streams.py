"""A stream of generated traffic: bytes for one topic, which becomes a case on any topic of its kind.

Theory   A stream names one topic of two partitions, STAND_IN. When it runs, a fresh topic with a name of the same
         length replaces it. So the damage stays at the same place on every run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from conformance.scenario import Case, CatchUp, Pause, ReadLog, Send, Settle, Step, Topic, placeholder

BOX = "one"
STAND_IN = "gen-00000000"
_ALTERING = (b"\0\x21", b"\0\x2c")  # AlterConfigs, IncrementalAlterConfigs
_APPLIED_MS = 30  # until a broker acts on what it knows
_SETTLE_MS = 2_000  # nothing in a stream waits longer than 50 ms

# What a topic of a stream may be like, by the word in the case's name.
KINDS: dict[str, dict[str, str]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "recompressed": {"compression.type": "gzip"},
    "uncompressed": {"compression.type": "uncompressed"},
    "small": {"max.message.bytes": "160"},
    "min-isr": {"min.insync.replicas": "2"},
    "old-refused": {"message.timestamp.before.max.ms": "60000"},
}


@dataclass(frozen=True)
class Group:
    """Frames that go out in one write; then all their answers are awaited."""

    conn: str
    frames: tuple[bytes, ...]


@dataclass(frozen=True)
class Stream:
    """A kind of topic (a key of KINDS), and what is sent to it."""

    kind: str
    groups: tuple[Group, ...]


def as_case(stream: Stream, name: str, topic: str, why: str = "") -> Case:
    """Return a case that runs the stream on a topic with a name as long as STAND_IN's. At its end the logs of both
    partitions are read."""
    assert len(topic) == len(STAND_IN)
    old_id, new_id = placeholder(STAND_IN).bytes, placeholder(topic).bytes
    old_name, new_name = STAND_IN.encode(), topic.encode()
    steps: list[Step] = []
    for group in stream.groups:
        parts = tuple(part.replace(old_name, new_name).replace(old_id, new_id) for part in group.frames)
        steps += [Send(parts, group.conn), Settle(group.conn, _SETTLE_MS)]
        if any(part[4:6] in _ALTERING for part in parts):
            steps += [CatchUp(), Pause(_APPLIED_MS)]
    steps += [ReadLog(topic, 0), ReadLog(topic, 1)]
    return Case(name, why, tuple(steps), (Topic(topic, 2, configs=KINDS[stream.kind]),), BOX)


def kept_case(stream: Stream, why: str) -> Case:
    """The stream as a case that is kept, named by its bytes."""
    digest = hashlib.sha256(b"".join(part for group in stream.groups for part in group.frames)).hexdigest()[:8]
    return as_case(stream, f"found/{stream.kind}-{digest}", f"fnd-{digest}", why)
