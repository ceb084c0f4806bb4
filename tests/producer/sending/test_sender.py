"""The sender: the node of each batch, the handling of a response, and the time of the next turn."""

from __future__ import annotations

import pytest

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.metadata_snapshot import NO_LEADER, MetadataSnapshot, PartitionInfo
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_accumulator import NO_DELAY_MS
from fakebroker.producer.sending.client import Client, ClientProduceRequest
from fakebroker.producer.sending.response_errors import PartitionResponse
from fakebroker.producer.sending.sender import Sender
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

GENERATIONS = ("2.0", "4.3")
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
METADATA = MetadataSnapshot([PartitionInfo(FIRST, 1), PartitionInfo(SECOND, 2)])

PADDING = bytes(30)  # so that two records do not fit into a batch that was made for one

both = pytest.mark.parametrize("generation", GENERATIONS)


class Wire(Client):
    def __init__(self) -> None:
        self.sent: list[ClientProduceRequest] = []
        self.ready_at_ms: dict[int, int] = {}

    def ready(self, node: int, now_ms: int) -> bool:
        return self.poll_delay_ms(node, now_ms) == 0

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        return max(0, self.ready_at_ms.get(node, 0) - now_ms)

    def send(self, request: ClientProduceRequest, now_ms: int) -> None:
        self.sent.append(request)


