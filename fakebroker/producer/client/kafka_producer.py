"""Kafka's producer without threads, sockets and a clock: each call passes in the time, and effects come out.

Theory   Calls: `send` a record, `flush`, `close`; `connected`, `received`, `connection_lost` for the network;
         `advance_to` for time. Each has the time as an argument. `take_effects` returns what to do on the network, and
         record callbacks run inside the calls. Call `advance_to` at `next_deadline_ms` at the latest. After `send` this
         may be at once: Kafka wakes its sender then, which also takes records sent meanwhile.

         A turn is one iteration of the sender thread: network events (`end_poll`), the sender, and the next wait
         (`begin_poll`). Turns repeat until there is something to wait for. While the sender sleeps, network events are
         kept for later.

         A wait that nothing cuts short ends late: Linux lets `select` take 0.1 % longer, 100 ms at most. So Kafka's
         clock is nearly always past a strict limit (`>`), even if the wait was exactly as long. Here a wait that ends
         at such a limit (`time_outs_ms`) is late by the same time. Otherwise the limit would not be exceeded at its
         millisecond, and the next wait could be as long again.

         Sending is in record_doors.py, the calls of transactions are in transaction_doors.py.
Units    monotonic milliseconds; record timestamps are whatever the caller passes.
Source   clients/.../producer/KafkaProducer.java, Sender.run of 2.0 and 4.3.
Differs  Where Kafka loops without a pause, there is one turn per millisecond after the first few. There is none while
         an idempotent producer waits for batches in flight and all turns would do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.client.connections import Connections
from fakebroker.producer.client.effects import Effect
from fakebroker.producer.client.frames import ProduceResponse
from fakebroker.producer.client.record_doors import RecordDoors
from fakebroker.producer.client.sender_network import SenderNetwork, complete
from fakebroker.producer.errors import ProducerClosedError
from fakebroker.producer.journal.events import MetadataUpdated, ProducerEvent, ProducerIdChanged, ResponseHandled
from fakebroker.producer.journal.probe import Listener, ProducerProbe
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientResponse
from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending import words
from fakebroker.producer.sending.sender import Sender
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.protocol.error_code import kafka_name

_MOST_TURNS: Final = 20  # at one time
_LATEST_MS: Final = 100  # MAX_SLACK of Linux's fs/select.c
_LONGEST_IDLE_MS: Final = 100  # of a sender that loops without a pause in Kafka


class _Flush:
    def __init__(self, batches: list[ProducerBatch], on_done: Callable[[], None]) -> None:
        self.batches = batches
        self.on_done = on_done


class KafkaProducer(RecordDoors):
    """A producer. `bootstrap` has host and port of the first brokers. `random_int` returns a number from 0 to 2^31 - 1,
    `random` a number from 0 up to 1. `name` is the producer's in its events, by default the client id, and
    `wall_offset_ms` gives them wall time."""

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
        super().__init__(config, random_int, random, api_versions)
        nodes = [Node(-at, host, port) for at, (host, port) in enumerate(bootstrap, 1)]
        self.metadata.bootstrap(nodes, now_ms)
        self._connections = Connections(config, now_ms)
        states = ClusterConnectionStates(config, random)
        self.client = NetworkClient(self.metadata, self._connections, states, random_int, api_versions)
        self._network = SenderNetwork(self.client, self.metadata)
        self.sender = Sender(self.accumulator, self._network)
        self.is_closed = False
        self._name = name or config.client_id
        self._wall_offset_ms = wall_offset_ms
        self._told_version = 0  # of the metadata, for the probe
        self._told_producer = -1, -1  # id and epoch, for the probe
        self._flushes: list[_Flush] = []
        self._poll_since_ms = now_ms
        self._poll_until_ms: int | None = now_ms
        self._is_woken = False
        self._unheard: list[Callable[[int], bool]] = []  # network events while the sender slept

    def listen(self, listener: Listener, *kinds: type[ProducerEvent]) -> None:
        """Add a listener of events from now on, of these kinds or of all. It changes nothing. Records that were sent
        before have the number -1, and RecordCalledBack does not tell their end. So call it before the first record."""
        if self.probe is None:
            self.probe = ProducerProbe(self._name, self._wall_offset_ms)
            self.accumulator.probe = self._connections.probe = self.probe
        self.probe.listen(listener, *kinds)

    def flush(self, now_ms: int, on_done: Callable[[], None]) -> None:
        """Send all records without lingering, and call `on_done` when all of them have ended."""
        self._flushes.append(_Flush(self.accumulator.begin_flush(), on_done))
        self._wake(now_ms)

    def close(self, now_ms: int, timeout_ms: int) -> None:
        """Refuse further records and send the remaining ones. Those that have not ended after the timeout fail."""
        if self.probe is not None:
            self.probe.now_ms = now_ms
        self._close_until_ms = now_ms + timeout_ms
        self.accumulator.close()
        self.accumulator.run_woken(now_ms)
        self._wake(now_ms)

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
        self._look_at_waiting(now_ms)
        self._look_at_calls(now_ms)
        if self._poll_until_ms is not None and self._poll_until_ms <= now_ms:
            if self._is_at_a_strict_limit(now_ms):
                self._poll_until_ms = now_ms + _lateness_ms(now_ms - self._poll_since_ms)
            else:
                self._turn(now_ms)
        if self._close_until_ms is not None and self._close_until_ms <= now_ms and not self.is_closed:
            self._end(now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when `advance_to` next has something to do."""
        if self.is_closed:
            return None
        deadline_ms = _earlier(self.accumulator.next_deadline_ms(), _earlier(self._poll_until_ms, self._close_until_ms))
        for sending in self._waiting:
            deadline_ms = _earlier(deadline_ms, sending.began_ms + self.config.max_block_ms)
        for call in self._calls:
            deadline_ms = _earlier(deadline_ms, call.deadline_ms)
        return deadline_ms

    def take_effects(self) -> list[Effect]:
        """Return the effects for the network, in order."""
        return self._connections.take_effects()

    def check_invariants(self) -> None:
        self.accumulator.check_invariants()
        self.client.check_invariants()
        self._connections.check_invariants()

    def _wake(self, now_ms: int) -> None:
        """Run the sender at once, instead of at the end of its wait."""
        if not self.is_closed:
            self._is_woken = True
            self._poll_until_ms = now_ms

    def _hear(self, news: Callable[[int], bool], now_ms: int) -> None:
        if self.probe is not None:
            self.probe.now_ms = now_ms
        if self.sender.asleep_until_ms is not None:
            self._unheard.append(news)
        elif news(now_ms):
            self._turn(now_ms)

    def _turn(self, now_ms: int) -> None:
        self._poll_since_ms = now_ms
        wait_ms: int | None = None
        for _ in range(_MOST_TURNS):
            if self.is_closed:
                return
            sender = self.sender
            if sender.asleep_until_ms is None:  # otherwise it continues its sleep before any event
                for response in self.client.end_poll(now_ms):
                    if self.probe is not None and self.probe.hears(ResponseHandled):
                        _tell_handled(self.probe, response)
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
            self._hear_what_was_missed(now_ms)
            if sender.idle_ms is not None:
                timeout_ms = self._idle_ms(sender.idle_ms, now_ms)
            wait_ms = self.client.begin_poll(timeout_ms, now_ms)
            if wait_ms is not None and wait_ms > 0 and not self._is_woken and not self._connections.has_more():
                break
        self._poll_until_ms = now_ms + max(wait_ms or 0, 1)

    def _is_at_a_strict_limit(self, now_ms: int) -> bool:
        """Return True if the wait has ended by itself exactly at a strict limit."""
        if self._is_woken:
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
        if self._waiting:
            self._look_at_waiting(now_ms)
        if self._calls:
            self._look_at_calls(now_ms)
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

    def _is_drained(self) -> bool:
        return not self.accumulator.has_undrained() and self.client.in_flight_request_count_all() == 0

    def _end(self, now_ms: int) -> None:
        self.is_closed = True
        self._poll_until_ms = None
        self.metadata.close()
        self._look_at_waiting(now_ms)
        self.accumulator.abort_incomplete_batches(ProducerClosedError(words.CLOSED_BY_FORCE), now_ms)
        self._connections.close_all()
        self._end_calls(ProducerClosedError(words.CLOSED_BY_FORCE))


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


def _lateness_ms(wait_ms: int) -> int:
    """Return by how much a wait of this length is late, in whole milliseconds, rounded up to at least 1."""
    return max(1, min(wait_ms // 1_000, _LATEST_MS))


def _earlier(one_ms: int | None, other_ms: int | None) -> int | None:
    if one_ms is None or other_ms is None:
        return other_ms if one_ms is None else one_ms
    return min(one_ms, other_ms)
