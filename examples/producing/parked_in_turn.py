"""T, 2T, 3T: a broker handles one request of a connection after the other, and each is parked for its own timeout.

python examples/producing/parked_in_turn.py
"""

from __future__ import annotations

from story import Story

from fakebroker.core.journal import events as broker
from fakebroker.producer.journal import events
from fakebroker.testing import wire

T_MS = 500


def tell() -> Story:
    story = Story(f"Frozen followers, T = {T_MS} ms: a client that waits, and a producer that has a clock", brokers=2)
    story.cluster.topic("orders", partitions=3, replicas=2)
    for partition in range(3):
        story.cluster.move_leader(1, "orders", partition)
    shop = story.producer("shop", "4.3", acks="all", request_timeout_ms=T_MS, linger_ms=0, retries=0)
    story.send(shop)
    client = story.cluster.connect(1)
    story.begin()

    story.cluster.followers("frozen")
    batch = wire.batch(b"v", 1, story.cluster.now.wall_ms)
    for number in (1, 2, 3):
        client.send(wire.produce(number, -1, T_MS, [(("orders", number - 1), batch)]))
    for partition in range(3):
        story.send(shop, partition=partition)
        story.advance(10)
    story.advance(3 * T_MS - 20)
    story.tell(broker.Answer, events.RequestSent, events.AnswerReceived, events.Disconnected, events.RecordCalledBack)
    return story


if __name__ == "__main__":
    tell()
