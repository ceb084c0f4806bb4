"""Steps that many cases share."""

from __future__ import annotations

from conformance.frames import batch, produce
from conformance.scenario import Freeze, ReadLog, Send, Settle, Step, Thaw

WARM_ID = 100


def warm(*topics: str, partitions: int = 1) -> tuple[Step, ...]:
    """A record in each partition, on every replica: then all followers fetch, and all watermarks are 1."""
    frames = (
        produce(topic, {index: batch(b"before") for index in range(partitions)}, correlation_id=WARM_ID + number)
        for number, topic in enumerate(topics)
    )
    return Send(tuple(frames)), Settle()


def while_frozen(topic: str, *steps: Step, broker: int = 3) -> tuple[Step, ...]:
    """The steps are done while a broker does not fetch; what is in the log afterwards."""
    return *warm(topic), Freeze(broker), *steps, Thaw(broker), ReadLog(topic)
