"""acks 0, 1 and -1, with followers that fetch and followers that do not, and every kind of timeout."""

from __future__ import annotations

from conformance.frames import batch, produce
from conformance.scenario import At, Case, Listen, ReadLog, Send, Settle, Thaw, Topic
from conformance.shared_steps import warm, while_frozen

_MAX, _MIN = 2**31 - 1, -(2**31)


def _answered_late(name: str, why: str, timeout_ms: int, at_ms: int) -> Case:
    topic = Topic(f"acks-{name}", replicas=3)
    frame = produce(topic.name, batch(b"late"), timeout_ms=timeout_ms)
    return Case(
        f"acks/{name}",
        why,
        while_frozen(topic.name, Send((frame,)), Settle()),
        (topic,),
        "three",
        (At(1, at_ms),),
    )


def _every_version() -> list[Case]:
    cases = []
    for version in range(3, 14):
        topic = Topic(f"acks-late-v{version}", replicas=3)
        name = topic.placeholder if version >= 13 else topic.name
        frame = produce(name, batch(b"late"), version=version, timeout_ms=100)
        cases.append(
            Case(
                f"acks/late-v{version}",
                "REQUEST_TIMED_OUT comes with base offset, append time and log start offset (DelayedProduce)",
                while_frozen(topic.name, Send((frame,)), Settle()),
                (topic,),
                "three",
                (At(1, 100),),
            )
        )
    return cases


def _healthy(name: str, why: str, replicas: int, timeouts_ms: tuple[int, ...], acks: int = -1) -> Case:
    topic = Topic(f"acks-{name}", replicas=replicas)
    frames = tuple(
        produce(topic.name, batch(b"%d" % number), acks=acks, timeout_ms=timeout_ms, correlation_id=number)
        for number, timeout_ms in enumerate(timeouts_ms, 1)
    )
    box = "one" if replicas == 1 else "three"
    return Case(f"acks/{name}", why, (*warm(topic.name), Send(frames), Settle(), ReadLog(topic.name)), (topic,), box)


def _frozen(name: str, why: str, acks: int, *timed: At) -> Case:
    topic = Topic(f"acks-{name}", replicas=3)
    frames = tuple(produce(topic.name, batch(b"%d" % n), acks=acks, correlation_id=n) for n in (1, 2))
    return Case(f"acks/{name}", why, while_frozen(topic.name, Send(frames), Settle()), (topic,), "three", timed)


def _huge_timeout() -> Case:
    topic = Topic("acks-huge", replicas=3)
    frame = produce(topic.name, batch(b"late"), timeout_ms=_MAX)
    steps = (Send((frame,)), Listen(100), Thaw(3), Settle())
    why = (
        "a timeout of 25 days: the request is parked until the follower has fetched (overflow wheels of the "
        "timing wheel)"
    )
    return Case("acks/frozen-timeout-max", why, while_frozen(topic.name, *steps), (topic,), "three", (At(1, 100),))


CASES = [
    _frozen(
        "frozen-acks-1", "acks=1 gets its response after the append, whatever the followers do", 1, At(1, 0), At(2, 0)
    ),
    _frozen("frozen-acks-0", "acks=0 gets no response, and the batch is appended", 0),
    _answered_late(
        "frozen-timeout-0", "a timeout of 0 expires at once: REQUEST_TIMED_OUT, and the batch is appended", 0, 0
    ),
    _answered_late(
        "frozen-timeout--1", "a negative timeout expires at once: REQUEST_TIMED_OUT, and the batch is appended", -1, 0
    ),
    _answered_late("frozen-timeout-min", "the lowest possible timeout expires at once", _MIN, 0),
    _answered_late("frozen-timeout-1", "the smallest timeout", 1, 1),
    _answered_late("frozen-timeout-50", "a short timeout", 50, 50),
    _huge_timeout(),
    _healthy(
        "healthy-one",
        "one replica: the append alone completes acks=-1, with any timeout",
        1,
        (0, -1, 1, 50, _MAX, _MIN),
    ),
    _healthy("healthy-three", "three replicas that fetch: NONE, long before the timeout", 3, (5_000, 60_000, _MAX)),
    _healthy(
        "healthy-over-at-once",
        "three replicas and a timeout of 0: REQUEST_TIMED_OUT before a follower can fetch",
        3,
        (0, -1, _MIN),
    ),
    _healthy("healthy-acks-1", "acks=1 ignores the timeout", 3, (0, -1, _MAX), acks=1),
    _healthy("healthy-acks-0", "acks=0 ignores the timeout", 3, (0, -1, _MAX), acks=0),
    *_every_version(),
]
