"""aiokafka consumes, transforms and produces exactly once."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from conformance.clients.python.lines import tell
from conformance.clients.python.processor import Processor, Steps, give_up, processor

_TIMEOUT_MS, _SESSION_MS = 60_000, 10_000  # its own


async def run(given: Processor) -> None:
    steps = Steps(given.die)
    producer = AIOKafkaProducer(
        bootstrap_servers=given.bootstrap,
        transactional_id=given.id,
        transaction_timeout_ms=given.timeout_ms or _TIMEOUT_MS,
    )
    await producer.start()  # asks for its producer id too
    steps.reached("init")
    consumer = AIOKafkaConsumer(
        given.inputs,
        bootstrap_servers=given.bootstrap,
        group_id=given.group,
        group_instance_id=given.instance,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=given.session_ms or _SESSION_MS,
        heartbeat_interval_ms=(given.session_ms or _SESSION_MS) // 5,
    )
    await consumer.start()
    while True:
        message = await consumer.getone()
        assert message.value is not None
        consumed = {TopicPartition(message.topic, message.partition): message.offset + 1}
        while not await _transformed(producer, given, steps, message.value, consumed):
            pass


async def _transformed(
    producer: AIOKafkaProducer,
    given: Processor,
    steps: Steps,
    value: bytes,
    consumed: dict[TopicPartition, int],
) -> bool:
    """False if it was aborted."""
    await asyncio.to_thread(steps.consumed, value.decode())
    await producer.begin_transaction()
    steps.reached("begun")
    first = await producer.send(given.outputs, value, partition=0)
    steps.reached("produced")
    second = await producer.send(given.outputs, value, partition=1)
    await asyncio.gather(first, second)
    steps.reached("flushed")
    if steps.aborts:
        await producer.abort_transaction()
        steps.reached("aborted")
        tell({"aborted": value.decode()})
        return False
    await producer.send_offsets_to_transaction(consumed, given.group)
    steps.reached("offsets")
    await producer.commit_transaction()
    steps.reached("committed")
    tell({"done": value.decode()})
    return True


if __name__ == "__main__":
    try:
        asyncio.run(run(processor()))
    except Exception as error:
        give_up(error)
