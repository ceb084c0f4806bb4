"""librdkafka's mock cluster in a process of its own: prints its addresses as one line of JSON, ends with its stdin.

It lives in threads of librdkafka, outside the interpreter's lock; Python only waits here. Topics are made by asking for
their metadata, with 4 partitions.
"""

from __future__ import annotations

import json
import sys

import confluent_kafka


def main(brokers: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": brokers, "log_level": 0})
    metadata = producer.list_topics(timeout=10)
    addresses = [
        f"{metadata.brokers[number].host}:{metadata.brokers[number].port}" for number in sorted(metadata.brokers)
    ]
    version = f"{confluent_kafka.libversion()[0]}, confluent-kafka {confluent_kafka.version()}"
    print(json.dumps({"addresses": addresses, "version": version}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
