"""A transaction that runs out of its time of 60 s, which takes none: aborted, and its producer fenced.

pip install confluent-kafka
python examples/sixty_seconds.py
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException, Producer

from fakebroker import FakeCluster

TIMEOUT_MS = 60_000
LOOKS_EVERY_MS = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms


def read(bootstrap_servers: str, isolation_level: str) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": isolation_level,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation_level,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 0,  # no time passes on the manual clock
            "log_level": 0,
        }
    )
    consumer.subscribe(["orders"])
    values = []
    while (message := consumer.poll(10)) is not None and not message.error():
        values.append((message.value() or b"").decode())
    consumer.close()
    return values


with FakeCluster(clock="manual", config={"group.initial.rebalance.delay.ms": 0}) as kafka:
    kafka.create_topic("orders")
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": "shop",
            "transaction.timeout.ms": TIMEOUT_MS,
            "log_level": 0,
        }
    )
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.flush(10)

    started = time.monotonic()
    kafka.clock.advance(TIMEOUT_MS + LOOKS_EVERY_MS)
    print(f"for the broker 70 s went by, for us {1000 * (time.monotonic() - started):.0f} ms")
    try:
        producer.commit_transaction(10)
    except KafkaException as error:
        print("the producer was told:", error.args[0].name())
    print("who reads all:", read(kafka.bootstrap_servers, "read_uncommitted"))
    print("who reads what is committed:", read(kafka.bootstrap_servers, "read_committed"))
