"""The sender: it sends ready batches and completes them with the responses.

Theory   `run_once` is one iteration of the sender. First it serves the transaction manager, if there is one
         (transactional_turn.py). Then it asks which nodes have batches and which of these can accept a request. It
         drains one batch of each partition, fails expired batches, and sends one request to each node. It returns the
         delay until the next iteration. Responses arrive between iterations by the `handle_` methods (completion.py).

         With `max.in.flight.requests.per.connection` 1 a partition is muted from its drain to its response, so that a
         retry keeps its place. With sequence numbers the order is kept with up to 5 in flight.

         Where Kafka's thread blocks, an iteration ends here with `is_blocked`. The next call continues it, at the
         returned time or after a network event. Pass in no responses before `asleep_until_ms`.
Units    monotonic milliseconds.
Source   clients/.../producer/internals/Sender.java of 2.0 and 4.3; conformance/producer plays both with it.
Differs  `client/sender_network.py` passes the leaders named in responses (KIP-951) to the metadata. Nodes come in the
         order of `ready`; in Kafka the hash of their addresses decides. This affects where the next drain of 2.0
         starts, and the order of compression ratios. After each `handle_` call, call `accumulator.run_woken`.
         `uncaught` is what Kafka's thread would log as uncaught.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.journal.events import BatchDrained, BatchResequenced
from fakebroker.producer.journal.probe import ProducerProbe
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.ready_check_result import ReadyCheckResult
from fakebroker.producer.record_accumulator import NO_DELAY_MS, RecordAccumulator
from fakebroker.producer.sending import words
from fakebroker.producer.sending.client import Client, ClientProduceRequest, TransactionalRequest
from fakebroker.producer.sending.completion import Completion
from fakebroker.producer.sending.in_flight_batches import InFlightBatches
from fakebroker.producer.sending.response_errors import BrokerError, PartitionResponse
from fakebroker.producer.sending.transactional_turn import TransactionalTurn
from fakebroker.producer.sending.transactional_turn_2_0 import TransactionalTurn20
from fakebroker.producer.sending.transactional_turn_4_3 import TransactionalTurn43
from fakebroker.producer.transactions.requests import TxnAnswer
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.error_code import ErrorCode


class Sender:
    """The sender. `is_metadata_update_requested` is set when the client should refresh its metadata; the client resets
    it. `uncaught` is the last unexpected error of an iteration or a response. `idle_ms`: the last iteration did
    nothing, and none will for this long, unless there is a network event or a request times out. It is None if unknown.
    Kafka's thread loops without a pause then (`run_once` returns 0)."""

    def __init__(self, accumulator: RecordAccumulator20 | RecordAccumulator43, client: Client) -> None:
        self.uncaught: ProducerError | None = None
        self.idle_ms: int | None = None
        self._accumulator = accumulator
        self._client = client
        self._config = accumulator.config
        self._guarantees_order = accumulator.config.max_in_flight_requests_per_connection == 1
        self._in_flight = InFlightBatches()
        self._completion = Completion(accumulator, self._in_flight)
        self._manager = accumulator.transaction_manager
        self._turn = _transactional_turn(accumulator, self._in_flight, client)
        self._is_leader_unknown = False

    @property
    def is_metadata_update_requested(self) -> bool:
        turn = self._turn
        is_node_missing = turn is not None and turn.is_metadata_update_requested
        return self._is_leader_unknown or self._completion.is_metadata_update_requested or is_node_missing

    @is_metadata_update_requested.setter
    def is_metadata_update_requested(self, is_requested: bool) -> None:
        self._is_leader_unknown = is_requested
        self._completion.is_metadata_update_requested = is_requested
        if self._turn is not None:
            self._turn.is_metadata_update_requested = is_requested

    @property
    def is_blocked(self) -> bool:
        """True if the iteration has not ended."""
        return self._turn is not None and self._turn.is_blocked

    @property
    def asleep_until_ms(self) -> int | None:
        """Return the time until which it must not get responses, None if there is none."""
        return None if self._turn is None else self._turn.asleep_until_ms

    def run_once(self, metadata: MetadataSnapshot, now_ms: int) -> int:
        """Run one iteration, or continue one. Return the delay in milliseconds until the next, at most."""
        self.idle_ms = None
        self._enter(True)
        try:
            if self._turn is not None:
                delay_ms = self._turn.run(now_ms)
                if delay_ms is not None:
                    return delay_ms
                if not self._config.generation.has_delivery_timeout:
                    now_ms = self._turn.turn_ms
            return self._send_producer_data(metadata, now_ms)
        except ProducerError as error:
            self.uncaught = error
            return 0
        finally:
            self._enter(False)

    def handle_produce_response(
        self, request: ClientProduceRequest, answers: Iterable[PartitionResponse], throttle_ms: int, now_ms: int
    ) -> None:
        """Apply a response: a result for each partition, in order, and the throttle time."""
        answered = []
        for answer in answers:
            batch = request.batches.get(answer.partition)
            assert batch is not None, f"an answer for {answer.partition}, which was not asked for"
            answered.append((batch, answer))
        self._complete(answered, now_ms + throttle_ms, now_ms)

    def handle_no_response(self, request: ClientProduceRequest, now_ms: int) -> None:
        """Complete a request with acks=0: it is written to the connection, and its outcome stays unknown."""
        self._complete_all(request, ErrorCode.none, now_ms)

    def handle_disconnect(self, request: ClientProduceRequest, is_timed_out: bool, now_ms: int) -> None:
        """End a request that lost its connection before the response. `is_timed_out`: the client closed it after a
        timeout."""
        generation = self._config.generation
        is_timed_out = is_timed_out and generation.tells_own_time_outs
        code = ErrorCode.request_timed_out if is_timed_out else ErrorCode.network_exception
        text = words.disconnected(request.node, is_timed_out, generation)
        self._complete_all(request, code, now_ms, text)

    def handle_transactional_response(self, request: TransactionalRequest, answer: TxnAnswer) -> None:
        self._tell(request, answer)

    def handle_transactional_disconnect(self, request: TransactionalRequest) -> None:
        self._tell(request, None)

    def handle_transactional_refusal(self, request: TransactionalRequest, text: str) -> None:
        """End a request that the broker serves in no usable version."""
        if request.handler is None:
            self._tell(request, TxnAnswer(ErrorCode.unsupported_version))
            return
        self._enter(True)
        try:
            request.handler.on_refusal(BrokerError(ErrorCode.unsupported_version, text))
        except ProducerError as error:
            self.uncaught = error
        finally:
            self._enter(False)

    def _tell(self, request: TransactionalRequest, answer: TxnAnswer | None) -> None:
        self._enter(True)
        try:
            if request.handler is None:
                assert self._turn is not None
                self._turn.on_answer(answer)
            elif answer is None:
                request.handler.on_disconnect()
            else:
                request.handler.on_answer(answer)
        except ProducerError as error:
            self.uncaught = error
        finally:
            self._enter(False)

    def _complete_all(self, request: ClientProduceRequest, code: int, now_ms: int, text: str = "") -> None:
        answers = [
            (batch, PartitionResponse(partition, code, message=text)) for partition, batch in request.batches.items()
        ]
        self._complete(answers, 0, now_ms)

    def _complete(
        self, answers: list[tuple[ProducerBatch, PartitionResponse]], throttle_until_ms: int, now_ms: int
    ) -> None:
        self._enter(True)
        try:
            for batch, answer in answers:
                self._completion.complete(batch, answer, throttle_until_ms, now_ms)
        except ProducerError as error:  # the rest of the response is skipped
            self.uncaught = error
        finally:
            self._enter(False)

    def _enter(self, is_in_sender: bool) -> None:
        if self._manager is not None:
            self._manager.is_in_sender = is_in_sender

    def _send_producer_data(self, metadata: MetadataSnapshot, now_ms: int) -> int:
        accumulator = self._accumulator
        result = accumulator.ready(metadata, now_ms)
        if result.unknown_leader_topics:
            self._is_leader_unknown = True
        nodes, not_ready_ms = self._nodes_that_can_take(result, now_ms)
        drained = _by_node(accumulator.drain(metadata, nodes, self._config.max_request_size, now_ms))
        timeout_ms = min(result.next_ready_check_delay_ms, not_ready_ms)
        for node, batches in drained:
            for batch in batches:
                if accumulator.probe is not None:
                    _tell_drained(accumulator.probe, batch, node)
                if isinstance(accumulator, RecordAccumulator43):
                    self._in_flight.add(batch)
                if self._guarantees_order:
                    accumulator.mute_partition(batch.partition)
        self._completion.expire(now_ms)
        if isinstance(accumulator, RecordAccumulator43):
            timeout_ms = max(0, min(timeout_ms, accumulator.next_expiry_ms - now_ms))
            # Kafka would loop here: an idempotent producer waits for its batches in flight before it drains others of
            # the node.
            if nodes and accumulator.held_back_nodes.issuperset(nodes):
                self.idle_ms = timeout_ms
        for node, batches in drained:
            if batches:
                self._send(node, batches, now_ms)
        return 0 if nodes else timeout_ms

    def _nodes_that_can_take(self, result: ReadyCheckResult, now_ms: int) -> tuple[list[int], int]:
        """Return the nodes that can accept a request, and the shortest delay until another one can."""
        nodes = []
        not_ready_ms = NO_DELAY_MS
        for node in result.ready_nodes:
            is_ready = self._client.ready(node, now_ms)
            if isinstance(self._accumulator, RecordAccumulator43):
                self._accumulator.update_node_latency_stats(node, now_ms, is_ready)
            if is_ready:
                nodes.append(node)
            else:
                not_ready_ms = min(not_ready_ms, self._client.poll_delay_ms(node, now_ms))
        return nodes, not_ready_ms

    def _send(self, node: int, batches: list[ProducerBatch], now_ms: int) -> None:
        for batch in batches:
            batch.is_inflight = True
        manager = self._manager
        transactional_id = None if manager is None else manager.transactional_id
        is_v2 = isinstance(manager, TransactionManager43) and manager.is_transaction_v2_enabled
        config = self._config
        request = ClientProduceRequest(node, config.acks, config.request_timeout_ms, batches, transactional_id, is_v2)
        self._client.send(request, now_ms)


