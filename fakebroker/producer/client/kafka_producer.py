"""Kafka's producer without threads, sockets and a clock: each call passes in the time, and effects come out.

Theory   Calls: `send` a record, `flush`, `close`; `connected`, `received`, `connection_lost` for the network;
         `advance_to` for time. Each has the time as an argument. `take_effects` returns what to do on the network, and
         record callbacks run inside the calls. Call `advance_to` at `next_deadline_ms` at the latest. After `send` this
         may be at once: Kafka wakes its sender then, which also takes records sent meanwhile.

         A turn is one iteration of the sender thread: network events (`end_poll`), the sender, and the next wait
         (`begin_poll`). Turns repeat until there is something to wait for. While the sender sleeps, network events are
         kept for later.

         The producer owns what its callers wait for: records on their way into a batch (record_sends.py) and calls of
         transactions (transaction_calls.py). Both wake the sender (sender_thread.py).
Units    monotonic milliseconds; record timestamps are whatever the caller passes.
Source   clients/.../producer/KafkaProducer.java, Sender.run of 2.0 and 4.3.
Differs  Where Kafka loops without a pause, there is one turn per millisecond after the first few. There is none while
         an idempotent producer waits for batches in flight and all turns would do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, final

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.client.connections import Connections
from fakebroker.producer.client.effects import Effect
from fakebroker.producer.client.frames import ProduceResponse
from fakebroker.producer.client.record_sends import RecordSends
from fakebroker.producer.client.sender_network import SenderNetwork, complete
from fakebroker.producer.client.sender_thread import SenderThread
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.client.transaction_calls import OnDone, TransactionCall, TransactionCalls, ignore
from fakebroker.producer.errors import ProducerClosedError
from fakebroker.producer.journal.events import MetadataUpdated, ProducerEvent, ProducerIdChanged, ResponseHandled
from fakebroker.producer.journal.probe import Listener, ProducerProbe
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_2_0 import Metadata20
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientResponse
from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.producer_batch import Callback, ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_batch_builder import Headers
from fakebroker.producer.sending import words
from fakebroker.producer.sending.sender import Sender
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.requests import GroupMetadata
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.topic_partition import TopicPartition

_MOST_TURNS: Final = 20  # at one time
_LONGEST_IDLE_MS: Final = 100  # of a sender that loops without a pause in Kafka


class _Flush:
    def __init__(self, batches: list[ProducerBatch], on_done: Callable[[], None]) -> None:
        self.batches = batches
        self.on_done = on_done


@final
class KafkaProducer:
    """A producer. `bootstrap` has host and port of the first brokers. `random_int` returns a number from 0 to 2^31 - 1,
    `random` a number from 0 up to 1. `name` is the producer's in its events, by default the client id, and
    `wall_offset_ms` gives them wall time. `probe` is there once it has a listener."""

    def __init__(
        self,
        config: ProducerConfig,
        bootstrap: Sequence[tuple[str, int]],
        random_int: Callable[[], int],
        random: Callable[[], float],
        now_ms: int,
        name: str = "",
        wall_offset_ms: int = 0,
    ) -> None:
        api_versions = ApiVersions()
        self.config = config
        self.probe: ProducerProbe | None = None
        self.metadata: Metadata
        self.accumulator: RecordAccumulator20 | RecordAccumulator43
        if config.generation.has_delivery_timeout:
            self.metadata = Metadata43(config, random)
            new = TransactionManager43(config, api_versions) if config.enable_idempotence else None
            self.accumulator = RecordAccumulator43(config, random_int, random, transaction_manager=new)
        else:
            self.metadata = Metadata20(config)
            old = TransactionManager20(config) if config.enable_idempotence else None
            self.accumulator = RecordAccumulator20(config, old)
        self._manager = self.accumulator.transaction_manager
        self._sender_thread = SenderThread(now_ms)
        self._sends = RecordSends(self.metadata, self.accumulator, random_int, self._sender_thread)
        self._calls = TransactionCalls(config, self._manager, self._sender_thread)
        nodes = [Node(-at, host, port) for at, (host, port) in enumerate(bootstrap, 1)]
        self.metadata.bootstrap(nodes, now_ms)
        self._connections = Connections(config, now_ms)
        states = ClusterConnectionStates(config, random)
        self.client = NetworkClient(self.metadata, self._connections, states, random_int, api_versions)
        self._network = SenderNetwork(self.client, self.metadata)
        self.sender = Sender(self.accumulator, self._network)
        self._name = name or config.client_id
        self._wall_offset_ms = wall_offset_ms
        self._told_version = 0  # of the metadata, for the probe
        self._told_producer = -1, -1  # id and epoch, for the probe
        self._flushes: list[_Flush] = []
        self._unheard: list[Callable[[int], bool]] = []  # network events while the sender slept

    @property
    def is_closed(self) -> bool:
        return self._sender_thread.is_closed

    def listen(self, listener: Listener, *kinds: type[ProducerEvent]) -> None:
        """Add a listener of events from now on, of these kinds or of all. It changes nothing. Records that were sent
        before have the number -1, and RecordCalledBack does not tell their end. So call it before the first record."""
        if self.probe is None:
            self.probe = ProducerProbe(self._name, self._wall_offset_ms)
            self.accumulator.probe = self._connections.probe = self._sends.probe = self.probe
        self.probe.listen(listener, *kinds)

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
        """Send a record. The callback is called at its end, even if the record is refused here. Exceptions of the
        callback go to the log `fakebroker.producer` and stop nothing."""
        return self._sends.send(topic, value, timestamp_ms, now_ms, key, partition, headers, callback)

    def withdraw(self, sending: Sending, now_ms: int) -> None:
        """Withdraw a record of which the caller stops waiting, like an interrupted thread. It is not sent and not
        called back, and its memory is free. Nothing happens if it is done: a record in a batch cannot be withdrawn."""
        self._sends.withdraw(sending, now_ms)

    def init_transactions(self, now_ms: int, on_done: OnDone = ignore) -> TransactionCall:
        """Request a producer id. Another producer with the same transactional id is fenced, and its transaction
        aborted."""
        return self._calls.init_transactions(now_ms, on_done)

    def begin_transaction(self) -> None:
        """Begin a transaction, without any request. Raises ProducerError if one is open, or before init, or after an
        error."""
        self._calls.begin_transaction()

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata, now_ms: int, on_done: OnDone = ignore
    ) -> TransactionCall:
        """Add a group's next offsets to read, which are committed with the transaction."""
        return self._calls.send_offsets_to_transaction(offsets, group, now_ms, on_done)

    def commit_transaction(self, now_ms: int, on_done: OnDone = ignore) -> TransactionCall:
        """Commit. Records sent in the transaction are written first."""
        return self._calls.commit_transaction(now_ms, on_done)

    def abort_transaction(self, now_ms: int, on_done: OnDone = ignore) -> TransactionCall:
        """Abort. Unsent records fail, and written records are never visible."""
        return self._calls.abort_transaction(now_ms, on_done)

    def flush(self, now_ms: int, on_done: Callable[[], None]) -> None:
        """Send all records without lingering, and call `on_done` when all of them have ended."""
        self._flushes.append(_Flush(self.accumulator.begin_flush(), on_done))
        self._sender_thread.wake(now_ms)

    def close(self, now_ms: int, timeout_ms: int) -> None:
        """Refuse further records and send the remaining ones. Those that have not ended after the timeout fail."""
        if self.probe is not None:
            self.probe.now_ms = now_ms
        self._sender_thread.initiate_close(now_ms, timeout_ms)
        self.accumulator.close()
        self.accumulator.run_woken(now_ms)
        self._sender_thread.wake(now_ms)

    def connected(self, connection: int, now_ms: int) -> None:
        self._hear(partial(self._connections.connected, connection), now_ms)

    def received(self, connection: int, data: bytes, now_ms: int) -> None:
        # Like `_hear`, but without a closure, as most events are handled at once.
        if self.probe is not None:
            self.probe.now_ms = now_ms
        if self.sender.asleep_until_ms is not None:
            self._unheard.append(partial(self._connections.received, connection, data))
        elif self._connections.received(connection, data, now_ms):
            self._turn(now_ms)

    def connection_lost(self, connection: int, now_ms: int) -> None:
        """Handle a connection that the broker closed, that broke, or that could not be made."""
        self._hear(lambda _: self._connections.lost(connection), now_ms)

    def advance_to(self, now_ms: int) -> None:
        """Do what is due at this time. Do not skip a deadline."""
        if self.probe is not None:
            self.probe.now_ms = now_ms
        self.accumulator.advance_to(now_ms)
        self._sends.advance_to(now_ms)
        self._calls.advance_to(now_ms)
        thread = self._sender_thread
        if thread.poll_until_ms is not None and thread.poll_until_ms <= now_ms:
            if self._is_at_a_strict_limit(now_ms):
                thread.oversleep(now_ms)
            else:
                self._turn(now_ms)
        if thread.has_to_end(now_ms):
            self._end(now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when `advance_to` next has something to do."""
        thread = self._sender_thread
        if thread.is_closed:
            return None
        own_ms = _earlier(thread.poll_until_ms, thread.close_until_ms)
        blocked_ms = _earlier(self._sends.next_deadline_ms(), self._calls.next_deadline_ms())
        return _earlier(self.accumulator.next_deadline_ms(), _earlier(own_ms, blocked_ms))

    def take_effects(self) -> list[Effect]:
        """Return the effects for the network, in order."""
        return self._connections.take_effects()

    def check_invariants(self) -> None:
        self.accumulator.check_invariants()
        self.client.check_invariants()
        self._connections.check_invariants()

    def _hear(self, news: Callable[[int], bool], now_ms: int) -> None:
        if self.probe is not None:
            self.probe.now_ms = now_ms
        if self.sender.asleep_until_ms is not None:
            self._unheard.append(news)
        elif news(now_ms):
            self._turn(now_ms)

    def _turn(self, now_ms: int) -> None:
        thread = self._sender_thread
        wait_ms: int | None = None
        for _ in range(_MOST_TURNS):
            if thread.is_closed:
                return
            sender = self.sender
            if sender.asleep_until_ms is None:  # otherwise it continues its sleep before any event
                for response in self.client.end_poll(now_ms):
                    if self.probe is not None and self.probe.hears(ResponseHandled):
                        _tell_handled(self.probe, response)
                    complete(response, self._network, sender, self.metadata, now_ms)
                self._settle(now_ms)
                if not thread.is_running and self._can_end():
                    self._end(now_ms)
                    return
            thread.is_woken = False
            timeout_ms = sender.run_once(self.metadata.fetch(), now_ms)
            self._settle(now_ms)
            if sender.asleep_until_ms is not None:
                thread.wait(now_ms, sender.asleep_until_ms)
                return
            self._hear_what_was_missed(now_ms)
            if sender.idle_ms is not None:
                timeout_ms = self._idle_ms(sender.idle_ms, now_ms)
            wait_ms = self.client.begin_poll(timeout_ms, now_ms)
            if wait_ms is not None and wait_ms > 0 and not thread.is_woken and not self._connections.has_more():
                break
        thread.wait(now_ms, now_ms + max(wait_ms or 0, 1))

    def _is_at_a_strict_limit(self, now_ms: int) -> bool:
        """Return True if the wait has ended by itself exactly at a strict limit."""
        if self._sender_thread.is_woken:
            return False
        accumulator = self.accumulator
        in_queue = accumulator.time_outs_ms(now_ms) if isinstance(accumulator, RecordAccumulator20) else []
        return now_ms + 1 in self.client.time_outs_ms() or now_ms + 1 in in_queue

    def _idle_ms(self, sender_ms: int, now_ms: int) -> int:
        """Return the time for which turns would do nothing."""
        time_out_ms = min(self.client.time_outs_ms(), default=None)
        idle_ms = sender_ms if time_out_ms is None else min(sender_ms, time_out_ms - now_ms)
        return max(0, min(idle_ms, _LONGEST_IDLE_MS))

    def _hear_what_was_missed(self, now_ms: int) -> None:
        unheard, self._unheard = self._unheard, []
        for news in unheard:
            news(now_ms)

    def _settle(self, now_ms: int) -> None:
        """Handle the consequences of a step: free memory, new metadata, ended batches and calls."""
        if self.sender.is_metadata_update_requested:
            self.sender.is_metadata_update_requested = False
            self.metadata.request_update()
        if self.probe is not None:
            self._tell_changes(self.probe)
        self._sends.advance_to(now_ms)
        self._calls.advance_to(now_ms)
        self.accumulator.run_woken(now_ms)
        if not self._flushes:
            return
        with_pieces = self.config.generation.flushes_what_was_split
        over = [flush for flush in self._flushes if all(batch.is_flushed(with_pieces) for batch in flush.batches)]
        self._flushes = [flush for flush in self._flushes if flush not in over]
        for flush in over:
            self.accumulator.end_flush()
            flush.on_done()

    def _tell_changes(self, probe: ProducerProbe) -> None:
        """Tell new metadata, and a new producer id. Both change in many places, so they are compared here."""
        version = self.metadata.update_version
        if version != self._told_version:
            self._told_version = version
            nodes = tuple(node.node_id for node in self.metadata.fetch().nodes)
            probe.tell(MetadataUpdated(*probe.times, version, nodes))
        if self._manager is not None:
            given = self._manager.producer_id_and_epoch
            producer = int(given[0]), int(given[1])
            if producer != self._told_producer:
                self._told_producer = producer
                probe.tell(ProducerIdChanged(*probe.times, *producer))

    def _can_end(self) -> bool:
        """Return True if a producer that is being closed has nothing left to send."""
        if self.sender.is_blocked or self.accumulator.has_undrained() or self.client.in_flight_request_count_all():
            return False
        return not self._calls.has_to_abort()

    def _end(self, now_ms: int) -> None:
        self._sender_thread.end()
        self.metadata.close()
        self._sends.advance_to(now_ms)
        self.accumulator.abort_incomplete_batches(ProducerClosedError(words.CLOSED_BY_FORCE), now_ms)
        self._connections.close_all()
        self._calls.fail_all(ProducerClosedError(words.CLOSED_BY_FORCE))


def _tell_handled(probe: ProducerProbe, response: ClientResponse) -> None:
    request, body = response.request, response.body
    partitions: tuple[tuple[str, int, str, int], ...] = ()
    outcome = "answered" if request.expects_response else "none"
    if response.was_disconnected:
        outcome = "timed out" if response.was_timed_out else "disconnected"
    elif response.version_mismatch is not None:
        outcome = "no version"
    elif isinstance(body, ProduceResponse):
        partitions = tuple((*one.partition, kafka_name(one.code), one.base_offset) for one in body.answers)
    probe.tell(ResponseHandled(*probe.times, request.node, request.correlation_id, outcome, partitions))


def _earlier(one_ms: int | None, other_ms: int | None) -> int | None:
    if one_ms is None or other_ms is None:
        return other_ms if one_ms is None else one_ms
    return min(one_ms, other_ms)
