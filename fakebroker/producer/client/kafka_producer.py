"""Kafka's producer without threads, sockets and clock: what goes in has the time with it, what is to be done comes out.

Theory   Doors: `send` a record, `flush`, `close`; `connected`, `received`, `connection_lost` for the network;
         `advance_to` for time. Each says what time it is. What is to be done on the network is in `take_effects`, and
         records are called back from within the doors. `next_deadline_ms` is when to call `advance_to` at the latest;
         after `send` it may be at once: Kafka wakes its sender then, which takes what was sent meanwhile too.
         A turn is one of the sender's thread: what the network has done (`end_poll`), the sender, and how long to wait
         (`begin_poll`). Turns follow each other until there is something to wait for. While the sender sleeps what the
         network does is kept for when it wakes.
         Doors of transactions are in transaction_doors.py.
Units    monotonic milliseconds; the time of records is whatever their sender says.
Source   clients/.../producer/KafkaProducer.java, Sender.run of 2.0 and 4.3.
Differs  Where Kafka turns without a pause, a turn a millisecond follows after a few. From 2.4 to 3.2 a record without
         a key that begins a batch still goes where the one before went (KIP-480 would draw again first).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.append import Append
from fakebroker.producer.client.connections import Connections
from fakebroker.producer.client.effects import Effect
from fakebroker.producer.client.sender_network import SenderNetwork, complete
from fakebroker.producer.client.sending import Sending, goes_on_after_waiting, wait_on_metadata
from fakebroker.producer.client.transaction_doors import TransactionDoors
from fakebroker.producer.errors import (
    BufferTooSmallError,
    IllegalProducerStateError,
    ProducerClosedError,
    ProducerError,
    RecordTooLargeError,
)
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_2_0 import Metadata20
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.partitioner import Partitioner
from fakebroker.producer.producer_batch import Callback, ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_batch_builder import Headers, estimate_size_upper_bound
from fakebroker.producer.sending.sender import Sender
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.topic_partition import TopicPartition

_MOST_TURNS = 20  # at one time
# Kafka throws these, and a plain KafkaException.
_NOT_CALLED_BACK = (ProducerClosedError, BufferTooSmallError, IllegalProducerStateError)


class _Flush:
    def __init__(self, batches: list[ProducerBatch], on_done: Callable[[], None]) -> None:
        self.batches = batches
        self.on_done = on_done


class KafkaProducer(TransactionDoors):
    """`bootstrap`: host and port of the first brokers. `random_int` gives any number from 0 up to 2^31 - 1, `random`
    one from 0 up to 1."""

    def __init__(
        self,
        config: ProducerConfig,
        bootstrap: Sequence[tuple[str, int]],
        random_int: Callable[[], int],
        random: Callable[[], float],
        now_ms: int,
    ) -> None:
        generation = config.generation
        api_versions = ApiVersions()
        self.metadata: Metadata
        self.accumulator: RecordAccumulator20 | RecordAccumulator43
        if generation.has_delivery_timeout:
            self.metadata = Metadata43(config, random)
            new = TransactionManager43(config, api_versions) if config.enable_idempotence else None
            self.accumulator = RecordAccumulator43(config, random_int, random, transaction_manager=new)
        else:
            self.metadata = Metadata20(config)
            old = TransactionManager20(config) if config.enable_idempotence else None
            self.accumulator = RecordAccumulator20(config, old)
        super().__init__(config, self.accumulator.transaction_manager)
        nodes = [Node(-at, host, port) for at, (host, port) in enumerate(bootstrap, 1)]
        self.metadata.bootstrap(nodes, now_ms)
        self._connections = Connections(config.client_id, generation)
        states = ClusterConnectionStates(config, random)
        self.client = NetworkClient(self.metadata, self._connections, states, random_int, api_versions)
        self._network = SenderNetwork(self.client, self.metadata)
        self.sender = Sender(self.accumulator, self._network)
        self.is_closed = False
        self._partitioner = Partitioner(generation, random_int, config.partitioner_ignore_keys)
        self._is_sticky = generation.has_sticky_partitioner and not generation.has_built_in_partitioner
        self._waiting: list[Sending] = []
        self._flushes: list[_Flush] = []
        self._poll_until_ms: int | None = now_ms
        self._is_woken = False
        self._close_until_ms: int | None = None
        self._unheard: list[Callable[[], bool]] = []  # what the network did while the sender slept

    def send(
        self,
        topic: str,
        value: bytes | None,
        timestamp_ms: int,
        now_ms: int,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> Sending:
        """Put a record on its way. The callback hears of its end, also if it is refused here."""
        sending = Sending(topic, partition, key, value, headers, timestamp_ms, callback, now_ms)
        try:
            if self._is_closing:
                raise ProducerClosedError("The producer was closed.")
            if wait_on_metadata(sending, self.metadata, now_ms):
                self._append(sending, now_ms)
            else:
                self._waiting.append(sending)
                self._wake(now_ms)
                if self.config.max_block_ms == 0:
                    self._look_at_waiting(now_ms)
        except ProducerError as error:
            self._refuse(sending, error)
        return sending

    def flush(self, now_ms: int, on_done: Callable[[], None]) -> None:
        """Send what is there without lingering; `on_done` when all of it has ended."""
        self._flushes.append(_Flush(self.accumulator.begin_flush(), on_done))
        self._wake(now_ms)

    def close(self, now_ms: int, timeout_ms: int) -> None:
        """No more records. What is there is sent; what has not ended after the timeout is given up."""
        self._close_until_ms = now_ms + timeout_ms
        self.accumulator.close()
        self.accumulator.run_woken(now_ms)
        self._wake(now_ms)

    def connected(self, connection: int, now_ms: int) -> None:
        self._hear(partial(self._connections.connected, connection), now_ms)

    def received(self, connection: int, data: bytes, now_ms: int) -> None:
        self._hear(partial(self._connections.received, connection, data), now_ms)

    def connection_lost(self, connection: int, now_ms: int) -> None:
        """It was closed by the broker, broke, or could not be made."""
        self._hear(partial(self._connections.lost, connection), now_ms)

    def advance_to(self, now_ms: int) -> None:
        """Do what is due. No deadline is skipped."""
        self.accumulator.advance_to(now_ms)
        self._look_at_waiting(now_ms)
        self._look_at_calls(now_ms)
        if self._poll_until_ms is not None and self._poll_until_ms <= now_ms:
            self._turn(now_ms)
        if self._close_until_ms is not None and self._close_until_ms <= now_ms and not self.is_closed:
            self._end(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When `advance_to` next has something to do."""
        if self.is_closed:
            return None
        deadlines = [self.accumulator.next_deadline_ms(), self._poll_until_ms, self._close_until_ms]
        deadlines += [sending.began_ms + self.config.max_block_ms for sending in self._waiting]
        deadlines += [call.deadline_ms for call in self._calls]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def take_effects(self) -> list[Effect]:
        """What is to be done on the network, in order."""
        return self._connections.take_effects()

    def check_invariants(self) -> None:
        self.accumulator.check_invariants()
        self.client.check_invariants()

    @property
    def _is_closing(self) -> bool:
        return self._close_until_ms is not None

    def _wake(self, now_ms: int) -> None:
        """The sender turns at once, instead of when its wait is over."""
        if not self.is_closed:
            self._is_woken = True
            self._poll_until_ms = now_ms

    def _hear(self, news: Callable[[], bool], now_ms: int) -> None:
        if self.sender.asleep_until_ms is not None:
            self._unheard.append(news)
        elif news():
            self._turn(now_ms)

    def _turn(self, now_ms: int) -> None:
        wait_ms: int | None = None
        for _ in range(_MOST_TURNS):
            if self.is_closed:
                return
            sender = self.sender
            if sender.asleep_until_ms is None:  # else it goes on where it fell asleep, before it hears anything
                for response in self.client.end_poll(now_ms):
                    complete(response, self._network, sender, self.metadata, now_ms)
                self._settle(now_ms)
                if self._is_closing and not sender.is_blocked and self._is_drained() and not self._has_to_abort():
                    self._end(now_ms)
                    return
            self._is_woken = False
            timeout_ms = sender.run_once(self.metadata.fetch(), now_ms)
            self._settle(now_ms)
            if sender.asleep_until_ms is not None:
                self._poll_until_ms = sender.asleep_until_ms
                return
            self._hear_what_was_missed()
            wait_ms = self.client.begin_poll(timeout_ms, now_ms)
            if wait_ms is not None and wait_ms > 0 and not self._is_woken and not self._connections.has_more():
                break
        self._poll_until_ms = now_ms + max(wait_ms or 0, 1)

    def _hear_what_was_missed(self) -> None:
        unheard, self._unheard = self._unheard, []
        for news in unheard:
            news()

    def _settle(self, now_ms: int) -> None:
        """After what may have given memory back, told of metadata, or ended batches or calls."""
        if self.sender.is_metadata_update_requested:
            self.sender.is_metadata_update_requested = False
            self.metadata.request_update()
        self._look_at_waiting(now_ms)
        self._look_at_calls(now_ms)
        self.accumulator.run_woken(now_ms)
        over = [flush for flush in self._flushes if all(batch.is_done for batch in flush.batches)]
        self._flushes = [flush for flush in self._flushes if flush not in over]
        for flush in over:
            self.accumulator.end_flush()
            flush.on_done()

    def _look_at_waiting(self, now_ms: int) -> None:
        for sending in list(self._waiting):
            try:
                if self._is_closing:
                    raise ProducerClosedError("The producer was closed while a record waited for metadata.")
                if not goes_on_after_waiting(sending, self.metadata, now_ms):
                    continue
                self._waiting.remove(sending)
                self._append(sending, now_ms)
            except ProducerError as error:
                if sending in self._waiting:
                    self._waiting.remove(sending)
                self._refuse(sending, error)

    def _append(self, sending: Sending, now_ms: int) -> None:
        snapshot = self.metadata.fetch()
        partition = self._partitioner.partition(sending.topic, sending.partition, sending.key, snapshot)
        size = estimate_size_upper_bound(sending.key, sending.value, sending.headers)
        most = min(self.config.max_request_size, self.config.buffer_memory)
        if size > most:
            raise RecordTooLargeError(f"The record may take {size} bytes, and {most} are the most.")
        if isinstance(self._manager, TransactionManager20) and self._manager.is_transactional:
            assert partition is not None, "2.0 knows the partition of each record before it is in a batch"
            self._manager.maybe_add_partition(TopicPartition(sending.topic, partition))

        def appended(append: Append) -> None:
            self._appended(sending, append, now_ms)

        self.accumulator.append(
            sending.topic,
            partition,
            sending.timestamp_ms,
            sending.key,
            sending.value,
            sending.headers,
            sending.callback,
            max(0, self.config.max_block_ms - (now_ms - sending.began_ms)),
            now_ms,
            snapshot,
            appended,
        )

    def _appended(self, sending: Sending, append: Append, now_ms: int) -> None:
        if append.error is not None:
            self._refuse(sending, append.error)
            return
        if append.new_batch_created and self._is_sticky and sending.partition is None and sending.key is None:
            self._partitioner.on_new_batch(sending.topic, append.partition, append.metadata)
        sending.partition = append.partition
        if isinstance(self._manager, TransactionManager43):
            try:
                self._manager.maybe_add_partition(TopicPartition(sending.topic, append.partition))
            except ProducerError as error:  # the record is in its batch, and fails with it, as in Kafka
                self._refuse(sending, error)
                return
        sending.is_done = True
        if append.batch_is_full or append.new_batch_created:
            self._wake(now_ms)

    def _refuse(self, sending: Sending, error: ProducerError) -> None:
        sending.is_done = True
        sending.error = error
        if type(error) is ProducerError or isinstance(error, _NOT_CALLED_BACK):
            return
        if sending.callback is not None:
            sending.callback(None, error)
        if isinstance(self._manager, TransactionManager43):
            try:
                self._manager.maybe_transition_to_error_state(error)
            except ProducerError as refusal:
                sending.error = refusal

    def _is_drained(self) -> bool:
        return not self.accumulator.has_undrained() and self.client.in_flight_request_count_all() == 0

    def _end(self, now_ms: int) -> None:
        self.is_closed = True
        self._poll_until_ms = None
        self.metadata.close()
        self._look_at_waiting(now_ms)
        self.accumulator.abort_incomplete_batches(ProducerClosedError("The producer was closed by force."), now_ms)
        self._connections.close_all()
        self._end_calls(ProducerClosedError("The producer was closed by force."))
