"""A member of a group, as a program of its own that can be killed: python -m support.group_member PLAN

PLAN     JSON: client, bootstrap, group, topic, settings (of the client, by its own names), stop_after
stdout   a line of JSON whenever something happens: {"assigned": [partition, ...]}, {"revoked": [partition, ...]} (what
         the client says of it), {"read": [value, ...]}, and {"closed": true} at the end, after SIGTERM or when
         `stop_after` records were read and committed
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

stopped = threading.Event()


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Told:
    """A reporter of assignments, which prints a changed one."""

    def __init__(self, stop_after: int | None) -> None:
        self._assigned: list[int] | None = None
        self._left = stop_after

    def assigned(self, partitions: Iterable[int]) -> None:
        indexes = sorted(partitions)
        if indexes != (self._assigned or []):
            self._assigned = indexes
            tell(assigned=indexes)

    def read(self, values: list[bytes]) -> None:
        if values:
            tell(read=[value.decode() for value in values])
        if self._left is not None:
            self._left -= len(values)
            if self._left <= 0:
                stopped.set()


def confluent(plan: dict[str, Any]) -> None:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": plan["bootstrap"], "group.id": plan["group"], "auto.offset.reset": "earliest"}
    consumer = Consumer(settings | plan["settings"])
    member = Told(plan["stop_after"])
    consumer.subscribe(
        [plan["topic"]], on_revoke=lambda _, parts: tell(revoked=sorted(part.partition for part in parts))
    )
    while not stopped.is_set():
        message = consumer.poll(0.1)
        member.assigned(part.partition for part in consumer.assignment())
        if message is not None:
            if message.error():
                tell(error=str(message.error()))
            else:
                member.read([message.value() or b""])
    consumer.close()


def kafka_python(plan: dict[str, Any]) -> None:
    from kafka import KafkaConsumer

    settings = {"bootstrap_servers": plan["bootstrap"], "group_id": plan["group"], "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(plan["topic"], **(settings | plan["settings"]))
    member = Told(plan["stop_after"])
    while not stopped.is_set():
        # See docs/decisions.md, 127.
        time_ms = 100 if consumer.assignment() else 3_000
        records = consumer.poll(time_ms, max_records=1 if plan["stop_after"] else None)
        member.assigned(part.partition for part in consumer.assignment())
        member.read([record.value or b"" for batch in records.values() for record in batch])
    consumer.close()


async def aiokafka(plan: dict[str, Any]) -> None:
    from aiokafka import AIOKafkaConsumer

    from support.aiokafka_consumers import stop

    settings = {"bootstrap_servers": plan["bootstrap"], "group_id": plan["group"], "auto_offset_reset": "earliest"}
    consumer = AIOKafkaConsumer(plan["topic"], **(settings | plan["settings"]))
    member = Told(plan["stop_after"])
    await consumer.start()
    try:
        while not stopped.is_set():
            records = await consumer.getmany(timeout_ms=100, max_records=1 if plan["stop_after"] else None)
            member.assigned(part.partition for part in consumer.assignment())
            member.read([record.value or b"" for batch in records.values() for record in batch])
    finally:
        await stop(consumer)


def main() -> None:
    plan = json.loads(sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    if plan["client"] == "aiokafka":
        asyncio.run(aiokafka(plan))
    else:
        {"confluent": confluent, "kafka-python": kafka_python}[plan["client"]](plan)
    tell(closed=True)


if __name__ == "__main__":
    main()
