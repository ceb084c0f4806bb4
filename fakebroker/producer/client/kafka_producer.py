"""Kafka's producer without threads, sockets and clock: what goes in has the time with it, what is to be done comes out.

Theory   Doors: `send` a record, `flush`, `close`; `connected`, `received`, `connection_lost` for the network;
         `advance_to` for time. Each says what time it is. What is to be done on the network is in `take_effects`, and
         records are called back from within the doors. `next_deadline_ms` is when to call `advance_to` at the latest;
         after `send` it may be at once: Kafka wakes its sender then, which takes what was sent meanwhile too.
         A turn is one of the sender's thread: what the network has done (`end_poll`), the sender, and how long to wait
         (`begin_poll`). Turns follow each other until there is something to wait for.
Units    monotonic milliseconds; the time of records is whatever their sender says.
Source   clients/.../producer/KafkaProducer.java, Sender.run of 2.0 and 4.3.
Differs  Neither idempotent nor transactional yet, though its sender is. Where Kafka turns without a pause, a turn a
         millisecond follows after a few. From 2.4 to 3.2 a record without a key that begins a batch still goes where
         the one before went (KIP-480 would draw again first).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.append import Append
from fakebroker.producer.client.connections import Connections
from fakebroker.producer.client.effects import Effect
from fakebroker.producer.client.sender_network import SenderNetwork, complete
from fakebroker.producer.client.sending import Sending, goes_on_after_waiting, wait_on_metadata
from fakebroker.producer.errors import (
    BufferTooSmallError,
    ConfigError,
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

_MOST_TURNS = 20  # at one time
_NOT_CALLED_BACK = (ProducerClosedError, BufferTooSmallError)  # Kafka throws them


class _Flush:
    def __init__(self, batches: list[ProducerBatch], on_done: Callable[[], None]) -> None:
        self.batches = batches
        self.on_done = on_done


class KafkaProducer:
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
        if config.enable_idempotence:
            raise ConfigError("enable.idempotence=true: this producer is not idempotent yet, it must be false.")
        self.config = config
        generation = config.generation
        self.metadata: Metadata
        self.accumulator: RecordAccumulator20 | RecordAccumulator43
        if generation.has_delivery_timeout:
            self.metadata = Metadata43(config, random)
            self.accumulator = RecordAccumulator43(config, random_int, random)
        else:
            self.metadata = Metadata20(config)
            self.accumulator = RecordAccumulator20(config)
        nodes = [Node(-at, host, port) for at, (host, port) in enumerate(bootstrap, 1)]
        self.metadata.bootstrap(nodes, now_ms)
        self._connections = Connections(config.client_id, generation)
        states = ClusterConnectionStates(config, random)
        self.client = NetworkClient(self.metadata, self._connections, states, random_int)
        self.sender = Sender(self.accumulator, SenderNetwork(self.client, self.metadata))
        self.is_closed = False
        self._partitioner = Partitioner(generation, random_int, config.partitioner_ignore_keys)
        self._is_sticky = generation.has_sticky_partitioner and not generation.has_built_in_partitioner
        self._waiting: list[Sending] = []
        self._flushes: list[_Flush] = []
        self._poll_until_ms: int | None = now_ms
        self._is_woken = False
        self._close_until_ms: int | None = None

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
        if self._connections.connected(connection):
            self._turn(now_ms)

    def received(self, connection: int, data: bytes, now_ms: int) -> None:
        if self._connections.received(connection, data):
            self._turn(now_ms)

    def connection_lost(self, connection: int, now_ms: int) -> None:
        """It was closed by the broker, broke, or could not be made."""
        if self._connections.lost(connection):
            self._turn(now_ms)

    def advance_to(self, now_ms: int) -> None:
        """Do what is due. No deadline is skipped."""
        self.accumulator.advance_to(now_ms)
        self._look_at_waiting(now_ms)
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

    def _turn(self, now_ms: int) -> None:
        wait_ms: int | None = None
        for _ in range(_MOST_TURNS):
            if self.is_closed:
                return
            for response in self.client.end_poll(now_ms):
                complete(response, self.sender, self.metadata, now_ms)
            self._settle(now_ms)
            if self._is_closing and self._is_drained():
                self._end(now_ms)
                return
            self._is_woken = False
            timeout_ms = self.sender.run_once(self.metadata.fetch(), now_ms)
            self._settle(now_ms)
            wait_ms = self.client.begin_poll(timeout_ms, now_ms)
            if wait_ms is not None and wait_ms > 0 and not self._is_woken and not self._connections.has_more():
                break
        self._poll_until_ms = now_ms + max(wait_ms or 0, 1)

    def _settle(self, now_ms: int) -> None:
        """After what may have given memory back, told of metadata, or ended batches."""
        if self.sender.is_metadata_update_requested:
            self.sender.is_metadata_update_requested = False
            self.metadata.request_update()
        self._look_at_waiting(now_ms)
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
        sending.is_done = True
        sending.partition = append.partition
        if append.batch_is_full or append.new_batch_created:
            self._wake(now_ms)

    def _refuse(self, sending: Sending, error: ProducerError) -> None:
        sending.is_done = True
        sending.error = error
        if sending.callback is not None and not isinstance(error, _NOT_CALLED_BACK):
            sending.callback(None, error)

    def _is_drained(self) -> bool:
        return not self.accumulator.has_undrained() and self.client.in_flight_request_count_all() == 0

    def _end(self, now_ms: int) -> None:
        self.is_closed = True
        self._poll_until_ms = None
        self.metadata.close()
        self._look_at_waiting(now_ms)
        self.accumulator.abort_incomplete_batches(ProducerClosedError("The producer was closed by force."), now_ms)
        self._connections.close_all()
