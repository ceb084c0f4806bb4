"""min.insync.replicas, and what becomes of the ISR when a follower stays away for replica.lag.time.max.ms."""

from __future__ import annotations

from conformance.frames import batch, fetch, list_offsets, produce, produce_many
from conformance.scenario import At, AwaitIsr, Case, Freeze, Pause, ReadLog, Send, Settle, Step, Thaw, Topic
from conformance.shared_steps import warm

# A frozen follower was caught up at most replica.fetch.wait.max.ms (500) before. It leaves the ISR 1500 ms after that.
# The check for it runs every 750 ms.
_SHRINK_MS, _SHRINK_SLACK_MS = 1_000, 2_000
_ALL, _WITHOUT_3 = (1, 2, 3), (1, 2)


def _min_isr(value: int) -> dict[str, str]:
    return {"min.insync.replicas": str(value)}


def _full_isr(name: str, why: str, replicas: int, min_isr: int) -> Case:
    topic = Topic(f"min-isr-{name}", replicas=replicas, configs=_min_isr(min_isr))
    frames = tuple(
        produce(topic.name, batch(b"%d" % acks), acks=acks, correlation_id=number)
        for number, acks in enumerate((-1, 1, 0, -1), 1)
    )
    box = "one" if replicas == 1 else "three"
    return Case(f"min-isr/{name}", why, (*warm(topic.name), Send(frames), Settle(), ReadLog(topic.name)), (topic,), box)


def _shrunk(name: str, why: str, min_isr: int, *steps: Step, topic: Topic, timed: tuple[At, ...] = ()) -> Case:
    """The steps are done while the ISR is without broker 3, because of a record that it lacks; then it comes back."""
    topic = Topic(topic.name, topic.partitions, 3, topic.configs | _min_isr(min_isr))
    begin = (
        *warm(topic.name),
        Freeze(3),
        Send((produce(topic.name, batch(b"lacked"), acks=1, correlation_id=90),)),
        Settle(),
        AwaitIsr(topic.name, _WITHOUT_3),
    )
    end = (Thaw(3), AwaitIsr(topic.name, _ALL), ReadLog(topic.name))
    return Case(f"isr/{name}", why, (*begin, *steps, *end), (topic,), "lag", timed)


def _parked_while_it_shrinks(name: str, why: str, min_isr: int, timeout_ms: int, at: At) -> Case:
    topic = Topic(f"isr-{name}", replicas=3, configs=_min_isr(min_isr))
    steps = (
        *warm(topic.name),
        Freeze(3),
        Send((produce(topic.name, batch(b"parked"), timeout_ms=timeout_ms),)),
        Settle(),
        AwaitIsr(topic.name, _WITHOUT_3),
        Thaw(3),
        AwaitIsr(topic.name, _ALL),
        Send((produce(topic.name, batch(b"after"), correlation_id=2),)),
        Settle(),
        ReadLog(topic.name),
    )
    return Case(f"isr/{name}", why, steps, (topic,), "lag", (at,))


def _below_min_isr() -> Case:
    topic = Topic("isr-below")
    frames = (
        produce(topic.name, batch(b"refused"), correlation_id=1),
        produce(topic.name, batch(b"acks 1"), acks=1, correlation_id=2),
        produce(topic.name, batch(b"acks 0"), acks=0, correlation_id=3),
        produce(topic.name, batch(b"acks 2"), acks=2, correlation_id=4),
        fetch(topic.name, correlation_id=5),
        fetch(topic.name, 1, correlation_id=6),
        fetch(topic.name, 3, correlation_id=7),
        list_offsets(topic.name, -1, correlation_id=8),
        list_offsets(topic.name, -3, correlation_id=9),
    )
    why = (
        "acks=-1 gets NOT_ENOUGH_REPLICAS; acks 1 and 0 are appended, but not readable: the high watermark does "
        "not advance"
    )
    return _shrunk("below-min", why, 3, Send(frames), Settle(), topic=topic)


def _every_version_below() -> Case:
    topic = Topic("isr-versions")
    frames = tuple(
        produce(
            topic.placeholder if version >= 13 else topic.name, batch(b"x"), version=version, correlation_id=version
        )
        for version in range(3, 14)
    )
    return _shrunk(
        "not-enough-replicas", "NOT_ENOUGH_REPLICAS in every version", 3, Send(frames), Settle(), topic=topic
    )


def _enough_is_left() -> Case:
    topic = Topic("isr-enough")
    frames = (
        produce(topic.name, batch(b"two are enough"), correlation_id=1),
        fetch(topic.name, 1, correlation_id=2),
    )
    why = "an ISR as large as min.insync.replicas: acks=-1 needs only its two replicas"
    return _shrunk("equal-to-min", why, 2, Send(frames), Settle(), topic=topic, timed=(At(1, 0),))


