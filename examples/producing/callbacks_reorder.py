"""Expired batches called back out of order: the queue is checked before the batches in flight (KIP-91).

python examples/producing/callbacks_reorder.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("Kafka 4.3: delivery.timeout.ms=500, the broker stands still")
    story.cluster.topic("orders", replicas=1)
    shop = story.producer(
        "shop",
        "4.3",
        delivery_timeout_ms=500,
        request_timeout_ms=500,
        linger_ms=0,
        batch_size=1,
        max_in_flight_requests_per_connection=1,
        enable_idempotence=False,
    )
    story.send(shop)
    story.begin()

    story.cluster.pause(1)
    story.send(shop, key="first")
    story.advance(10)
    for key in ("a", "b", "c"):  # all wait
        story.send(shop, key=key)
    story.advance(190)
    story.cluster.resume(1)
    story.advance(1)  # the first is answered, a is on its way
    story.cluster.pause(1)
    story.advance(600)
    story.tell(events.RecordSent, events.BatchDrained, events.BatchExpired, events.RecordCalledBack)
    return story


if __name__ == "__main__":
    tell()
