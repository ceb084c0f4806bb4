"""One request at a time per connection: the order of answers, and what stands behind a request that waits."""

from __future__ import annotations

from conformance.frames import batch, end_offset, fetch, list_offsets, metadata, patched, produce
from conformance.scenario import At, Case, Disconnect, Listen, Pause, ReadLog, Send, Settle, Thaw, Topic
from conformance.shared_steps import warm, while_frozen


def _three_parked_then_thawed() -> Case:
    topic = Topic("order-thawed", replicas=3)
    frames = tuple(produce(topic.name, batch(b"%d" % n), correlation_id=n) for n in (1, 2, 3))
    steps = (Send(frames), Listen(100), Thaw(3), Settle())
    why = "the first of three requests is parked, the others are not read: after the thaw all get NONE, in order"
    return Case("order/thaw-first-of-three", why, while_frozen(topic.name, *steps), (topic,), "three", (At(1, 100),))


def _thaw_in_the_second() -> Case:
    topic = Topic("order-thaw-second", replicas=3)
    frames = tuple(produce(topic.name, batch(b"%d" % n), timeout_ms=300, correlation_id=n) for n in (1, 2, 3))
    steps = (Send(frames), Listen(450), Thaw(3), Settle())
    why = "the first request times out, the second is parked when the follower returns: REQUEST_TIMED_OUT, NONE, NONE"
    timed = (At(1, 300), At(2, 450), At(3, 450))
    return Case("order/thaw-second-of-three", why, while_frozen(topic.name, *steps), (topic,), "three", timed)


def _mixed_acks_healthy() -> Case:
    topic = Topic("order-mixed", replicas=3)
    acks = (-1, 1, 0, 1, 0, 0, -1, 1, -1, 0, 1, -1)
    frames = tuple(produce(topic.name, batch(b"%d" % n), acks=a, correlation_id=n) for n, a in enumerate(acks, 1))
    why = "twelve pipelined requests: responses in order, none for acks=0, records in the order of the requests"
    return Case(
        "order/mixed-acks", why, (*warm(topic.name), Send(frames), Settle(), ReadLog(topic.name)), (topic,), "three"
    )


def _mixed_acks_frozen() -> Case:
    topic = Topic("order-mixed-frozen", replicas=3)
    frames = tuple(
        produce(topic.name, batch(b"%d" % n), acks=acks, timeout_ms=150, correlation_id=n)
        for n, acks in enumerate((1, 0, -1, 1, 0, -1, 1), 1)
    )
    why = "acks=1 gets its response at once, unless an acks=-1 before it is parked"
    timed = (At(1, 0, 140), At(3, 150), At(4, 150), At(6, 300), At(7, 300))
    return Case(
        "order/mixed-acks-frozen", why, while_frozen(topic.name, Send(frames), Settle()), (topic,), "three", timed
    )


def _others_behind_parked() -> Case:
    topic = Topic("order-behind", replicas=3)
    frames = (
        produce(topic.name, batch(b"late"), timeout_ms=200, correlation_id=1),
        metadata([topic.name], version=0, correlation_id=2),
        fetch(topic.name, correlation_id=3),
        list_offsets(topic.name, -1, correlation_id=4),
        end_offset(topic.name, correlation_id=5),
        produce(topic.name, batch(b"refused"), acks=2, correlation_id=6),
    )
    why = "any request after a parked Produce is handled after its response"
    timed = tuple(At(number, 200) for number in range(1, 7))
    return Case(
        "order/others-behind-parked", why, while_frozen(topic.name, Send(frames), Settle()), (topic,), "three", timed
    )


def _two_connections() -> Case:
    topic = Topic("order-two", replicas=3)
    steps = (
        Send((produce(topic.name, batch(b"a"), timeout_ms=400),)),
        Pause(50),
        Send(
            (produce(topic.name, batch(b"b1"), acks=1), produce(topic.name, batch(b"b2"), acks=1, correlation_id=2)),
            "b",
        ),
        Settle("b"),
        Settle("a"),
    )
    why = "a parked request delays only its own connection"
    timed = (At(1, 400), At(1, 0, 300, "b"), At(2, 0, 300, "b"))
    return Case("order/two-connections", why, while_frozen(topic.name, *steps), (topic,), "three", timed)


def _two_parked_short_and_long() -> Case:
    topic = Topic("order-short-long", replicas=3)
    steps = (
        Send((produce(topic.name, batch(b"long"), timeout_ms=5_000),)),
        Pause(50),
        Send((produce(topic.name, batch(b"short"), timeout_ms=150),), "b"),
        Settle("b"),
        Thaw(3),
        Settle("a"),
    )
    why = "two requests are parked on one partition: the later one times out, the earlier one succeeds after the thaw"
    timed = (At(1, 150, 500, "b"), At(1, 200))
    return Case("order/two-parked", why, while_frozen(topic.name, *steps), (topic,), "three", timed)


def _disconnect_while_parked() -> Case:
    topic = Topic("order-gone", replicas=3)
    # One request only: whether Kafka still reads what stands behind it is a race with the end of the connection.
    steps = (Send((produce(topic.name, batch(b"stays")),), "gone"), Pause(100), Disconnect("gone"), Pause(100))
    why = "a client disconnects while its request is parked: the record stays"
    return Case("order/disconnect-while-parked", why, while_frozen(topic.name, *steps), (topic,), "three")


def _acks_0_fails(name: str, records: bytes | None, to: str | None = None) -> Case:
    topic = Topic(f"order-acks-0-{name}")
    frames = (
        produce(topic.name, batch(b"before"), acks=1, correlation_id=1),
        produce(to or topic.name, records, acks=0, correlation_id=2),
        produce(topic.name, batch(b"never"), acks=1, correlation_id=3),
    )
    why = "an acks=0 request that fails closes the connection; requests after it are never handled"
    return Case(f"order/acks-0-{name}-closes", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _acks_0_half_fails() -> Case:
    topic = Topic("order-acks-0-half", partitions=2)
    bad = patched(batch(b"x"), 17, bytes(4), crc=False)
    frames = (
        produce(topic.name, {0: batch(b"stays"), 1: bad}, acks=0, correlation_id=1),
        produce(topic.name, batch(b"never"), acks=1, correlation_id=2),
    )
    why = "acks=0 to two partitions, and one fails: the other record stays, the connection is closed"
    return Case("order/acks-0-half-fails", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _acks_0_fails_behind_parked() -> Case:
    topic = Topic("order-acks-0-parked", replicas=3)
    frames = (
        produce(topic.name, batch(b"late"), timeout_ms=200, correlation_id=1),
        produce("order-nobody-either", batch(b"x"), acks=0, correlation_id=2),
        produce(topic.name, batch(b"never"), acks=1, correlation_id=3),
    )
    why = "an acks=0 request fails after a parked one: first the response, then the connection is closed"
    steps = while_frozen(topic.name, Send(frames, "b"), Settle("b"))
    return Case("order/acks-0-fails-behind-parked", why, steps, (topic,), "three", (At(1, 200, 500, "b"),))


CASES = [
    _mixed_acks_healthy(),
    _mixed_acks_frozen(),
    _three_parked_then_thawed(),
    _thaw_in_the_second(),
    _others_behind_parked(),
    _two_connections(),
    _two_parked_short_and_long(),
    _disconnect_while_parked(),
    _acks_0_fails("unknown-topic", batch(b"x"), to="order-nobody"),
    _acks_0_fails("bad-crc", patched(batch(b"x"), 17, bytes(4), crc=False)),
    _acks_0_fails("no-records", b""),
    _acks_0_half_fails(),
    _acks_0_fails_behind_parked(),
]
