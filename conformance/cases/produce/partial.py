"""Requests to several partitions: each is answered for itself, and all in one answer when the last is decided."""

from __future__ import annotations

from uuid import UUID

from conformance.frames import batch, patched, produce, produce_many
from conformance.scenario import At, Case, Freeze, Listen, ReadLog, Send, Settle, Step, Thaw, Topic
from conformance.shared_steps import warm

_BAD = patched(batch(b"x"), 17, bytes(4), crc=False)


def _frozen_and(
    name: str, why: str, others: dict[str, dict[int, bytes | None]], acks: int = -1, at_ms: int = 200
) -> Case:
    """A request to a frozen topic first, and to others; sent twice, in both orders. `healthy` has one replica."""
    frozen = Topic(f"partial-{name}-frozen", replicas=3)
    healthy = Topic(f"partial-{name}-healthy", partitions=2)
    named: dict[str | UUID, dict[int, bytes | None]] = {
        healthy.name if topic == "healthy" else f"partial-{topic}": parts for topic, parts in others.items()
    }
    late: dict[str | UUID, dict[int, bytes | None]] = {frozen.name: {0: batch(b"late")}}
    forward = late | named
    backward = dict(reversed(forward.items()))
    frames = tuple(
        produce_many(topics, acks=acks, timeout_ms=200, correlation_id=number)
        for number, topics in enumerate((forward, backward), 1)
    )
    steps = (
        *warm(frozen.name),
        Freeze(3),
        Send(frames),
        Settle(),
        Thaw(3),
        ReadLog(frozen.name),
        ReadLog(healthy.name),
        ReadLog(healthy.name, 1),
    )
    return Case(f"partial/{name}", why, steps, (frozen, healthy), "three", (At(1, at_ms), At(2, 2 * at_ms)))


def _nothing_waits() -> Case:
    topic = Topic("partial-quick")
    frame = produce_many({"partial-nowhere": {0: batch(b"x")}, topic.name: {0: batch(b"ok"), 5: batch(b"x")}})
    why = "healthy, unknown topic, unknown partition: one response at once"
    return Case("partial/nothing-waits", why, (Send((frame,)), Settle(), ReadLog(topic.name)), (topic,))


def _all_fail() -> Case:
    topic = Topic("partial-none", partitions=2)
    frame = produce_many({"partial-nowhere": {0: batch(b"x")}, topic.name: {0: _BAD, 1: b""}})
    why = "no partition is appended: the response comes at once, with any acks"
    return Case("partial/all-fail", why, (Send((frame,)), Settle(), ReadLog(topic.name)), (topic,))


def _two_frozen(name: str, why: str, timeout_ms: int, *then: Step, at: At, version: int = 9) -> Case:
    one, two = Topic(f"partial-{name}-1", replicas=3), Topic(f"partial-{name}-2", partitions=2, replicas=3)
    topics = [topic.placeholder if version >= 13 else topic.name for topic in (one, two)]
    frame = produce_many(
        {topics[0]: {0: batch(b"a")}, topics[1]: {1: batch(b"b"), 0: batch(b"c")}}, version, timeout_ms=timeout_ms
    )
    steps = (
        *warm(one.name),
        *warm(two.name, partitions=2),
        Freeze(3),
        Send((frame,)),
        *then,
        Settle(),
        Thaw(3),
        ReadLog(one.name),
        ReadLog(two.name),
        ReadLog(two.name, 1),
    )
    return Case(f"partial/{name}", why, steps, (one, two), "three", (at,))


def _other_followers() -> Case:
    frozen, healthy = Topic("partial-three-replicas", replicas=3), Topic("partial-two-replicas", replicas=2)
    frame = produce_many({frozen.name: {0: batch(b"late")}, healthy.name: {0: batch(b"ok")}}, timeout_ms=300)
    steps = (
        *warm(frozen.name, healthy.name),
        Freeze(3),
        Send((frame,)),
        Settle(),
        Thaw(3),
        ReadLog(frozen.name),
        ReadLog(healthy.name),
    )
    why = "a partition with a follower that fetches gets NONE, in the response that waits for the frozen one"
    return Case("partial/other-followers", why, steps, (frozen, healthy), "three", (At(1, 300),))


def _null_records_nowhere() -> Case:
    topic = Topic("partial-twice")
    frame = produce(topic.name, {0: batch(b"a"), 3: None})
    why = "null records of an unknown partition are never checked"
    return Case("partial/null-records-nowhere", why, (Send((frame,)), Settle(), ReadLog(topic.name)), (topic,))


CASES = [
    _frozen_and("healthy", "REQUEST_TIMED_OUT and NONE, both after the timeout", {"healthy": {0: batch(b"ok")}}),
    _frozen_and(
        "unknown-topic",
        "REQUEST_TIMED_OUT, and UNKNOWN_TOPIC_OR_PARTITION for an unknown topic",
        {"nowhere": {0: batch(b"x")}},
    ),
    _frozen_and(
        "unknown-partition",
        "REQUEST_TIMED_OUT, NONE and UNKNOWN_TOPIC_OR_PARTITION",
        {"healthy": {0: batch(b"ok"), 9: batch(b"x")}},
    ),
    _frozen_and(
        "bad-crc", "REQUEST_TIMED_OUT, NONE, and CORRUPT_MESSAGE from the log", {"healthy": {0: _BAD, 1: batch(b"ok")}}
    ),
    _frozen_and(
        "no-records",
        "REQUEST_TIMED_OUT, and INVALID_RECORD from checks before the log",
        {"healthy": {0: b"", 1: batch(b"ok")}},
    ),
    _frozen_and(
        "everything",
        "REQUEST_TIMED_OUT, NONE, UNKNOWN_TOPIC_OR_PARTITION and CORRUPT_MESSAGE in one response",
        {"healthy": {1: _BAD, 0: batch(b"ok")}, "nowhere": {0: batch(b"x"), 1: b""}},
    ),
    _frozen_and(
        "acks-1",
        "acks=1 does not wait for any of the partitions",
        {"healthy": {0: batch(b"ok"), 1: _BAD}},
        acks=1,
        at_ms=0,
    ),
    _frozen_and(
        "acks-2",
        "acks=2 is refused for each partition, after the check for unknown topics",
        {"healthy": {0: batch(b"ok"), 1: b""}, "nowhere": {0: batch(b"x")}},
        acks=2,
        at_ms=0,
    ),
    _two_frozen("both-late", "two topics time out in one response", 200, at=At(1, 200)),
    _two_frozen("both-late-by-id", "two topics time out in one response, by topic id", 200, at=At(1, 200), version=13),
    _two_frozen(
        "both-thawed", "both partitions succeed when the follower returns", 5_000, Listen(100), Thaw(3), at=At(1, 100)
    ),
    _other_followers(),
    _nothing_waits(),
    _all_fail(),
    _null_records_nowhere(),
]
