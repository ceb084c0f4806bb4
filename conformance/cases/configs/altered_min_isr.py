"""min.insync.replicas is altered while requests wait, and between them."""

from __future__ import annotations

from conformance.config_frames import SET, TOPIC, incremental
from conformance.frames import batch, produce
from conformance.scenario import AwaitIsr, Case, CatchUp, Freeze, Pause, ReadLog, Send, Settle, Step, Thaw, Topic
from conformance.shared_steps import warm

_ALL, _WITHOUT_3 = (1, 2, 3), (1, 2)


def _altered(topic: Topic, value: int) -> tuple[Step, ...]:
    """Over another connection; until the brokers act on it."""
    frame = incremental((TOPIC, topic.name, [("min.insync.replicas", SET, str(value))]), correlation_id=50 + value)
    return Send((frame,), "b"), Settle("b"), CatchUp(), Pause(100)


def _without_3(name: str, why: str, topic: Topic, *steps: Step) -> Case:
    """The steps are done while the ISR is without broker 3, because of a record that it lacks; then it comes back."""
    begin = (
        *warm(topic.name),
        Freeze(3),
        Send((produce(topic.name, batch(b"lacked"), acks=1, correlation_id=90),)),
        Settle(),
        AwaitIsr(topic.name, _WITHOUT_3),
    )
    end = (Thaw(3), AwaitIsr(topic.name, _ALL), ReadLog(topic.name))
    return Case(f"altered-min-isr/{name}", why, (*begin, *steps, *end), (topic,), "lag")


def _topic(name: str, min_isr: int) -> Topic:
    return Topic(f"altered-min-isr-{name}", replicas=3, configs={"min.insync.replicas": str(min_isr)})


_RAISED, _PARKED, _LOWERED, _BACK = _topic("raised", 2), _topic("parked", 2), _topic("lowered", 3), _topic("back", 2)

CASES: list[Case] = [
    _without_3(
        "raised",
        "min.insync.replicas is raised above the ISR: then acks=-1 is refused, acks=1 is not",
        _RAISED,
        *_altered(_RAISED, 3),
        Send(tuple(produce(_RAISED.name, batch(b"x"), acks=acks, correlation_id=5 + acks) for acks in (-1, 1))),
        Settle(),
    ),
    _without_3(
        "raised-while-it-waits",
        "appended with enough in-sync replicas, replicated when there are too few "
        "(Partition.checkEnoughReplicasReachOffset); the high watermark does not advance",
        _PARKED,
        Freeze(2),
        Send((produce(_PARKED.name, batch(b"parked"), timeout_ms=900, correlation_id=1),)),
        *_altered(_PARKED, 3),
        Thaw(2),
        Settle(),
    ),
    _without_3(
        "lowered",
        "min.insync.replicas is lowered to the size of the ISR: refused before, appended after",
        _LOWERED,
        Send((produce(_LOWERED.name, batch(b"no"), correlation_id=1),)),
        Settle(),
        *_altered(_LOWERED, 2),
        Send((produce(_LOWERED.name, batch(b"yes"), correlation_id=2),)),
        Settle(),
    ),
    _without_3(
        "raised-and-lowered-while-it-waits",
        "the high watermark does not advance below the minimum; then the next record advances it",
        _BACK,
        Freeze(2),
        Send((produce(_BACK.name, batch(b"parked"), timeout_ms=20_000, correlation_id=1),)),
        *_altered(_BACK, 3),
        Thaw(2),
        Pause(200),
        *_altered(_BACK, 2),
        Send((produce(_BACK.name, batch(b"next"), correlation_id=7),), "c"),
        Settle("c"),
        Settle(),
    ),
]
