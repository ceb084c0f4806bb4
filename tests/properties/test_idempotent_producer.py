"""An idempotent producer against our own logs: connections are lost, batches refused, and each record is there once.

The producer's two generations send to logs that check sequence numbers as a broker does. Requests on a connection are
handled in order, answers come in order; a lost connection takes both, also answers to what was written. Nothing
expires, so in the end everything is written, once, in the order in which it was appended.
"""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import TIME_MS

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.append import prepare_append
from fakebroker.core.log.log import Log
from fakebroker.core.log.plain_append import PlainRules
from fakebroker.core.log.producer_entry import BatchMetadata
from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.metadata_snapshot import MetadataSnapshot, PartitionInfo
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.client import Client, ClientProduceRequest, TransactionalRequest
from fakebroker.producer.sending.response_errors import PartitionResponse
from fakebroker.producer.sending.sender import Sender
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import TxnAnswer
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.topic_partition import TopicPartition

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
METADATA = MetadataSnapshot([PartitionInfo(partition, 1) for partition in PARTITIONS])
CONFIG = TopicConfig()
FOREVER_MS = 2**30
MOST_IN_FLIGHT = 5

Request = ClientProduceRequest | TransactionalRequest
steps = st.lists(
    st.sampled_from(["append", "append", "append other", "run", "run", "handle", "handle", "refuse", "hear", "break"]),
    max_size=60,
)


class World(Client):
    """A producer, one connection, and a broker with two logs."""

    def __init__(self, generation: str) -> None:
        settings: dict[str, object] = {
            "enable.idempotence": True, "acks": "all", "linger.ms": 0, "batch.size": 150, "retries": 2**31 - 1,
            "request.timeout.ms": FOREVER_MS, "retry.backoff.ms": 1,
        }  # fmt: skip
        self.accumulator: RecordAccumulator20 | RecordAccumulator43
        if generation == "2.0":
            old = ProducerConfig(generation, settings)
            self.accumulator = RecordAccumulator20(old, TransactionManager20(old))
        else:
            new = ProducerConfig(generation, settings | {"delivery.timeout.ms": 2 * FOREVER_MS - 1})
            manager = TransactionManager43(new, ApiVersions())
            self.accumulator = RecordAccumulator43(new, lambda: 0, lambda: 0.5, transaction_manager=manager)
        self.sender = Sender(self.accumulator, self)
        self.logs = {partition: Log() for partition in PARTITIONS}
        self.sent: deque[tuple[Request, dict[TopicPartition, bytes]]] = deque()
        self.handled: deque[tuple[Request, list[PartitionResponse]]] = deque()
        self.appended: dict[TopicPartition, list[bytes]] = {partition: [] for partition in PARTITIONS}
        self.told: list[tuple[bytes, int]] = []
        self.now_ms = 0

    def ready(self, node: int, now_ms: int) -> bool:
        return len(self.sent) + len(self.handled) < MOST_IN_FLIGHT

    def is_ready(self, node: int, now_ms: int) -> bool:
        return self.ready(node, now_ms)

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        return 0

    def connection_failed(self, node: int) -> bool:
        return False

    def least_loaded_node(self, now_ms: int) -> int | None:
        return 1

    def send(self, request: ClientProduceRequest, now_ms: int) -> None:
        self.sent.append((request, {partition: batch.records() for partition, batch in request.batches.items()}))

    def send_transactional(self, request: TransactionalRequest, now_ms: int) -> None:
        self.sent.append((request, {}))

    def step(self, step: str) -> None:
        self.now_ms += 1
        match step:
            case "append":
                self.append(PARTITIONS[0])
            case "append other":
                self.append(PARTITIONS[1])
            case "run":
                self.sender.run_once(METADATA, self.now_ms)
            case "handle" | "refuse" if self.sent:
                self.handle(step == "refuse")
            case "hear" if self.handled:
                self.hear()
            case "break":
                self.lose_connection()
        assert self.sender.uncaught is None
        self.accumulator.run_woken(self.now_ms)
        self.accumulator.check_invariants()

    def append(self, partition: TopicPartition) -> None:
        value = b"%s %d" % (str(partition).encode(), len(self.appended[partition]))
        self.appended[partition].append(value)

        def callback(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            assert metadata is not None, error
            self.told.append((value, metadata.offset))

        self.accumulator.append(
            partition.topic, partition.partition, TIME_MS, None, value, (), callback, 0, self.now_ms, METADATA,
            lambda append: None,
        )  # fmt: skip

    def handle(self, refuses: bool) -> None:
        request, batches = self.sent.popleft()
        answers = [self.write(partition, batch, refuses) for partition, batch in batches.items()]
        self.handled.append((request, answers))

    def write(self, partition: TopicPartition, batch: bytes, refuses: bool) -> PartitionResponse:
        log = self.logs[partition]
        if refuses and log.log_end_offset:  # a log without the producer takes whatever comes first
            return PartitionResponse(partition, ErrorCode.not_enough_replicas)
        try:
            prepared = prepare_append(log, batch, is_plain(batch), CONFIG, PlainRules(CONFIG), partition, 0, TIME_MS)
        except KafkaError as error:
            return PartitionResponse(partition, error.code)
        if isinstance(prepared, BatchMetadata):
            return PartitionResponse(partition, 0, prepared.first_offset)
        log.append(prepared[0])
        return PartitionResponse(partition, 0, prepared[0].base_offset)

    def hear(self) -> None:
        request, answers = self.handled.popleft()
        if isinstance(request, ClientProduceRequest):
            self.sender.handle_produce_response(request, answers, 0, self.now_ms)
        else:
            self.sender.handle_transactional_response(request, TxnAnswer(producer=ProducerIdAndEpoch(7, 0)))

    def lose_connection(self) -> None:
        lost: list[Request] = [request for request, _ in (*self.handled, *self.sent)]
        self.handled.clear()
        self.sent.clear()
        for request in lost:
            if isinstance(request, ClientProduceRequest):
                self.sender.handle_disconnect(request, False, self.now_ms)
            else:
                self.sender.handle_transactional_disconnect(request)

    def finish(self) -> None:
        for _ in range(2_000):
            if not self.accumulator.has_incomplete():
                return
            for step in ("run", "handle", "hear"):
                self.step(step)
        raise AssertionError("something is never sent")


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
@given(steps=steps)
def test_each_record_is_written_once_and_in_order(generation: str, steps: list[str]) -> None:
    world = World(generation)
    for step in steps:
        world.step(step)
    world.finish()
    offsets: dict[bytes, int] = {}
    for partition, log in world.logs.items():
        values: list[bytes] = []
        for batch in log.batches_from(0):
            values += [record.value or b"" for record in decode_records(batch.data)]
        assert values == world.appended[partition]
        offsets |= {value: offset for offset, value in enumerate(values)}
    assert sorted(world.told) == sorted(offsets.items())
