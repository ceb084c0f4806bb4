"""KIP-91: delivery.timeout.ms bounds all of it, queue, flight and retries; before, each attempt began anew.

python examples/producing/delivery_timeout.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("Every attempt times out: Kafka 2.0, and 4.3 with delivery.timeout.ms=1000", brokers=2)
    story.cluster.topic("orders", partitions=2, replicas=2)
    settings = {"acks": "all", "retries": 6, "request_timeout_ms": 300, "linger_ms": 0}
    before = story.producer("before", "2.0", **settings)
    since = story.producer("since", "4.3", delivery_timeout_ms=1_000, enable_idempotence=False, **settings)
    for partition, producer in enumerate((before, since)):
        story.cluster.move_leader(1, "orders", partition)
        story.send(producer, partition=partition)
    story.begin()

    story.cluster.followers("frozen")
    for partition, producer in enumerate((before, since)):
        story.send(producer, partition=partition, key="a")
    story.advance(3_500)
    story.tell(events.BatchDrained, events.BatchRetried, events.BatchExpired, events.RecordCalledBack)
    print(f"copies in the log: {len(story.log(0))} of before, {len(story.log(1))} of since")
    return story


if __name__ == "__main__":
    tell()
