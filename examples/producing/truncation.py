"""A follower fails and comes back, then the leader does: what each of them cuts off its log, by epoch.

python examples/producing/truncation.py
"""

from __future__ import annotations

from story import Story

from fakebroker.core.journal.broker_events import BrokerKilled, BrokerStarted
from fakebroker.core.journal.events import LeaderChanged
from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("A follower fails, and then the leader", brokers=3, config={"broker.session.timeout.ms": "1000"})
    story.cluster.topic("orders", replicas=3)
    shop = story.producer("shop", "4.3", acks="1", enable_idempotence=False, linger_ms=0)
    story.send(shop, key="a")
    story.begin()

    story.cluster.followers("frozen", broker=3)
    story.send(shop, key="b")
    story.advance(100)
    tell_logs(story, "b is at brokers 1 and 2, and not at 3")
    story.cluster.kill(2)
    story.advance(500)
    story.cluster.followers("frozen", broker=2)  # it cuts its log, and fetches nothing
    story.cluster.start(2)
    story.advance(900)
    tell_logs(story, "broker 2 is back")

    for broker in (2, 3):
        story.cluster.followers("instant", broker=broker)
    story.advance(100)
    for broker in (2, 3):
        story.cluster.followers("frozen", broker=broker)
    story.send(shop, key="c")
    story.advance(100)
    tell_logs(story, "c is at broker 1, and nowhere else")
    story.cluster.kill(1)
    for broker in (2, 3):
        story.cluster.followers("instant", broker=broker)
    story.advance(1_200)
    story.send(shop, key="d")
    story.advance(1_000)
    tell_logs(story, "broker 1 is dead, another one leads")
    story.cluster.start(1)
    story.advance(200)
    tell_logs(story, "broker 1 is back")
    print("What happened:")
    story.tell(BrokerKilled, BrokerStarted, LeaderChanged, events.RecordSent, events.RecordCalledBack)
    return story


def tell_logs(story: Story, what: str) -> None:
    """Each replica's keys, watermark and epochs, an epoch as number@first offset."""
    print(f"{what}:")
    partition = story.cluster.partition("orders")
    for broker, replica in partition.replicas.items():
        epochs = " ".join(f"{entry.epoch}@{entry.start_offset}" for entry in replica.leader_epochs.entries)
        leads = ", leads" if broker == partition.leader_id else ""
        keys = " ".join(story.log(broker=broker))
        print(f"  broker {broker}: {keys:<6} watermark {replica.log.high_watermark}, epochs {epochs}{leads}")


if __name__ == "__main__":
    tell()