def _partial() -> Case:
    low, other = Topic("isr-partial-low"), Topic("isr-partial-other")
    frame = produce_many({low.name: {0: batch(b"refused")}, other.name: {0: batch(b"ok")}})
    why = "NOT_ENOUGH_REPLICAS for one partition, NONE for another in the same response"
    case = _shrunk("partial", why, 3, Send((frame,)), Settle(), topic=low)
    return Case(case.name, why, (*case.steps, ReadLog(other.name)), (*case.topics, other), "lag")


def _leader_alone() -> Case:
    one, two = Topic("isr-alone-1", replicas=3), Topic("isr-alone-2", replicas=3, configs=_min_isr(2))
    steps = (
        *warm(one.name, two.name),
        Freeze(2),
        Freeze(3),
        Send((produce(one.name, batch(b"parked"), timeout_ms=9_000),)),
        Send((produce(two.name, batch(b"parked"), timeout_ms=4_000),), "b"),
        Settle(within_ms=12_000),
        Settle("b"),
        AwaitIsr(one.name, (1,)),
        AwaitIsr(two.name, (1,)),
        Send(
            (
                produce(one.name, batch(b"alone"), correlation_id=2),
                produce(two.name, batch(b"refused"), correlation_id=3),
                produce(two.name, batch(b"unseen"), acks=1, correlation_id=4),
                fetch(two.name, 1, correlation_id=5),
            )
        ),
        Settle(),
        Thaw(2),
        AwaitIsr(two.name, _WITHOUT_3),
        Send((produce(two.name, batch(b"two again"), correlation_id=6),)),
        Settle(),
        Thaw(3),
        AwaitIsr(one.name, _ALL),
        AwaitIsr(two.name, _ALL),
        ReadLog(one.name),
        ReadLog(two.name),
    )
    why = (
        "both followers leave: minimum 1 works with the leader alone; minimum 2 gets REQUEST_TIMED_OUT and "
        "NOT_ENOUGH_REPLICAS until one returns"
    )
    timed = (At(1, _SHRINK_MS, _SHRINK_SLACK_MS), At(1, 4_000, conn="b"))
    return Case("isr/leader-alone", why, steps, (one, two), "lag", timed)


def _stays_with_nothing_to_fetch() -> Case:
    topic = Topic("isr-idle", replicas=3)
    steps = (*warm(topic.name), Freeze(3), Pause(2_600), AwaitIsr(topic.name, _ALL), Thaw(3), ReadLog(topic.name))
    return Case(
        "isr/idle",
        "a follower with all records stays in the ISR, however long it does not fetch",
        steps,
        (topic,),
        "lag",
    )


def _parked_when_it_comes_back() -> Case:
    topic = Topic("isr-back", replicas=3, configs=_min_isr(3))
    steps = (
        *warm(topic.name),
        Freeze(3),
        Send((produce(topic.name, batch(b"parked"), timeout_ms=20_000),)),
        AwaitIsr(topic.name, _WITHOUT_3),
        Send((produce(topic.name, batch(b"refused"), correlation_id=2),), "b"),
        Settle("b"),
        Thaw(3),
        Settle(),
        AwaitIsr(topic.name, _ALL),
        ReadLog(topic.name),
    )
    why = (
        "a request is parked, the ISR shrinks below the minimum, the follower returns: NONE, since the high "
        "watermark advances again"
    )
    return Case("isr/parked-until-it-is-back", why, steps, (topic,), "lag", (At(1, _SHRINK_MS, 6_000),))


CASES = [
    _full_isr("above-replicas-1", "a minimum above the number of replicas counts as that number: one", 1, 3),
    _full_isr("above-replicas-3", "a minimum above the number of replicas counts as that number: three", 3, 5),
    _full_isr("equal-1", "a minimum of one with one replica", 1, 1),
    _full_isr("equal-3", "a minimum of three with three replicas in sync", 3, 3),
    _parked_while_it_shrinks(
        "parked-succeeds",
        "a request that waits for a follower completes when this leaves the ISR, if enough replicas are left",
        2,
        9_000,
        At(1, _SHRINK_MS, _SHRINK_SLACK_MS),
    ),
    _parked_while_it_shrinks(
        "parked-times-out",
        "too few in-sync replicas are left: the high watermark does not advance; REQUEST_TIMED_OUT, not "
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND (3.7 and later)",
        3,
        3_500,
        At(1, 3_500),
    ),
    _parked_when_it_comes_back(),
    _below_min_isr(),
    _every_version_below(),
    _enough_is_left(),
    _partial(),
    _leader_alone(),
    _stays_with_nothing_to_fetch(),
]
