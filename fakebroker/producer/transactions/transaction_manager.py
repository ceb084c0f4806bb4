"""The transaction manager: the state and id of a producer, and its coordinator requests. Both generations share it.

Theory   It has a state (txn_state.py), the error behind it, and pending requests, of which one is in flight at a time.
         The order is: FindCoordinator, InitProducerId, requests of the transaction, EndTxn. A producer that is only
         idempotent has no transactional id. It needs only a producer id and the sequence numbers of its partitions.
         Errors are abortable (the transaction ends, the producer continues) or fatal.
Units    monotonic milliseconds in the sender, which sends the requests.
Errors   IllegalProducerStateError and others of errors.py for a call that the state does not allow.
Source   clients/.../producer/internals/TransactionManager.java of 2.0 and 4.3; conformance/producer plays both with it.
Differs  There is one thread, no two-phase commit by an external coordinator (KIP-939), and no authentication.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.errors import CommitFailedError, IllegalProducerStateError, ProducerError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_batch_builder import NO_SEQUENCE
from fakebroker.producer.sending.response_errors import BrokerError, PartitionResponse, known_code
from fakebroker.producer.transactions.error_actions import ErrorAction, action_for
from fakebroker.producer.transactions.priority_queue import PriorityQueue
from fakebroker.producer.transactions.producer_id_and_epoch import NONE, ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddPartitionsToTxn,
    CoordinatorType,
    FindCoordinator,
    GroupMetadata,
    TransactionalRequestResult,
    TxnAnswer,
    TxnRequest,
)
from fakebroker.producer.transactions.txn_state import State
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.topic_partition import TopicPartition


class TxnRequestHandler:
    """A pending request or one in flight, and the handler of its response: here with what all requests share, and in
    handlers.py each kind of request. A lower `priority` goes first.
    `coordinator_type` None means any broker. `is_end_txn` waits until all batches are done."""

    priority: int
    is_end_txn: ClassVar[bool] = False
    is_find_coordinator: ClassVar[bool] = False

    def __init__(self, manager: TransactionManager, request: TxnRequest, result: TransactionalRequestResult) -> None:
        self.manager = manager
        self.result = result
        self.is_retry = False
        self._request = request

    @property
    def request(self) -> TxnRequest:
        return self._request

    @property
    def coordinator_type(self) -> CoordinatorType | None:
        return CoordinatorType.TRANSACTION

    @property
    def coordinator_key(self) -> str | None:
        return self.manager.transactional_id

    @property
    def retry_backoff_ms(self) -> int:
        """Return the delay before a retry."""
        return self.manager.config.retry_backoff_ms

    def handle_answer(self, answer: TxnAnswer) -> None:
        raise NotImplementedError

    def on_answer(self, answer: TxnAnswer) -> None:
        self.manager.has_in_flight_request = False
        self.handle_answer(answer)

    def on_disconnect(self) -> None:
        """Retry: the connection closed before the response."""
        self.manager.has_in_flight_request = False
        if self.coordinator_type is not None:
            self.manager.look_up_coordinator_of(self)
        self.reenqueue()

    def on_refusal(self, error: ProducerError) -> None:
        """Fail for good: the request cannot be sent in any version."""
        self.manager.has_in_flight_request = False
        self.fatal_error(error)

    def reenqueue(self) -> None:
        self.is_retry = True
        self.manager.enqueue(self)

    def fail(self, error: ProducerError) -> None:
        self.result.fail(error)

    def fatal_error(self, error: ProducerError) -> None:
        """Fail the request and the producer."""
        self._set_error(error)
        self.manager.transition_to_fatal_error(error)
        self.result.done()

    def abortable_error(self, error: ProducerError) -> None:
        """Fail the request and the transaction."""
        self._set_error(error)
        self.manager.transition_to_abortable_error(error)
        self.result.done()

    def _set_error(self, error: ProducerError) -> None:
        if self.manager.config.generation.has_delivery_timeout:
            self.result.fail(error)
        else:
            self.result.error = error  # in 2.0 it completes only if the state transition succeeds

    def _action(self, code: int) -> ErrorAction:
        return action_for(type(self.request), code, self.manager.config.generation)

    def _known(self, code: int) -> int:
        return known_code(code, self.manager.config.generation)

    def _codes(self, answer: TxnAnswer) -> list[tuple[TopicPartition, int]]:
        """Return the partitions' codes in Kafka's order, as the first error may decide."""
        codes: HashMap[TopicPartition, int] = HashMap(hash_of_partition)
        for partition, code in answer.partitions:
            codes.put(partition, self._known(code))
        return codes.items()

    def _react(self, code: int) -> None:
        """Handle an error that is the whole response."""
        match self._action(code):
            case ErrorAction.LOOK_UP:
                self.manager.look_up_coordinator(CoordinatorType.TRANSACTION, self.manager.transactional_id)
                self.reenqueue()
            case ErrorAction.RETRY | ErrorAction.RETRY_SOON:
                self.reenqueue()
            case action:
                self._end(action, code)

    def _end(self, action: ErrorAction, code: int) -> None:
        """End the request without a retry."""
        match action:
            case ErrorAction.FATAL:
                self.fatal_error(BrokerError(code))
            case ErrorAction.FENCED:
                self.fatal_error(BrokerError(ErrorCode.producer_fenced))
            case ErrorAction.ABORT:
                self.abortable_error(BrokerError(code))
            case ErrorAction.ABORT_IF_POSSIBLE:
                self.manager.abortable_error_if_possible(self, BrokerError(code))
            case ErrorAction.NO_MEMBER:
                text = f"The offsets are not committed: the group knows no such member ({kafka_name(code)})."
                self.abortable_error(CommitFailedError(text))
            case _:
                self.fatal_error(ProducerError(f"{type(self.request).__name__} was answered {kafka_name(code)}."))


class TransactionManager:
    """The state machine of a producer's transactions. `is_in_sender` is True while the sender is the caller, not the
    application."""

    def __init__(self, config: ProducerConfig, sources: Mapping[State, frozenset[State]]) -> None:
        self.config = config
        self.transactional_id = config.transactional_id or None
        self.state = State.UNINITIALIZED
        self.last_error: ProducerError | None = None
        self.producer_id_and_epoch = NONE
        self.has_in_flight_request = False
        self.is_in_sender = False
        self.partitions_in_transaction: set[TopicPartition] = set()
        self.new_partitions: HashMap[TopicPartition, bool] = HashMap(hash_of_partition)
        self.pending_partitions: HashMap[TopicPartition, bool] = HashMap(hash_of_partition)
        self.pending_offsets: dict[TopicPartition, int] = {}
        self.is_transaction_started = False
        self.pending: PriorityQueue[TxnRequestHandler] = PriorityQueue(_priority)
        self._sources = sources
        self._coordinators: dict[CoordinatorType, int] = {}

    # Batches with sequence numbers: each generation implements these.

    def has_unresolved_sequences(self) -> bool:
        """Return True if any partition has an unresolved sequence."""
        raise NotImplementedError

    def has_unresolved_sequence(self, partition: TopicPartition) -> bool:
        """Return True if a batch of the partition expired after it was sent, so that it may or may not be written."""
        raise NotImplementedError

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        """Return the first sequence in flight, NO_SEQUENCE if nothing is."""
        raise NotImplementedError

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def assign_sequence(self, batch: ProducerBatch) -> None:
        """Assign producer id, epoch and sequence to a batch that is about to be sent for the first time."""
        raise NotImplementedError

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def can_retry(self, answer: PartitionResponse, batch: ProducerBatch) -> bool:
        """Return True if a batch with an error may be sent again, and change its sequences as needed for that."""
        raise NotImplementedError

    def handle_completed_batch(self, batch: ProducerBatch, answer: PartitionResponse) -> None:
        """Record a batch that was written."""
        raise NotImplementedError

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        """Record a batch that will not be sent again."""
        raise NotImplementedError

    # The state.

    @property
    def is_transactional(self) -> bool:
        return self.transactional_id is not None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id_and_epoch.is_valid

    @property
    def is_completing(self) -> bool:
        return self.state in (State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION)

    @property
    def is_aborting(self) -> bool:
        return self.state is State.ABORTING_TRANSACTION

    @property
    def has_fatal_error(self) -> bool:
        return self.state is State.FATAL_ERROR

    @property
    def has_abortable_error(self) -> bool:
        return self.state is State.ABORTABLE_ERROR

    @property
    def has_error(self) -> bool:
        return self.has_fatal_error or self.has_abortable_error

    @property
    def has_ongoing_transaction(self) -> bool:
        return self.state is State.IN_TRANSACTION or self.is_completing or self.has_abortable_error

    def initialize_transactions(self) -> TransactionalRequestResult:
        """Request a producer id. The previous producer with this transactional id is fenced."""
        raise NotImplementedError

    def begin_transaction(self) -> None:
        raise NotImplementedError

    def begin_commit(self) -> TransactionalRequestResult:
        """Start to commit. Batches are sent before the EndTxn."""
        raise NotImplementedError

    def begin_abort(self) -> TransactionalRequestResult:
        """Start to abort. Records that were not sent are dropped."""
        raise NotImplementedError

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> TransactionalRequestResult:
        """Add a group's next offsets to read to the transaction."""
        raise NotImplementedError

    def maybe_add_partition(self, partition: TopicPartition) -> None:
        """Add the partition of a record to the transaction. Raises if there is no transaction, or after an error."""
        raise NotImplementedError

    def is_waiting(self, batch: ProducerBatch) -> bool:
        """Return True if the first batch of a queue must not be sent yet."""
        partition = batch.partition
        if not self.is_send_to_partition_allowed(partition) or not self.has_producer_id:
            return True
        if not batch.has_sequence:
            return self.is_new_batch_held(partition)
        first = self.first_in_flight_sequence(partition)
        return first not in (NO_SEQUENCE, batch.base_sequence)

    def is_new_batch_held(self, partition: TopicPartition) -> bool:
        """Return True if no new batch may be sent until the batches in flight are done."""
        return self.has_unresolved_sequence(partition)

    def is_send_to_partition_allowed(self, partition: TopicPartition) -> bool:
        if self.has_fatal_error:
            return False
        return not self.is_transactional or partition in self.partitions_in_transaction

    def reset_transaction_state(self) -> None:
        """Return to READY after the end of a transaction."""
        raise NotImplementedError

    def on_producer_id(self, producer: ProducerIdAndEpoch, is_epoch_bump: bool) -> None:
        """Handle a successful InitProducerId."""
        raise NotImplementedError

    def on_transaction_ended(self, producer: ProducerIdAndEpoch) -> None:
        """Handle a successful EndTxn; in version 2 it returns the next epoch (KIP-890)."""
        raise NotImplementedError

    def commit_offsets(
        self, result: TransactionalRequestResult, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        """Send the group's offsets, after AddOffsetsToTxn has succeeded."""
        raise NotImplementedError

    def on_coordinator_ready(self) -> None:
        """Handle a connected transaction coordinator: its versions are known."""

    def transition_to_abortable_error(self, error: ProducerError) -> None:
        if not self.is_aborting:
            self.transition_to(State.ABORTABLE_ERROR, error)

    def transition_to_fatal_error(self, error: ProducerError) -> None:
        self.transition_to(State.FATAL_ERROR, error)

    def abortable_error_if_possible(self, handler: TxnRequestHandler, error: ProducerError) -> None:
        """Require an abort if the producer can continue after it, otherwise fail (4.3)."""
        raise NotImplementedError

    def transition_to(self, target: State, error: ProducerError | None = None) -> None:
        """Enter the state. Raises if the current state does not allow it."""
        if self.state not in self._sources[target]:
            text = f"The producer{self._who()} is {self.state.name} and cannot become {target.name}."
            raise self.refuse_transition(text)
        assert (error is not None) == (target in (State.FATAL_ERROR, State.ABORTABLE_ERROR)), "an error has a reason"
        self.last_error = error
        self.state = target

    def refuse_transition(self, text: str) -> ProducerError:
        """Return the error for a transition that is not allowed."""
        return IllegalProducerStateError(text)

    def next_request(self, has_incomplete_batches: bool) -> TxnRequestHandler | None:
        """Return the request to send now. Return None if there is none, or if the next one waits for batches."""
        self._enqueue_new_partitions()
        handler = self.pending.peek()
        if handler is None or (handler.is_end_txn and has_incomplete_batches):
            return None
        self.pending.poll()
        if self._maybe_terminate_with_error(handler):
            return None
        if handler.is_end_txn and not self.is_transaction_started:  # the coordinator has no transaction
            handler.result.done()
            if not self.has_fatal_error:
                self.reset_transaction_state()
            return self.pending.poll()
        return handler

    def retry(self, handler: TxnRequestHandler) -> None:
        """Queue a request again that could not be sent."""
        handler.reenqueue()

    def enqueue(self, handler: TxnRequestHandler) -> None:
        self.pending.offer(handler)

    def coordinator(self, kind: CoordinatorType) -> int | None:
        """Return the node id of the coordinator, None if unknown."""
        return self._coordinators.get(kind)

    def set_coordinator(self, kind: CoordinatorType, node: int) -> None:
        self._coordinators[kind] = node

    def look_up_coordinator_of(self, handler: TxnRequestHandler) -> None:
        assert handler.coordinator_type is not None
        self.look_up_coordinator(handler.coordinator_type, handler.coordinator_key)

    def look_up_coordinator(self, kind: CoordinatorType, key: str | None) -> None:
        """Forget the coordinator, and request it."""
        self._coordinators.pop(kind, None)
        self.enqueue(self.find_coordinator_handler(FindCoordinator(kind, key)))

    def find_coordinator_handler(self, request: FindCoordinator) -> TxnRequestHandler:
        raise NotImplementedError

    def add_partitions_handler(self, request: AddPartitionsToTxn) -> TxnRequestHandler:
        raise NotImplementedError

    def _enqueue_new_partitions(self) -> None:
        if not len(self.new_partitions):
            return
        for partition, _ in self.new_partitions.items():
            self.pending_partitions.put(partition, True)
        self.new_partitions.clear()
        partitions = tuple(partition for partition, _ in self.pending_partitions.items())
        assert self.transactional_id is not None
        request = AddPartitionsToTxn(self.transactional_id, self.producer_id_and_epoch, partitions)
        self.enqueue(self.add_partitions_handler(request))

    def _maybe_terminate_with_error(self, handler: TxnRequestHandler) -> bool:
        if not self.has_error or (self.has_abortable_error and handler.is_find_coordinator):
            return False
        assert self.last_error is not None
        handler.fail(self.last_error)
        return True

    def _ensure_transactional(self) -> str:
        if self.transactional_id is None:
            raise IllegalProducerStateError("The producer has no transactional.id, so it has no transactions.")
        return self.transactional_id

    def _who(self) -> str:
        return f" with transactional id {self.transactional_id}" if self.transactional_id is not None else ""


def _priority(handler: TxnRequestHandler) -> int:
    return handler.priority
