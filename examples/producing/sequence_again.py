"""A batch of an idempotent producer expires: before it was ever sent, and after. What becomes of its sequence?

python examples/producing/sequence_again.py
"""

from __future__ import annotations

from story import Story

from fakebroker.core.journal import events as broker
from fakebroker.producer.journal import events

UNSENT, SENT, BEFORE = 0, 1, 2  # partitions


def tell() -> Story:
    config = {"broker.session.timeout.ms": "1000"}
    story = Story("Broker 2 dies, batches of idempotent producers expire", brokers=2, config=config)
    story.cluster.topic("orders", partitions=3, replicas=2)
    for partition, leader in ((UNSENT, 2), (SENT, 1), (BEFORE, 2)):
        story.cluster.move_leader(leader, "orders", partition)
    since = {"request_timeout_ms": 300, "delivery_timeout_ms": 400, "linger_ms": 0}
    unsent = story.producer("unsent", "4.3", **since)
    sent = story.producer("sent", "4.3", **since)
    before = story.producer("2.0 sent", "2.0", enable_idempotence=True, acks="all", request_timeout_ms=300)
    places = {UNSENT: unsent, SENT: sent, BEFORE: before}
    for partition, producer in places.items():
        story.send(producer, partition=partition, key="a")
    story.begin()

    story.send(before, partition=BEFORE, key="b")
    story.cluster.kill(2)
    story.advance(5)
    for partition, producer in ((UNSENT, unsent), (SENT, sent)):
        story.send(producer, partition=partition, key="b")
    story.advance(1_495)
    for partition, producer in places.items():
        story.send(producer, partition=partition, key="c")
    story.advance(300)
    story.tell(
        broker.Append, broker.LeaderChanged, events.BatchDrained, events.BatchRetried, events.BatchExpired,
        events.BatchResequenced, events.ProducerIdChanged,
    )  # fmt: skip
    for partition, producer in places.items():
        print(f"in the log of {producer.producer.config.client_id}: {', '.join(story.log(partition))}")
    return story


if __name__ == "__main__":
    tell()
