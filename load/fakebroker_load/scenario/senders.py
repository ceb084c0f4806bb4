"""Groups that send by Kafka's producer, and their mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakebroker.producer.errors import ProducerConfigError
from fakebroker.producer.producer_config import ProducerConfig

RAW, PRODUCER, TRANSFORM = "raw", "producer", "transform"
OF_PRODUCERS = ("acks", "bootstrap.servers", "client.id", "transactional.id")  # settings that the load sets itself


def slips_of_sender(group: Any) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of a RequestGroup (model.py): the key, and the rest of a sentence about the group."""
    has_producer = group.client in (PRODUCER, TRANSFORM)
    if (group.client == TRANSFORM) != (group.source is not None):
        yield "source", "needs both client: transform and a source, or neither"
    if group.client == TRANSFORM and (group.acks, group.expect, group.connections) != (-1, "NONE", group.partitions):
        yield "client", "is a transform, and that has acks -1, expects NONE, and has one connection for each partition"
    if group.fail_every == 1:
        yield "fail_every", "has fail_every 1: no transaction would ever be committed"
    if group.client == RAW and group.settings:
        yield "settings", "has settings, which are those of a producer"
    if has_producer and (group.acks == 0 or group.waits or group.pipelined > 1):
        yield "client", "has a producer, and with it neither acks 0, waits nor pipelined"
    for name in OF_PRODUCERS:
        if name in group.settings:
            yield "settings", f"has the setting {name}, which the load sets"
    if has_producer:
        try:
            ProducerConfig(group.generation, {**group.settings, "acks": str(group.acks)})
        except ProducerConfigError as error:
            yield "settings", f"has a producer that cannot be: {str(error).removesuffix('.')}"
