"""Get a REQUEST_TIMED_OUT with a stock client: the followers of the cluster are frozen.

pip install confluent-kafka
python examples/request_timed_out.py
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, Message, Producer

from fakebroker import FakeCluster

with FakeCluster(brokers=3) as kafka:
    kafka.create_topic("kafkatest", partitions=2, replication_factor=3)
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "acks": "all",
            "request.timeout.ms": 500,  # what the broker is asked to wait
            "socket.timeout.ms": 10_000,  # what the client itself waits: longer, or its own timer hides the answer
            "retries": 0,  # a retry would hide it too
            "log_level": 0,  # no word about the cluster going away at the end
        }
    )

    def send(what: str) -> None:
        started = time.monotonic()

        def delivered(error: KafkaError | None, message: Message) -> None:
            outcome = error.name() if error is not None else "NONE"
            print(f"{what:<28}{outcome:<20}offset {message.offset()}   {(time.monotonic() - started) * 1000:4.0f} ms")

        producer.produce("kafkatest", b"hello", partition=0, on_delivery=delivered)
        producer.flush(10)

    send("healthy:")
    kafka.followers.freeze("kafkatest", partition=0)
    send("followers frozen:")
    kafka.followers.lag(200, "kafkatest", partition=0)
    send("followers 200 ms behind:")
    kafka.followers.instant("kafkatest", partition=0)
    send("healthy again:")
