"""Plays the commands for an accumulator on ours, and tells what the judge tells."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import cycle
from typing import Any

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.append import RecordAppend
from fakebroker.producer.compression.batch_compression import BatchCompression
from fakebroker.producer.compression.compression_ratio_estimator import CompressionRatioEstimator
from fakebroker.producer.errors import ProducerError, ProducerTimeoutError
from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata_snapshot import MetadataSnapshot, PartitionInfo
from fakebroker.producer.partitioner import Partitioner
from fakebroker.producer.producer_batch import Callback, ProducerBatch, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.completion import delivery_timeout_error
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.compression import compress
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

Json = dict[str, Any]
Compress = Callable[[int, bytes], bytes]

START_MS = 1_000_000
BASE_OFFSET = 1_000
_CLASSES = {int(ErrorCode.producer_fenced): "ProducerFencedException"}
_CLASSES[int(ErrorCode.invalid_producer_epoch)] = "InvalidProducerEpochException"


class _AbortedError(ProducerError):
    """The error with which the judge aborts."""


class AccumulatorPlayer:
    """One accumulator; `play` is called for each command. `events` are those since the command."""

    def __init__(self, generation: str, config: Json, compress: Compress = compress) -> None:
        self.now_ms = START_MS
        self._partitions = [list(partition) for partition in config["partitions"]]
        self._in_flight: list[ProducerBatch] = []
        self.events: list[Json] = []
        self._waiting: list[RecordAppend] = []  # some of them no more
        randoms = cycle(config["randoms"])
        self._random = lambda: next(randoms)
        self.api_versions = ApiVersions()
        self.accumulator = _accumulator(generation, config, self._random, self.api_versions)
        self.manager = self.accumulator.transaction_manager
        if config.get("codec"):
            estimator = CompressionRatioEstimator(Generation(generation))
            self.accumulator.compression = BatchCompression(config["codec"], estimator, compress)
        self._partitioner = Partitioner(Generation(generation), self._random)

    def play(self, command: Json, *others: object) -> Json:
        """Call the method of the command, `do_...` of this player or of another, and return the results."""
        results: list[Any] = []
        self.events = []
        name = f"do_{command['do']}"
        method: Callable[[Json, list[Any]], None] = next(
            getattr(player, name) for player in (self, *others) if hasattr(player, name)
        )
        method(command, results)
        self.accumulator.run_woken(self.now_ms)
        self.accumulator.check_invariants()
        free = self.accumulator.free
        return {
            "events": self.events,
            "told": results,
            "memory": [
                free.available_memory(),
                free.unallocated_memory() if self.accumulator.compression is None else 0,
                free.queued(),
            ],
            "left": [
                self.accumulator.has_undrained(),
                self.accumulator.has_incomplete(),
                self.accumulator.flush_in_progress(),
            ],
        }

    def do_append(self, command: Json, results: list[Any]) -> None:
        record = command["record"]
        topic, partition = command["partition"]
        if isinstance(self.manager, TransactionManager20) and self.manager.is_transactional:  # KafkaProducer.doSend
            try:
                self.manager.maybe_add_partition(TopicPartition(topic, partition))
            except ProducerError as error:
                self._refused(record, error)
                return
        append = self.accumulator.append(
            topic,
            partition,
            START_MS + command["timestamp"],
            _bytes(command["key"], record),
            _bytes(command["value"], record + 1),
            [(f"h{at}", _bytes(size, at)) for at, size in enumerate(command["headers"])],
            self._callback(record),
            command["block_ms"],
            self.now_ms,
            self.metadata(),
            lambda append: self._appended(record, append),
        )
        if not append.is_done:
            self._waiting.append(append)

    def do_interrupt(self, command: Json, results: list[Any]) -> None:
        self._waiting = [append for append in self._waiting if not append.is_done]
        results.append(bool(self._waiting))
        if self._waiting:
            append = self._waiting[command["which"] % len(self._waiting)]
            self.accumulator.withdraw(append, ProducerError("interrupted"))

    def do_tick(self, command: Json, results: list[Any]) -> None:
        target_ms = self.now_ms + command["ms"]
        while (deadline_ms := self.accumulator.next_deadline_ms()) is not None and deadline_ms <= target_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.accumulator.advance_to(self.now_ms)
        self.now_ms = target_ms

    def do_ready(self, command: Json, results: list[Any]) -> None:
        ready = self.accumulator.ready(self.metadata(), self.now_ms)
        results += [sorted(ready.ready_nodes), ready.next_ready_check_delay_ms, sorted(ready.unknown_leader_topics)]

    def do_drain(self, command: Json, results: list[Any]) -> None:
        metadata = self.metadata()
        nodes = [node for node in command["nodes"] if metadata.partitions_for_node(node)]
        for batches in self.accumulator.drain(metadata, nodes, command["max_size"], self.now_ms).values():
            described = []
            for batch in batches:
                data = batch.records()
                described.append({**_described(batch), "bytes": len(data), "checksum": zlib.crc32(data)})
                batch.is_inflight = True
                self._in_flight.append(batch)
            results.append(described)

    def do_expire(self, command: Json, results: list[Any]) -> None:
        accumulator, now_ms = self.accumulator, self.now_ms
        is_old, release = isinstance(accumulator, RecordAccumulator20), accumulator.config.generation
        if isinstance(accumulator, RecordAccumulator43):
            accumulator.reset_next_batch_expiry_time()
        for batch in accumulator.expired_batches(now_ms):
            results.append(_described(batch))
            self._fail(batch, batch.expiry_error() if is_old else delivery_timeout_error(batch, now_ms, release))
        if isinstance(accumulator, RecordAccumulator43):
            results.append(accumulator.next_expiry_ms)

    def do_answer(self, command: Json, results: list[Any]) -> None:
        if not self._in_flight:
            results.append("nothing is in flight")
            return
        batch = self._in_flight.pop(command["which"] % len(self._in_flight))
        batch.is_inflight = False
        answer = command["with"]
        if answer == "retry" and not batch.is_done:
            self.accumulator.reenqueue(batch, self.now_ms)
        elif answer == "split" and not batch.is_done and batch.record_count > 1:
            self.accumulator.split_and_reenqueue(batch)
            self.accumulator.complete_and_deallocate(batch)
        elif answer == "ok":
            if batch.complete(BASE_OFFSET):
                self.accumulator.complete_and_deallocate(batch)
            else:
                self.accumulator.deallocate(batch)
        else:
            self._fail(batch, BrokerError(ErrorCode.invalid_timestamp))

    def _fail(self, batch: ProducerBatch, error: ProducerError) -> None:
        if batch.complete_exceptionally(lambda at: error):
            self.accumulator.complete_and_deallocate(batch)
        else:
            self.accumulator.deallocate(batch)

    def do_mute(self, command: Json, results: list[Any]) -> None:
        self.accumulator.mute_partition(TopicPartition(*command["partition"]))

    def do_unmute(self, command: Json, results: list[Any]) -> None:
        self.accumulator.unmute_partition(TopicPartition(*command["partition"]), self.now_ms + command["until"])

    def do_flush(self, command: Json, results: list[Any]) -> None:
        self.accumulator.begin_flush()

    def do_flushed(self, command: Json, results: list[Any]) -> None:
        is_over = self.accumulator.flush_in_progress() and not self.accumulator.has_incomplete()
        results.append(is_over)
        if is_over:
            self.accumulator.end_flush()

    def do_lead(self, command: Json, results: list[Any]) -> None:
        changed = command["partition"]
        self._partitions = [changed if one[:2] == changed[:2] else one for one in self._partitions]

    def do_latency(self, command: Json, results: list[Any]) -> None:
        if isinstance(self.accumulator, RecordAccumulator43):
            self.accumulator.update_node_latency_stats(command["node"], self.now_ms, command["can_drain"])

    def do_abort(self, command: Json, results: list[Any]) -> None:
        if self.accumulator.free.queued():
            self.accumulator.abort_batches(_AbortedError("gone"))
        else:
            self.accumulator.abort_incomplete_batches(_AbortedError("gone"), self.now_ms)
        self.events.sort(key=_record_of)

    def do_abort_undrained(self, command: Json, results: list[Any]) -> None:
        self.accumulator.abort_undrained_batches(_AbortedError("gone"))
        self.events.sort(key=_record_of)

    def do_close(self, command: Json, results: list[Any]) -> None:
        self.accumulator.close()

    def do_choose(self, command: Json, results: list[Any]) -> None:
        key = _bytes(command["key"], command["seed"])
        results.append(self._partitioner.partition(command["topic"], None, key, self.metadata()))

    def metadata(self) -> MetadataSnapshot:
        return MetadataSnapshot(
            PartitionInfo(TopicPartition(topic, index), leader, epoch)
            for topic, index, leader, epoch in self._partitions
        )

    def _appended(self, record: int, append: RecordAppend) -> None:
        error = append.error
        if error is None and isinstance(self.manager, TransactionManager43):  # KafkaProducer.doSend
            try:
                self.manager.maybe_add_partition(TopicPartition(append.topic, append.partition))
            except ProducerError as refusal:
                error = refusal
        if error is not None:
            self._refused(record, error)
            return
        self.events.append(
            {
                "append": record,
                "partition": append.partition,
                "full": append.batch_is_full,
                "created": append.new_batch_created,
            }
        )

    def _refused(self, record: int, error: ProducerError) -> None:
        name = _CLASSES.get(error.code, "") if isinstance(error, BrokerError) else error.kafka_name
        self.events.append({"append": record, "refused": name, "text": text_of(error)})
        if isinstance(self.manager, TransactionManager43) and isinstance(error, BrokerError | ProducerTimeoutError):
            try:
                self.manager.maybe_transition_to_error_state(error)
            except ProducerError as refusal:
                self.events.append({"append": record, "refused": refusal.kafka_name, "text": text_of(refusal)})

    def _callback(self, record: int) -> Callback:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            if error is not None:
                self.events.append({"record": record, "failed": name_of(error), "text": text_of(error)})
            elif metadata is not None:
                self.events.append({"record": record, "offset": metadata.offset})

        return told


def name_of(error: ProducerError) -> str:
    """A code of the protocol if it has one, else Kafka's class."""
    return f"code {int(error.code)}" if isinstance(error, BrokerError) else error.kafka_name


