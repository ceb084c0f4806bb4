"""The calls of a transactional producer; where Kafka's methods block, these return a TransactionCall.

Theory   A call is done when the transaction manager has its result, or after `max.block.ms`. After that 4.3 returns the
         same result to a repeated call. In 2.0 only `init_transactions` has this limit.
Units    monotonic milliseconds.
Errors   Errors known at once are in the returned call. ProducerFenced is a BrokerError with that code.
Source   KafkaProducer.{initTransactions,beginTransaction,sendOffsetsToTransaction,commitTransaction,abortTransaction}
         of 2.0 and 4.3.
Differs  Calls that wait while the producer is closed by force fail; in 2.0 they would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

from fakebroker.producer.client.sender_thread import SenderThread
from fakebroker.producer.errors import AfterCloseError, IllegalProducerStateError, ProducerError
from fakebroker.producer.errors import ProducerTimeoutError as _Timeout
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending import words
from fakebroker.producer.transactions.requests import GroupMetadata, TransactionalRequestResult
from fakebroker.producer.transactions.transaction_manager import TransactionManager
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.topic_partition import TopicPartition


class TransactionCall:
    """A call of a transactional producer. When `is_done`, it has succeeded or failed with `error`. Until then Kafka's
    caller would be blocked."""

    __slots__ = ("deadline_ms", "error", "is_done", "is_init", "on_done", "operation", "result")

    def __init__(self, operation: str, deadline_ms: int | None, on_done: OnDone) -> None:
        self.operation = operation
        self.deadline_ms = deadline_ms
        self.on_done = on_done
        self.is_init = operation == "initTransactions"
        self.is_done = False
        self.error: ProducerError | None = None
        self.result: TransactionalRequestResult | None = None

    def end(self, error: ProducerError | None) -> None:
        self.error = error
        self.is_done = True
        self.on_done(self)


OnDone = Callable[[TransactionCall], None]


def ignore(call: TransactionCall) -> None:
    """Ignore the end of a call."""


@final
class TransactionCalls:
    """The calls that wait for the transaction manager. Each call wakes the sender. `advance_to` ends the calls that
    have a result or are late; call it after each step of the sender and at `next_deadline_ms`. `on_done` is called from
    within the methods, possibly the one that it was given to."""

    def __init__(self, config: ProducerConfig, manager: TransactionManager | None, thread: SenderThread) -> None:
        self._config = config
        self._manager = manager
        self._sender_thread = thread
        self._waiting: list[TransactionCall] = []
        self._init: TransactionalRequestResult | None = None  # 2.0: a result not yet received

    def init_transactions(self, now_ms: int, on_done: OnDone) -> TransactionCall:
        return self._call("initTransactions", self._initialize, now_ms, on_done)

    def begin_transaction(self) -> None:
        self._open_manager().begin_transaction()

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata, now_ms: int, on_done: OnDone
    ) -> TransactionCall:
        def begin(manager: TransactionManager) -> TransactionalRequestResult:
            if offsets or not self._config.generation.has_delivery_timeout:
                return manager.send_offsets_to_transaction(offsets, group)
            nothing = TransactionalRequestResult("TxnOffsetCommit")
            nothing.done()
            return nothing

        return self._call("sendOffsetsToTransaction", begin, now_ms, on_done)

    def commit_transaction(self, now_ms: int, on_done: OnDone) -> TransactionCall:
        return self._call("commitTransaction", lambda manager: manager.begin_commit(), now_ms, on_done)

    def abort_transaction(self, now_ms: int, on_done: OnDone) -> TransactionCall:
        return self._call("abortTransaction", lambda manager: manager.begin_abort(), now_ms, on_done)

    def advance_to(self, now_ms: int) -> None:
        if not self._waiting:
            return
        for call in list(self._waiting):
            assert call.result is not None
            is_late = call.deadline_ms is not None and call.deadline_ms <= now_ms
            if not call.result.is_completed and not is_late:
                continue
            self._waiting.remove(call)
            if not call.result.is_completed:
                waited_for, waited_ms = call.result.operation, self._config.max_block_ms
                text = words.not_done_in_time(call.operation, waited_for, waited_ms, self._config.generation)
                call.end(_Timeout(text))
                continue
            try:
                call.result.acknowledge()
            except ProducerError as error:
                call.end(error)
                continue
            if call.is_init:
                self._init = None
                if isinstance(self._manager, TransactionManager43):
                    self._manager.maybe_update_transaction_v2_enabled(on_initialization=True)
            call.end(None)

    def next_deadline_ms(self) -> int | None:
        """Return when the next call is late."""
        deadline_ms: int | None = None
        for call in self._waiting:
            if call.deadline_ms is not None and (deadline_ms is None or call.deadline_ms < deadline_ms):
                deadline_ms = call.deadline_ms
        return deadline_ms

    def fail_all(self, error: ProducerError) -> None:
        calls, self._waiting = self._waiting, []
        for call in calls:
            call.end(error)

    def has_to_abort(self) -> bool:
        """Return True if a producer that is being closed still has a transaction to end (4.3). It is aborted, unless
        the caller has begun to end it."""
        manager = self._manager
        if not isinstance(manager, TransactionManager43) or not manager.has_ongoing_transaction:
            return False
        if not manager.is_completing:
            try:
                manager.begin_abort()
            except ProducerError:
                return False  # Kafka closes by force in this case
        return True

    def _call(
        self,
        operation: str,
        begin: Callable[[TransactionManager], TransactionalRequestResult],
        now_ms: int,
        on_done: OnDone,
    ) -> TransactionCall:
        is_limited = self._config.generation.has_delivery_timeout or operation == "initTransactions"
        call = TransactionCall(operation, now_ms + self._config.max_block_ms if is_limited else None, on_done)
        try:
            call.result = begin(self._open_manager())
        except ProducerError as error:
            call.end(error)
            return call
        self._waiting.append(call)
        self._sender_thread.wake(now_ms)
        self.advance_to(now_ms)
        return call

    def _open_manager(self) -> TransactionManager:
        if self._manager is None or not self._manager.is_transactional:
            raise IllegalProducerStateError(words.NO_TRANSACTIONS)
        if not self._sender_thread.is_running:
            raise AfterCloseError(words.CLOSED)
        return self._manager

    def _initialize(self, manager: TransactionManager) -> TransactionalRequestResult:
        if isinstance(manager, TransactionManager43):
            return manager.initialize_transactions()
        if self._init is None:
            self._init = manager.initialize_transactions()
        return self._init
