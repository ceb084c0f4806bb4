"""A broker of a few lines, for tests of the load alone: one request at a time per connection, as Kafka does it.

What it answers to a produce request is up to `behave`; by default every partition is healthy.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from kio.schema.api_versions.v0.response import ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v9.response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.produce.v9.response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta, i64
from support.messages import decode_request
from support.stream_server import stream_server
from support.watchdog import LIMIT_S, join

from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import encode_response, is_flexible

NO_TIME = i32Timedelta.parse(timedelta())


@dataclass
class Answer:
    """A response after `after_ms`, with this error and offset. A `close` or `drop` sends nothing."""

    error: int = 0
    offset: int | None = None  # None: the next one of the partition
    after_ms: float = 0
    drop: bool = False
    close: bool = False
    raw: bytes | None = None  # these bytes instead
    correlation_id: int | None = None
    partition: int | None = None


@dataclass
class Produce:
    correlation_id: int
    topic: str
    partition: int
    acks: int
    timeout_ms: int
    number: int  # of its connection, from 0


Behave = Callable[[Produce], Answer]


def healthy(request: Produce) -> Answer:
    return Answer(drop=request.acks == 0)


def frozen(request: Produce) -> Answer:
    return Answer(error=7, after_ms=request.timeout_ms + 1) if request.acks == -1 else healthy(request)


class StubBroker:
    def __init__(self, behave: Behave = healthy, partitions: int = 2) -> None:
        self.behave = behave
        self.partitions = partitions
        self.port = 0
        self.offsets: Counter[tuple[str, int]] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while True:
            size = int.from_bytes(await reader.readexactly(4), "big")
            frame = await reader.readexactly(size)
            key, version = peek_api(frame)
            header = decode_request_header(frame, is_flexible(key, version))
            body = decode_request(key, version, frame, header.body_offset)
            if key == 18:
                answer = ApiVersionsResponse(error_code=ErrorCode.none, api_keys=())
                writer.write(encode_response(answer, header.correlation_id))
            elif key == 3:
                writer.write(encode_response(self.metadata([t.name for t in body.topics]), header.correlation_id))
            else:
                topic = body.topic_data[0]
                partition = int(topic.partition_data[0].index)
                timeout_ms = round(body.timeout.total_seconds() * 1000)
                request = Produce(header.correlation_id, topic.name, partition, int(body.acks), timeout_ms, number)
                number += 1
                if not await self.answer(writer, request, self.behave(request)):
                    return

    async def answer(self, writer: asyncio.StreamWriter, request: Produce, answer: Answer) -> bool:
        place = (request.topic, request.partition)
        offset = self.offsets[place] if answer.offset is None else answer.offset
        self.offsets[place] += 1
        if answer.close:
            return False
        await asyncio.sleep(answer.after_ms / 1000)
        if answer.drop:
            return True
        part = PartitionProduceResponse(
            index=i32(request.partition if answer.partition is None else answer.partition),
            error_code=ErrorCode(answer.error),
            base_offset=i64(offset),
            record_errors=(),
        )
        response = ProduceResponse(
            responses=(TopicProduceResponse(name=TopicName(request.topic), partition_responses=(part,)),),
            throttle_time=NO_TIME,
        )
        correlation_id = request.correlation_id if answer.correlation_id is None else answer.correlation_id
        writer.write(encode_response(response, correlation_id) if answer.raw is None else answer.raw)
        return True

    def metadata(self, topics: list[str]) -> MetadataResponse:
        parts = tuple(
            MetadataResponsePartition(error_code=ErrorCode.none, partition_index=i32(n), leader_id=BrokerId(1))
            for n in range(self.partitions)
        )
        return MetadataResponse(
            throttle_time=NO_TIME,
            brokers=(MetadataResponseBroker(node_id=BrokerId(1), host="127.0.0.1", port=i32(self.port)),),
            topics=tuple(
                MetadataResponseTopic(error_code=ErrorCode.none, name=TopicName(name), partitions=parts)
                for name in topics
            ),
        )


@asynccontextmanager
async def stub_broker(behave: Behave = healthy, partitions: int = 2) -> AsyncIterator[StubBroker]:
    """Run the stub broker in the loop of the test."""
    broker = StubBroker(behave, partitions)
    async with stream_server(broker.serve) as broker.port:
        yield broker


@contextmanager
def stub_broker_thread(behave: Behave = healthy, partitions: int = 2) -> Iterator[StubBroker]:
    """Run the stub broker in a thread with its own loop."""
    ready = threading.Event()
    brokers: list[StubBroker] = []

    async def main() -> None:
        async with stub_broker(behave, partitions) as broker:
            brokers.append(broker)
            ready.set()
            await stop.wait()

    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        assert ready.wait(LIMIT_S)
        yield brokers[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        join(thread)
        loop.close()
