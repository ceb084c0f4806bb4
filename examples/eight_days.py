"""A consumer that is away for eight days: what its group had committed is forgotten after seven.

pip install confluent-kafka
python examples/eight_days.py
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, Producer

from fakebroker import FakeCluster

DAY_MS = 24 * 60 * 60 * 1000


def read(bootstrap_servers: str) -> list[str]:
    """Return the records that are new to the group, and commit their offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "invoices",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 0,  # do not wait at the end of a partition: no time passes
            "log_level": 0,  # no word about connections that were idle for days
        }
    )
    consumer.subscribe(["orders"])
    records: list[str] = []
    while (message := consumer.poll(10)) is not None and not message.error():  # an error is the end of the partition
        records.append((message.value() or b"").decode())
    if records:
        consumer.commit(asynchronous=False)
    consumer.close()
    return records


with FakeCluster(clock="manual", config={"group.initial.rebalance.delay.ms": 0}) as kafka:
    kafka.create_topic("orders", partitions=1, configs={"retention.ms": -1})
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    for order in ("one", "two", "three"):
        producer.produce("orders", order)
    producer.flush(10)

    print("at first:         ", read(kafka.bootstrap_servers))
    print("at once again:    ", read(kafka.bootstrap_servers))
    kafka.clock.advance(6 * DAY_MS)
    print("after six days:   ", read(kafka.bootstrap_servers))
    started = time.monotonic()
    kafka.clock.advance(8 * DAY_MS)
    print("eight days later: ", read(kafka.bootstrap_servers))
    print(f"which took {time.monotonic() - started:.1f} s")
