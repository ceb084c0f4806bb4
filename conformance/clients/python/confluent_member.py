"""librdkafka as a member of a group, until it is told to leave."""

from __future__ import annotations

import queue
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from conformance.clients.python.lines import tell, words


def join(bootstrap: str, member: dict[str, Any]) -> None:
    owned: set[int] = set()
    reported: set[str] = set()

    def gained(_: Consumer, partitions: list[TopicPartition]) -> None:
        owned.update(topic_partition.partition for topic_partition in partitions)
        tell({"assigned": sorted(owned)})

    def lost(_: Consumer, partitions: list[TopicPartition]) -> None:
        owned.difference_update(topic_partition.partition for topic_partition in partitions)
        tell({"assigned": sorted(owned)})

    def fail(error: KafkaError) -> None:
        name = f"{error.name()}: {error.str()}" if error.name() == "_FATAL" else error.name()
        if name not in reported:  # librdkafka says it again with each poll
            reported.add(name)
            tell({"error": name})

    consumer = Consumer(_settings(bootstrap, member))
    consumer.subscribe([member["topic"]], on_assign=gained, on_revoke=lost, on_lost=lost)
    heard = words()
    while True:
        word = _next(heard)
        if word == "close":
            break
        if word == "commit":
            try:
                consumer.commit(asynchronous=False)
                tell({"committed": True})
            except KafkaException as error:
                fail(error.args[0])
        read = []
        records: Any = consumer.consume(100, timeout=0.05)
        for record in records:
            if record.error():
                fail(record.error())
            else:
                read.append([record.partition(), record.offset(), record.value().decode()])
        if read:
            tell({"read": read})
    consumer.close()
    tell({"closed": True})


def _next(heard: queue.Queue[str]) -> str | None:
    try:
        return heard.get_nowait()
    except queue.Empty:
        return None


def _settings(bootstrap: str, member: dict[str, Any]) -> dict[str, Any]:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": member["group"],
        "group.protocol": member["protocol"],
        "auto.offset.reset": member["reset"],
        "enable.auto.commit": False,
        "log_level": 0,
    }
    if member["instance"] is not None:
        settings["group.instance.id"] = member["instance"]
    if member["protocol"] == "classic":  # else the broker decides these
        settings |= {
            "partition.assignment.strategy": member["assignor"],
            "session.timeout.ms": member["session_ms"],
            "heartbeat.interval.ms": member["heartbeat_ms"],
        }
    return settings
