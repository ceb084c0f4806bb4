"""Before KIP-91 a batch that was not sent expired for one of three reasons: each of them, alone.

python examples/producing/expiry_reasons.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("Kafka 2.0: the three reasons to expire, request.timeout.ms=400")
    story.cluster.topic("orders", replicas=1)
    full = story.producer("full", "2.0", request_timeout_ms=400, linger_ms=50, batch_size=1_000)
    lingers = story.producer("lingers", "2.0", request_timeout_ms=400, linger_ms=50, batch_size=1_000)
    retried = story.producer("retried", "2.0", request_timeout_ms=400, retries=5)
    for producer in (full, lingers, retried):
        story.send(producer)  # so that each knows where the partition is
    story.begin()

    story.send(retried)
    story.cluster.kill(1)
    for _ in range(3):  # two of them fill a batch
        story.send(full, size=450)
        story.send(lingers, size=10)
        story.advance(20)
    story.advance(540)
    story.tell(events.RecordAppended, events.BatchRetried, events.BatchExpired)
    return story


if __name__ == "__main__":
    tell()
