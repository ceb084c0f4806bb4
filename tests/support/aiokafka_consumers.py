"""The stop of a consumer of aiokafka."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer


async def stop(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer. It cancels the tasks of its fetches and waits for them. One that has not begun yet, or waits to
    try again, lets this cancellation out of `stop` (aiokafka 0.14), with the connections still open."""
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        await consumer._client.close()
