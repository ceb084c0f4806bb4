"""Visibility for a consumer: never more than the high watermark, and at once when it moves. Also duplicates that wait
for it."""

from __future__ import annotations

from conformance.frames import batch, fetch, list_offsets, produce
from conformance.scenario import At, Case, Freeze, Listen, MoveLeader, Pause, ReadLog, Send, Settle, Thaw, Topic
from conformance.shared_steps import warm, while_frozen

_PRODUCER_ID = 9_000


def _woken(name: str, why: str, acks: int, replicas: int, version: int) -> Case:
    topic = Topic(f"woken-{name}", replicas=replicas)
    to = topic.placeholder if version >= 13 else topic.name
    steps = (
        *warm(topic.name),
        Send((fetch(to, 1, version=version, max_wait_ms=9_000),)),
        Pause(150),
        Send((produce(topic.name, batch(b"wakes"), acks=acks),), "b"),
        *(() if acks == 0 else (Settle("b"),)),
        Settle(),
        ReadLog(topic.name),
    )
    return Case(f"long-poll/{name}", why, steps, (topic,), "three", (At(1, 150, 1_000),))


def _expires() -> Case:
    topic = Topic("woken-never")
    frames = (
        fetch(topic.name, 1, max_wait_ms=150, correlation_id=1),
        fetch(topic.name, 1, max_wait_ms=150, version=4, correlation_id=2),
        fetch(topic.name, 0, max_wait_ms=150, min_bytes=10_000, correlation_id=3),
        fetch(topic.name, 7, max_wait_ms=9_000, correlation_id=4),
        fetch(topic.name, 1, max_wait_ms=0, correlation_id=5),
        fetch(topic.name, 1, max_wait_ms=9_000, min_bytes=0, correlation_id=6),
        fetch(topic.name, 1, partition=4, max_wait_ms=9_000, correlation_id=7),
    )
    why = (
        "nothing arrives: after max_wait_ms the response is empty or has the available records; errors and "
        "min_bytes 0 complete at once"
    )
    timed = (At(1, 150), At(2, 300), At(3, 450), At(4, 450), At(5, 450), At(6, 450), At(7, 450))
    return Case("long-poll/expires", why, (*warm(topic.name), Send(frames), Settle()), (topic,), "one", timed)


def _min_bytes() -> Case:
    topic = Topic("woken-min-bytes")
    steps = (
        *warm(topic.name),
        Send((fetch(topic.name, 1, max_wait_ms=9_000, min_bytes=200),)),
        Pause(100),
        Send((produce(topic.name, batch(b"a" * 50)),), "b"),
        Settle("b"),
        Listen(100),
        Send((produce(topic.name, batch(b"b" * 50), correlation_id=2),), "b"),
        Settle("b"),
        Settle(),
    )
    why = "min_bytes: the first Produce is not enough, the second one completes the Fetch"
    return Case("long-poll/min-bytes", why, steps, (topic,), "one", (At(1, 200, 1_000),))


def _frozen_watermark() -> Case:
    topic = Topic("watermark-frozen", replicas=3)
    frames = (
        produce(topic.name, batch(b"one"), acks=1, correlation_id=1),
        produce(topic.name, batch(b"late"), timeout_ms=150, correlation_id=2),
        fetch(topic.name, correlation_id=3),
        fetch(topic.name, 1, correlation_id=4),
        fetch(topic.name, 2, max_wait_ms=150, correlation_id=5),
        fetch(topic.name, 3, correlation_id=6),
        fetch(topic.name, 4, correlation_id=7),
        list_offsets(topic.name, -1, correlation_id=8),
        list_offsets(topic.name, -2, correlation_id=9),
    )
    after = (fetch(topic.name, 1, max_wait_ms=2_000, min_bytes=140), list_offsets(topic.name, -1, correlation_id=2))
    steps = (
        *while_frozen(topic.name, Send(frames), Settle()),
        Send(after, "c"),
        Settle("c"),
    )
    why = "no consumer reads above the high watermark while a follower is frozen; after the thaw all do"
    return Case("watermark/frozen", why, steps, (topic,), "three", (At(2, 150), At(5, 150)))


def _waits_for_the_thaw() -> Case:
    topic = Topic("watermark-thaw", replicas=3)
    steps = (
        Send((produce(topic.name, batch(b"unseen"), acks=1),)),
        Settle(),
        Send((fetch(topic.name, 1, max_wait_ms=9_000, correlation_id=2),)),
        Listen(150),
        Thaw(3),
        Settle(),
    )
    why = "a Fetch at the high watermark is parked until the follower returns, although there are records above it"
    return Case(
        "watermark/long-poll-until-thaw", why, while_frozen(topic.name, *steps), (topic,), "three", (At(2, 150, 1_000),)
    )


