"""buffer.memory is full: send() blocks, in turn, and gives up after max.block.ms.

python examples/producing/buffer_memory.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("Kafka 4.3: buffer.memory=3000, batch.size=1000, max.block.ms=300")
    story.cluster.topic("orders", replicas=1)
    shop = story.producer(
        "shop", "4.3", buffer_memory=3_000, batch_size=1_000, max_block_ms=300, linger_ms=0, acks="1",
        request_timeout_ms=1_000, delivery_timeout_ms=1_000, enable_idempotence=False,
    )  # fmt: skip
    story.send(shop)
    story.begin()

    story.cluster.pause(1)
    story.at(400, lambda: story.cluster.resume(1))
    for key in ("a", "b", "c", "d", "e"):
        story.send(shop, size=900, key=key)  # a batch each
        story.advance(30)
    story.advance(1_000)
    story.tell(
        events.RecordAppended,
        events.RecordBlocked,
        events.RecordUnblocked,
        events.RecordRefused,
        events.RecordCalledBack,
    )
    print(f"in the log: {', '.join(story.log())}")
    return story


if __name__ == "__main__":
    tell()
