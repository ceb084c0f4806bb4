"""A broker that says nothing: the oldest request is over its time, so the connection is closed, and all of them fail.

python examples/producing/silent_broker.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("A silent broker: request.timeout.ms=400, three requests in flight")
    story.cluster.topic("orders", partitions=3, replicas=1)
    settings = {"request_timeout_ms": 400, "retries": 0, "acks": "1", "linger_ms": 0}
    before = story.producer("before", "2.0", **settings)
    since = story.producer("since", "4.3", **settings)
    for producer in (before, since):
        story.send(producer)
    story.begin()

    story.cluster.pause(1)
    for partition in range(3):
        for producer in (before, since):
            story.send(producer, partition=partition)
        story.advance(150)
    story.advance(300)
    story.tell(events.RequestSent, events.Disconnected, events.RecordCalledBack)
    return story


if __name__ == "__main__":
    tell()