class Producer:
    """An accumulator with its sender. `told` has (record, offset or error) in the order of the callbacks."""

    def __init__(self, generation: str, **settings: object) -> None:
        given: dict[str, object] = {"enable.idempotence": False, "linger.ms": 0, "batch.size": 0, "retries": 3}
        config = ProducerConfig(generation, given | {key.replace("_", "."): value for key, value in settings.items()})
        self.accumulator: RecordAccumulator20 | RecordAccumulator43
        if generation == "2.0":
            self.accumulator = RecordAccumulator20(config)
        else:
            self.accumulator = RecordAccumulator43(config, lambda: 0, lambda: 0.5, jitter=0.0)
        self.wire = Wire()
        self.sender = Sender(self.accumulator, self.wire)
        self.told: list[tuple[int, object]] = []

    def append(self, record: int, now_ms: int = 0, partition: int = 0) -> None:
        def callback(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            self.told.append((record, metadata.offset if metadata is not None else str(error)))

        self.accumulator.append(
            "t", partition, 0, None, b"%d" % record + PADDING, (), callback, 0, now_ms, METADATA, lambda append: None
        )

    def run(self, now_ms: int, metadata: MetadataSnapshot = METADATA) -> int:
        return self.sender.run_once(metadata, now_ms)

    def answer(
        self, code: int, now_ms: int, base_offset: int = -1, throttle_ms: int = 0, refused: tuple[int, ...] = ()
    ) -> None:
        request = self.wire.sent.pop(0)
        answers = [PartitionResponse(partition, code, base_offset, refused) for partition, _ in request.batches.items()]
        self.sender.handle_produce_response(request, answers, throttle_ms, now_ms)


@both
def test_one_request_for_each_node(generation: str) -> None:
    producer = Producer(generation, acks="1", request_timeout_ms=77)
    producer.append(1)
    producer.append(2, partition=1)
    assert producer.run(0) == 0, "there was something to send: look again at once"
    assert [(one.node, one.acks, one.timeout_ms, len(one.batches)) for one in producer.wire.sent] == [
        (1, 1, 77, 1),
        (2, 1, 77, 1),
    ]
    producer.answer(0, 5, 40)
    producer.answer(0, 5, 50)
    assert producer.told == [(1, 40), (2, 50)]
    assert not producer.accumulator.has_incomplete()


@both
def test_a_node_that_is_not_ready_is_waited_for(generation: str) -> None:
    producer = Producer(generation)
    producer.append(1)
    producer.wire.ready_at_ms[1] = 50
    assert producer.run(10) == 40
    assert producer.wire.sent == []
    producer.run(50)
    assert len(producer.wire.sent) == 1


@both
def test_a_topic_without_a_leader_is_asked_for(generation: str) -> None:
    producer = Producer(generation)
    producer.append(1)
    producer.run(0, MetadataSnapshot([PartitionInfo(FIRST, NO_LEADER)]))
    assert producer.sender.is_metadata_update_requested


@both
@pytest.mark.parametrize(
    ("code", "is_tried_again", "asks"),
    [
        (ErrorCode.request_timed_out, True, False),
        (ErrorCode.not_leader_or_follower, True, True),
        (ErrorCode.not_enough_replicas, True, False),
        (ErrorCode.not_enough_replicas_after_append, True, False),
        (ErrorCode.topic_authorization_failed, False, False),
        (ErrorCode.message_too_large, False, False),
    ],
)
def test_an_error_is_tried_again_or_told(generation: str, code: ErrorCode, is_tried_again: bool, asks: bool) -> None:
    producer = Producer(generation, retry_backoff_ms=10)
    producer.append(1)
    producer.run(0)
    producer.answer(code, 5)
    assert producer.sender.is_metadata_update_requested == asks
    assert (producer.told == []) == is_tried_again
    timeout_ms = producer.run(14)
    assert timeout_ms == 1 if is_tried_again else timeout_ms >= NO_DELAY_MS - 14
    producer.run(15)
    assert len(producer.wire.sent) == is_tried_again


@both
def test_retries_come_to_an_end(generation: str) -> None:
    producer = Producer(generation, retries=2, retry_backoff_ms=0)
    producer.append(1)
    for _ in range(3):
        assert producer.told == []
        producer.run(0)
        producer.answer(ErrorCode.request_timed_out, 0)
    assert producer.told == [(1, "A broker answered REQUEST_TIMED_OUT.")]


@both
def test_a_duplicate_is_a_success_without_an_offset(generation: str) -> None:
    producer = Producer(generation)
    producer.append(1)
    producer.run(0)
    producer.answer(ErrorCode.duplicate_sequence_number, 0)
    assert producer.told == [(1, -1)]


@both
def test_without_acks_it_is_over_when_it_is_written(generation: str) -> None:
    producer = Producer(generation, acks="0")
    producer.append(1)
    producer.run(0)
    [request] = producer.wire.sent
    assert not request.expects_response
    producer.sender.handle_no_response(request, 1)
    assert producer.told == [(1, -1)]


@both
def test_too_large_is_split_and_costs_no_retry(generation: str) -> None:
    producer = Producer(generation, batch_size=1_000, retries=0)
    for record in (1, 2, 3):
        producer.append(record)
    producer.accumulator.batch_size = 70  # as if the broker took less
    producer.run(0)
    producer.answer(ErrorCode.message_too_large, 0)
    for offset in (7, 8, 9):
        producer.run(0)
        producer.answer(0, 0, offset)
    assert producer.told == [(1, 7), (2, 8), (3, 9)]


@both
@pytest.mark.parametrize("most", [1, 5])
def test_order_is_kept_if_one_is_in_flight(generation: str, most: int) -> None:
    producer = Producer(generation, max_in_flight_requests_per_connection=most, retry_backoff_ms=10)
    producer.append(1)
    producer.append(2)
    producer.run(0)
    producer.run(0)
    assert len(producer.wire.sent) == min(most, 2)
    producer.answer(ErrorCode.request_timed_out, 1)
    producer.run(1)
    producer.run(11)
    while producer.wire.sent:
        producer.answer(0, 12, 40)
        producer.run(12)
    assert [record for record, _ in producer.told] == ([1, 2] if most == 1 else [2, 1])


def test_in_2_0_a_throttled_partition_waits() -> None:
    producer = Producer("2.0", max_in_flight_requests_per_connection=1)
    producer.append(1)
    producer.append(2)
    producer.run(0)
    producer.answer(0, 10, 40, throttle_ms=100)
    producer.run(109)
    assert producer.wire.sent == []
    producer.run(110)
    assert len(producer.wire.sent) == 1


def test_a_batch_expires_in_flight_and_its_memory_comes_back_with_the_answer() -> None:
    producer = Producer("4.3", delivery_timeout_ms=100, request_timeout_ms=50, buffer_memory=1_000)
    producer.append(1)
    producer.run(0)
    assert producer.run(60) == 40
    assert producer.run(99) == 1
    assert producer.told == []
    producer.run(100)
    assert [record for record, _ in producer.told] == [1]
    assert "100 ms has passed since batch creation" in str(producer.told[0][1])
    assert producer.accumulator.free.available_memory() < 1_000
    producer.answer(0, 150, 40)
    assert producer.accumulator.free.available_memory() == 1_000
    assert len(producer.told) == 1, "the answer comes too late"


def test_those_in_the_queue_are_told_before_those_in_flight() -> None:
    producer = Producer("4.3", delivery_timeout_ms=100, request_timeout_ms=50)
    producer.append(1)
    producer.run(0)
    producer.wire.ready_at_ms[1] = 1_000
    producer.append(2)
    producer.run(100)
    assert [record for record, _ in producer.told] == [2, 1]


def test_in_2_0_what_is_in_flight_never_expires_and_the_queue_behind_it_does() -> None:
    producer = Producer("2.0", request_timeout_ms=50)
    producer.append(1)
    producer.run(0)
    producer.wire.ready_at_ms[1] = 1_000
    producer.append(2)
    producer.run(50)
    assert producer.told == []
    producer.run(51)
    assert [record for record, _ in producer.told] == [2]
    producer.answer(0, 500, 40)
    assert producer.told[1:] == [(1, 40)]


@both
@pytest.mark.parametrize("is_timed_out", [True, False])
def test_a_lost_connection(generation: str, is_timed_out: bool) -> None:
    """A request that timed out has its own error code, so it is no reason to request metadata."""
    producer = Producer(generation, retries=0)
    producer.append(1)
    producer.run(0)
    producer.sender.handle_disconnect(producer.wire.sent[0], is_timed_out, 5)
    has_own_code = is_timed_out and generation != "2.0"
    text = "The server disconnected before a response was received."
    if generation != "2.0":
        text = "Disconnected from node 1 due to timeout" if has_own_code else "Disconnected from node 1"
    assert producer.told == [(1, text)]
    assert producer.sender.is_metadata_update_requested != has_own_code


def test_2_0_does_not_know_newer_codes() -> None:
    producer = Producer("2.0")
    producer.append(1)
    producer.run(0)
    producer.answer(ErrorCode.invalid_record, 5)
    assert producer.told == [(1, "A broker answered UNKNOWN_SERVER_ERROR.")]


@pytest.mark.parametrize(
    ("refused", "names"),
    [
        ((), ["INVALID_TIMESTAMP", "INVALID_TIMESTAMP", "INVALID_TIMESTAMP"]),
        ((1,), ["part of a batch", "INVALID_TIMESTAMP", "part of a batch"]),
        ((0, 2), ["INVALID_RECORD", "part of a batch", "INVALID_RECORD"]),
    ],
)
def test_an_answer_may_name_the_records_that_were_refused(refused: tuple[int, ...], names: list[str]) -> None:
    producer = Producer("4.3", batch_size=1_000)
    for record in range(3):
        producer.append(record)
    producer.run(0)
    producer.answer(ErrorCode.invalid_timestamp, 5, refused=refused)
    assert [name in str(error) for name, (_, error) in zip(names, producer.told, strict=True)] == [True] * 3
