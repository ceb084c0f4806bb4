"""Metadata that never comes: send() waits max.block.ms for a topic that is not there, and for brokers that are not.

python examples/producing/no_metadata.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("Kafka 4.3: no metadata, max.block.ms=1000", config={"auto.create.topics.enable": "false"})
    story.cluster.topic("orders", partitions=2, replicas=1)
    settings = {"max_block_ms": 1_000, "linger_ms": 0}
    mistyped = story.producer("mistyped", "4.3", **settings)
    partition = story.producer("partition", "4.3", **settings)
    late = story.producer("late", "4.3", **settings)
    story.begin()

    story.send(mistyped, topic="oders")
    story.send(partition, partition=7)
    story.at(500, lambda: story.cluster.topic("invoices", replicas=1))
    story.send(late, topic="invoices")
    story.advance(1_500)
    for producer in (mistyped, partition, late):
        producer.producer.close(story.producers.now_ms, timeout_ms=0)
        producer.settle()
    story.cluster.kill(1)
    lost = story.producer("lost", "4.3", **settings)
    story.send(lost)
    story.advance(1_100)
    story.tell(events.RecordSent, events.RecordUnblocked, events.RecordRefused, events.RecordCalledBack)
    return story


if __name__ == "__main__":
    tell()
