"""Append, then lose the acknowledgement: a producer that is not idempotent writes twice, an idempotent one once.

pip install confluent-kafka
python examples/lost_acknowledgement.py
"""

from __future__ import annotations

from confluent_kafka import Producer

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Append
from fakebroker.core.journal.fault_events import FaultFired

with FakeCluster(brokers=3) as kafka:
    for topic, idempotent in (("plain", False), ("idempotent", True)):
        kafka.create_topic(topic, partitions=1, replication_factor=3)
        settings = {"bootstrap.servers": kafka.bootstrap_servers, "acks": "all", "log_level": 0}
        producer = Producer({**settings, "enable.idempotence": idempotent, "retry.backoff.ms": 10})
        fault = kafka.faults.add(when={"api": "Produce", "topic": topic, "at": "after_append"}, do="disconnect")
        producer.produce(topic, b"hello")
        assert producer.flush(20) == 0
        offsets = set()
        for event in kafka.journal:
            if isinstance(event, FaultFired) and event.fault == fault.id:
                print(f"{topic}: {event.fault} acts on request {event.request}: {event.done}, {event.at}")
            elif isinstance(event, Append) and event.topic == topic:
                offsets.add(event.base_offset)
                what = "is known already" if event.is_duplicate else "is written"
                print(f"{topic}: the record of request {event.request} {what}, offset {event.base_offset}")
        print(f"{topic}: sent {len(kafka.journal.produce(topic=topic))} times, written {len(offsets)} times")