def _transactional_turn(
    accumulator: RecordAccumulator, in_flight: InFlightBatches, client: Client
) -> TransactionalTurn | None:
    manager = accumulator.transaction_manager
    if isinstance(manager, TransactionManager20):
        return TransactionalTurn20(manager, accumulator, in_flight, client)
    if isinstance(manager, TransactionManager43):
        return TransactionalTurn43(manager, accumulator, in_flight, client)
    return None


def _tell_drained(probe: ProducerProbe, batch: ProducerBatch, node: int) -> None:
    """Tell a drain, and before it that the batch has another identity than when it was last drained."""
    number = probe.number_of(batch)
    identity = batch.producer_id, batch.producer_epoch, batch.base_sequence
    before, batch.journal_identity = batch.journal_identity, identity
    if before is not None and before != identity:
        probe.tell(BatchResequenced(*probe.times, number, before[-1], batch.base_sequence))
    if probe.hears(BatchDrained):
        details = batch.record_count, batch.created_ms, batch.attempts
        probe.tell(BatchDrained(*probe.times, number, *batch.partition, node, *details, *identity))


def _by_node(drained: dict[int, list[ProducerBatch]]) -> list[tuple[int, list[ProducerBatch]]]:
    if len(drained) < 2:
        return list(drained.items())
    by_node: HashMap[int, list[ProducerBatch]] = HashMap(int)
    for node, batches in drained.items():
        by_node.put(node, batches)
    return by_node.items()
