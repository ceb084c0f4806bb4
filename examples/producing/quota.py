"""A quota below what is offered: records pile up in the producer, and expire there, for as long as it is offered.

python examples/producing/quota.py
"""

from __future__ import annotations

from story import Story

from fakebroker.core.journal import events as broker
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.producer.journal import events

RECORD_BYTES, EVERY_MS = 190_000, 100  # 1.9 MB/s
SECONDS = 20


def tell() -> Story:
    story = Story("1.9 MB/s offered: a quota of 1 MB/s, and of 2 MB/s")
    story.cluster.topic("orders", partitions=2, replicas=1)
    shops = []
    for partition, name in enumerate(("1 MB/s", "2 MB/s")):
        quota = {"producer_byte_rate": (partition + 1) * 1_000_000.0}
        story.cluster.cluster.members.client_quotas.alter(QuotaEntity(None, name), quota)
        shops.append(story.producer(name, "2.0", request_timeout_ms=3_000, acks="1"))
        story.send(shops[-1], partition=partition)
    story.begin()

    for _ in range(SECONDS * 1_000 // EVERY_MS):
        for partition, shop in enumerate(shops):
            story.send(shop, RECORD_BYTES, partition=partition)
        story.advance(EVERY_MS)
    story.advance(6_000)
    for shop in shops:
        tell_of(story, shop.producer.config.client_id)
    return story


def tell_of(story: Story, name: str) -> None:
    """Print what happened to the records of the producer that has this quota."""
    steps = story.steps()
    own = [(step.elapsed_ms, step.event) for step in steps if step.where == name]
    back = [(at_ms, event.error) for at_ms, event in own if isinstance(event, events.RecordCalledBack)]
    expired_ms = [at_ms for at_ms, event in own if isinstance(event, events.BatchExpired)]
    written_ms = [at_ms for at_ms, error in back if error == "NONE"]
    connections = {
        step.event.connection
        for step in steps
        if isinstance(step.event, broker.Request) and step.event.client_id == name
    }
    throttled = [
        (step.elapsed_ms, step.event.throttle_time_ms)
        for step in steps
        if isinstance(step.event, broker.Throttled) and step.event.connection in connections
    ]
    lost_ms = [at_ms for at_ms, error in back if error == "NETWORK_EXCEPTION"]
    print(f"quota {name}: {len(back)} records offered, {len(written_ms)} written")
    if throttled:
        first_ms, longest_ms = throttled[0][0], max(ms for _, ms in throttled)
        print(f"  throttled {len(throttled)} times, first at {first_ms:,} ms, for {longest_ms:,} ms at most")
    if expired_ms:
        print(f"  {len(expired_ms)} expired in the queue, the first at {expired_ms[0]:,} ms")
    if lost_ms:
        print(f"  {len(lost_ms)} were over their time in flight, the first at {lost_ms[0]:,} ms")
    steady = sum(10_000 <= at_ms < 20_000 for at_ms in written_ms) * RECORD_BYTES / 10
    print(f"  from 10 to 20 s {steady / 1e6:.2f} MB were written each second")


if __name__ == "__main__":
    tell()
