"""A produce timeout of 30 s that takes no time: the broker's clock in your hand, and its journal as the witness.

pip install confluent-kafka
python examples/thirty_seconds.py
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, Message, Producer

from fakebroker import FakeCluster

TIMEOUT_MS = 30_000


def delivered(error: KafkaError | None, message: Message) -> None:
    print("the client was told:", error.name() if error is not None else "NONE")


with FakeCluster(clock="manual") as kafka:
    kafka.create_topic("kafkatest")
    kafka.followers.freeze("kafkatest")
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "acks": "all",
            "request.timeout.ms": TIMEOUT_MS,
            "retries": 0,
            "log_level": 0,  # no word about the cluster going away at the end
        }
    )
    started = time.monotonic()
    producer.produce("kafkatest", b"hello", on_delivery=delivered)
    # Its thread sends the request when it likes; until then nothing waits at the broker.
    while (went_ms := kafka.clock.advance_to_next_deadline()) is None:
        time.sleep(0.001)
    producer.flush(10)
    print(f"for the broker {went_ms} ms went by, for us {time.monotonic() - started:.1f} s")

    (entry,) = kafka.journal.produce(topic="kafkatest").expect("REQUEST_TIMED_OUT", count=1)
    print("the journal:", entry)
