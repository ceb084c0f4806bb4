"""confluent-kafka's producer at its defaults, in a process of its own: BOOTSTRAP TOPIC MESSAGES VALUE_BYTES.

Prints one line of JSON: the seconds from the first produce() to the end of flush(). The parent process asks the broker
whether all arrived: a delivery callback would cost more than the rest.
"""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Producer


def main(bootstrap: str, topic: str, messages: int, value_bytes: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.list_topics(topic, timeout=10)
    value = b"x" * value_bytes
    produce = producer.produce
    started = time.perf_counter()
    for _ in range(messages):
        while True:
            try:
                produce(topic, value)
                break
            except BufferError:
                producer.poll(0.001)
    left = producer.flush(60)
    seconds = time.perf_counter() - started
    if left:
        raise SystemExit(f"{left} messages were not delivered within 60 s")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
