"""Error 7 does not mean "not written": a retry writes the record twice, an idempotent retry writes it once.

python examples/producing/duplicate.py
"""

from __future__ import annotations

from story import Story

from fakebroker.core.journal import events as broker
from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("Error 7, and again: without idempotence, and with it", brokers=2)
    story.cluster.topic("orders", partitions=2, replicas=2)
    settings = {"acks": "all", "retries": 5, "request_timeout_ms": 5_000, "linger_ms": 0}
    plain = story.producer("plain", "4.3", enable_idempotence=False, **settings)
    idempotent = story.producer("idempotent", "4.3", enable_idempotence=True, **settings)
    for partition, producer in enumerate((plain, idempotent)):
        story.cluster.move_leader(1, "orders", partition)
        story.send(producer, partition=partition)
    story.begin()

    story.cluster.followers("frozen")
    story.at(5_050, lambda: story.cluster.followers("instant"))
    for partition, producer in enumerate((plain, idempotent)):
        story.send(producer, partition=partition, key="a")
    story.advance(5_500)
    story.tell(broker.Append, broker.Answer, events.BatchRetried, events.RecordCalledBack)
    print(f"in the log of plain: {', '.join(story.log(0))}")
    print(f"in the log of idempotent: {', '.join(story.log(1))}")
    return story


if __name__ == "__main__":
    tell()
