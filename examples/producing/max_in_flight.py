"""Order: with one request in flight a partition waits for its answer; with five, what is tried again comes last.

python examples/producing/max_in_flight.py
"""

from __future__ import annotations

from story import Story

from fakebroker.producer.journal import events


def tell() -> Story:
    story = Story("The first request fails: max.in.flight.requests.per.connection=1, and 5", brokers=2)
    story.cluster.topic("orders", partitions=2, replicas=2)
    settings = {"acks": "all", "retries": 5, "request_timeout_ms": 200}
    one = story.producer("one", "2.0", max_in_flight_requests_per_connection=1, **settings)
    five = story.producer("five", "2.0", max_in_flight_requests_per_connection=5, **settings)
    places = {one: 0, five: 1}  # each has a partition of its own
    for producer, partition in places.items():
        story.cluster.move_leader(1, "orders", partition)
        story.send(producer, partition=partition)
    story.begin()

    story.cluster.followers("frozen")
    story.at(202, lambda: story.cluster.followers("instant"))
    for key in ("a", "b", "c"):
        for producer, partition in places.items():
            story.send(producer, partition=partition, key=key)
        story.advance(10)
    story.advance(1_000)
    story.tell(events.RecordSent, events.BatchDrained, events.BatchRetried, events.RecordCalledBack)
    for producer, partition in places.items():
        print(f"in the log of {producer.producer.config.client_id}: {', '.join(story.log(partition))}")
    return story


if __name__ == "__main__":
    tell()
