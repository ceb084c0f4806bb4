"""A leader dies after it has answered, and before its followers have the record: acks=0, 1 and all.

python examples/producing/acks.py
"""

from __future__ import annotations

from story import Story

from fakebroker.core.journal import events as broker
from fakebroker.core.journal.broker_events import BrokerKilled
from fakebroker.producer.journal import events


def tell() -> Story:
    config = {"broker.session.timeout.ms": "1000"}
    story = Story("The leader dies: acks=0, acks=1, acks=all", brokers=3, config=config)
    story.cluster.topic("orders", partitions=3, replicas=3)
    shops = []
    for partition, acks in enumerate(("0", "1", "all")):
        story.cluster.move_leader(1, "orders", partition)
        settings = {"request_timeout_ms": 2_000, "linger_ms": 0, "enable_idempotence": acks == "all"}
        shops.append(story.producer(f"acks={acks}", "4.3", acks=acks, **settings))
        story.send(shops[-1], partition=partition, key="a")
    story.begin()

    story.cluster.followers("frozen")
    for partition, shop in enumerate(shops):
        story.send(shop, partition=partition, key="b")
    story.advance(50)
    for partition, shop in enumerate(shops):
        story.send(shop, partition=partition, key="c")
    story.cluster.kill(1)
    story.cluster.followers("instant")
    story.advance(2_500)
    story.tell(
        events.RecordSent, events.RecordCalledBack, events.Disconnected, events.BatchRetried, BrokerKilled,
        broker.LeaderChanged,
    )  # fmt: skip
    for partition, shop in enumerate(shops):
        print(f"in the log of {shop.producer.config.client_id}: {', '.join(story.log(partition))}")
    return story


if __name__ == "__main__":
    tell()