def _follower_reads() -> Case:
    topic = Topic("watermark-follower", replicas=3)
    steps = (
        Send((produce(topic.name, batch(b"unseen"), acks=1),)),
        Settle(),
        Pause(700),  # the answer to a follower's next fetch tells it the watermark
        Send((fetch(topic.name, 0, version=11), fetch(topic.name, 1, version=12, correlation_id=2)), "f", 2),
        Settle("f"),
    )
    why = "a consumer at a follower with more records does not read above the high watermark either"
    return Case("watermark/at-a-follower", why, while_frozen(topic.name, *steps), (topic,), "three")


def _idempotent(value: bytes, sequence: int, producer: int, count: int = 1) -> bytes:
    values = [value] * count
    return batch(*values, producer_id=_PRODUCER_ID + producer, producer_epoch=0, base_sequence=sequence)


def _duplicate_while_parked() -> Case:
    topic = Topic("twice-parked", replicas=3)
    frame = produce(topic.name, _idempotent(b"once", 0, 1))
    steps = (
        Send((frame,)),
        Pause(100),
        Send((frame, produce(topic.name, _idempotent(b"next", 1, 1), correlation_id=2)), "b"),
        Pause(100),
        Thaw(3),
        Settle(),
        Settle("b"),
    )
    why = "a duplicate of a parked batch, then the next batch: the same base offset twice, each record once"
    return Case("duplicate/while-parked", why, while_frozen(topic.name, *steps), (topic,), "three", (At(1, 200),))


def _duplicate_times_out() -> Case:
    topic = Topic("twice-late", replicas=3)
    record = _idempotent(b"once", 0, 2)
    frames = tuple(produce(topic.name, record, timeout_ms=150, correlation_id=number) for number in (1, 2))
    frames += (
        produce(topic.name, record, acks=1, correlation_id=3),
        produce(topic.name, record, acks=0, correlation_id=4),
    )
    why = "a retry of a timed-out batch times out too, with the same base offset; acks=1 gets it at once"
    timed = (At(1, 150), At(2, 300), At(3, 300))
    return Case("duplicate/times-out", why, while_frozen(topic.name, Send(frames), Settle()), (topic,), "three", timed)


def _gap_while_parked() -> Case:
    topic = Topic("twice-gap", replicas=3)
    steps = (
        Send((produce(topic.name, _idempotent(b"first", 0, 3, 2)),)),
        Pause(50),
        Send(
            (
                produce(topic.name, _idempotent(b"gap", 3, 3), correlation_id=1),
                produce(topic.name, _idempotent(b"part", 1, 3), correlation_id=2),
                produce(topic.name, _idempotent(b"next", 2, 3), acks=1, correlation_id=3),
            ),
            "b",
        ),
        Settle("b"),
        Thaw(3),
        Settle(),
    )
    why = "sequences are checked against parked batches: OUT_OF_ORDER_SEQUENCE_NUMBER for a gap and for a part, at once"
    timed = (At(1, 0, conn="b"), At(2, 0, conn="b"))
    return Case("duplicate/gap-while-parked", why, while_frozen(topic.name, *steps), (topic,), "three", timed)


def _duplicate_at_the_new_leader() -> Case:
    topic = Topic("twice-moved", replicas=3)
    frame = produce(topic.name, _idempotent(b"once", 0, 4), version=10)
    steps = (
        *warm(topic.name),
        Freeze(3),
        Send((frame,)),
        Pause(250),  # until broker 2 has it
        MoveLeader(topic.name, 2),
        Settle(),
        Send((frame,), "b", 2),
        Pause(50),
        Thaw(3),
        Settle("b"),
        ReadLog(topic.name, broker=2),
    )
    why = (
        "after NOT_LEADER_OR_FOLLOWER the producer retries at the new leader, which has the record already: no "
        "second copy"
    )
    return Case("duplicate/new-leader", why, steps, (topic,), "three")


CASES = [
    *(
        _woken(
            f"acks-{acks}-v{version}",
            "a parked Fetch completes when the high watermark advances",
            acks,
            replicas,
            version,
        )
        for acks, replicas, version in ((-1, 1, 11), (1, 1, 4), (0, 1, 12), (-1, 3, 17), (1, 3, 13), (0, 3, 11))
    ),
    _expires(),
    _min_bytes(),
    _frozen_watermark(),
    _waits_for_the_thaw(),
    _follower_reads(),
    _duplicate_while_parked(),
    _duplicate_times_out(),
    _gap_while_parked(),
    _duplicate_at_the_new_leader(),
]