def text_of(error: ProducerError) -> str:
    return error.text if isinstance(error, BrokerError) else str(error)


def _accumulator(
    generation: str, config: Json, random: Callable[[], int], api_versions: ApiVersions
) -> RecordAccumulator20 | RecordAccumulator43:
    settings = {
        "batch.size": config["batch_size"],
        "buffer.memory": config["buffer_memory"],
        "linger.ms": config["linger_ms"],
        "request.timeout.ms": config["request_timeout_ms"],
        "retry.backoff.ms": config["retry_backoff_ms"],
    }
    settings |= {
        "acks": config.get("acks", -1),
        "enable.idempotence": config.get("mode", "plain") != "plain",
        "max.in.flight.requests.per.connection": 1 if config.get("guarantee_order") else 5,
        "max.request.size": config.get("max_request_size", 1_000_000),
        "retries": config.get("retries", 0),
    }
    if config.get("mode") == "transactional":
        settings["transactional.id"] = "tx"
    is_plain = config.get("mode", "plain") == "plain"
    if generation == "2.0":
        old = ProducerConfig(generation, settings)
        return RecordAccumulator20(old, None if is_plain else TransactionManager20(old))
    settings |= {
        "delivery.timeout.ms": config["delivery_timeout_ms"],
        "partitioner.adaptive.partitioning.enable": config["adaptive"],
        "partitioner.availability.timeout.ms": config["availability_timeout_ms"],
        "retry.backoff.max.ms": config["retry_backoff_max_ms"],
    }
    new = ProducerConfig(generation, settings)
    manager = None if is_plain else TransactionManager43(new, api_versions)
    return RecordAccumulator43(new, random, lambda: 0.5, jitter=0.0, transaction_manager=manager)


def _described(batch: ProducerBatch) -> Json:
    return {
        "partition": str(batch.partition),
        "created": batch.created_ms - START_MS,
        "records": batch.record_count,
        "attempts": batch.attempts,
        "sequence": batch.base_sequence,
    }


def _bytes(size: int | None, seed: int) -> bytes | None:
    return None if size is None else bytes((seed + at) % 251 for at in range(size))


def _record_of(event: Json) -> int:
    return int(event["record"])
