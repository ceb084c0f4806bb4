"""The transactions of one broker, from its start to its stop: its coordinator, its periodic work, and its requests to
other brokers.

Theory   A broker that is elected reads its partition of __transaction_state in slices; until then it is loading.
         Markers go to the present leaders, each through its own replicas, as a request between brokers would. A marker
         that cannot be sent is sent again after a delay.
Units    monotonic milliseconds.
Source   core/.../coordinator/transaction/TransactionCoordinator.scala startup, onElection, onResignation;
         core/.../server/KafkaApis.scala handleWriteTxnMarkersRequest @ 4.4.
Differs  No network between brokers: a marker is written at the moment at which it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, final

from fakebroker.core.clock import NEVER_MS, HasNow, Now
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.in_turns import InTurns
from fakebroker.core.journal.transaction_events import PartitionsVerified
from fakebroker.core.purgatory.deadlines import TIMEOUTS, Deadlines, TimerDeadlines
from fakebroker.core.purgatory.housekeeping import Housekeeping, PeriodicTask
from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.transactions.add_partitions_manager import AddPartitionsToTxnManager, Answered, Question
from fakebroker.core.transactions.coordinator import TransactionCoordinator
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.core.transactions.inter_broker_requests import InterBrokerRequests
from fakebroker.core.transactions.marker_sender import MarkerSender, TxnMarkerEntry
from fakebroker.core.transactions.marker_writer import CompleteOffsets, MarkerWriter
from fakebroker.core.transactions.metadata import EPOCH_BUMP
from fakebroker.core.transactions.state_manager import TransactionStateManager
from fakebroker.core.transactions.states import EXPIRATION_ALLOWED
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel import TimerTask

_TIMERS: Final = 3  # of a broker's deadlines, behind the purgatories and the groups
_AGAIN_MS: Final = 20  # until a marker that could not be sent is sent again


class _DelayedCall(TimerTask):
    """A delayed call."""

    __slots__ = ("_call",)

    def __init__(self, delay_ms: int, call: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._call = call

    def run(self) -> None:
        self._call()


@final
class TransactionService:
    """The transactions of one broker. `peer` returns that of any running broker; `transaction_version` is the level of
    the feature; `complete_offsets` ends a transaction in a partition of __consumer_offsets."""

    def __init__(
        self,
        broker_id: int,
        clock: HasNow,
        configs: DynamicBrokerConfig,
        metadata: MetadataCache,
        replicas: ReplicaManager,
        deadlines: Deadlines,
        housekeeping: Housekeeping,
        generate_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        peer: Callable[[int], TransactionService | None],
        complete_offsets: CompleteOffsets,
        report: Callable[[str, Exception], None],
    ) -> None:
        self._clock = clock
        self._configs = configs
        self._metadata = metadata
        self._peer = peer
        self.replicas = replicas
        self._is_closed = False
        self._hearing = InterBrokerRequests()
        self._questions = AddPartitionsToTxnManager(
            self._ask, self._in, lambda: self._configs.current.request_timeout_ms
        )
        self._deadlines = deadlines
        self._timers = TimerDeadlines(clock.now.mono_ms)
        deadlines.add(self._timers, (TIMEOUTS, broker_id, _TIMERS))
        self.states = TransactionStateManager(
            replicas,
            lambda index: metadata.find_partition(TRANSACTION_STATE_TOPIC_NAME, index),
            lambda: self.num_partitions,
            lambda: 1 if transaction_version() > 0 else 0,
            lambda: clock.now,
        )
        self.in_turns = InTurns(lambda call: self._in(0, call), report)
        self.marker_writer = MarkerWriter(
            clock, metadata, replicas, self.in_turns, complete_offsets, lambda: configs.current.request_timeout_ms
        )
        self._sender = MarkerSender(self.states, self)
        self.coordinator = TransactionCoordinator(
            self.states,
            self._sender,
            generate_producer_id,
            transaction_version,
            lambda: configs.current.transaction_max_timeout_ms,
            lambda: clock.now,
        )
        self._tasks = [
            self._every(
                configs.current.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                lambda now: self._unless_paused(
                    "aborting transactions", self.coordinator.abort_timed_out_transactions()
                ),
                self._timeouts_matter_ms,
                housekeeping,
            ),
            self._every(
                configs.current.transaction_remove_expired_transaction_cleanup_interval_ms,
                lambda now: self._unless_paused(
                    "expiring transactional ids",
                    self.states.remove_expired(configs.current.transactional_id_expiration_ms),
                ),
                self._expiry_matters_ms,
                housekeeping,
            ),
        ]

    @property
    def now(self) -> Now:
        return self._clock.now

    @property
    def num_partitions(self) -> int:
        """The number of partitions of __transaction_state."""
        topic = self._metadata.topic(TRANSACTION_STATE_TOPIC_NAME)
        return self._configs.current.transaction_state_log_num_partitions if topic is None else len(topic.partitions)

    @property
    def verifies(self) -> bool:
        """True if this broker verifies transactional batches with the coordinator. It may be altered at any time."""
        config = self._configs.of(self.replicas.broker_id)
        return config.transaction_partition_verification_enable

    def _every(
        self,
        interval_ms: int,
        action: Callable[[Now], None],
        matters_ms: Callable[[Now], int],
        housekeeping: Housekeeping,
    ) -> PeriodicTask:
        return PeriodicTask(interval_ms, interval_ms, action, matters_ms, housekeeping, lambda: self._clock.now)

    def _timeouts_matter_ms(self, now: Now) -> int:
        first_ms = self.states.time_outs.first_ms()
        return NEVER_MS if first_ms == NEVER_MS else now.mono_at(first_ms + 1)

    def _expiry_matters_ms(self, now: Now) -> int:
        expiration_ms = self._configs.current.transactional_id_expiration_ms
        ends_ms = [
            cached.transaction.now.last_update_ms + expiration_ms
            for cached in self.states.all()
            if cached.transaction.now.state in EXPIRATION_ALLOWED
        ]
        return now.mono_at(min(ends_ms)) if ends_ms else NEVER_MS

    # Elections.

    def on_election(self, index: int, leader_epoch: int) -> None:
        """Load a partition of __transaction_state that this broker now leads."""
        self._sender.remove(lambda transactional_id: self.states.partition_for(transactional_id) == index)
        self.in_turns.go_on("loading transactions", self._loaded(index, leader_epoch))

    def _loaded(self, index: int, leader_epoch: int) -> Slices[None]:
        decided = yield from self.states.load(index, leader_epoch)
        yield from self.coordinator.go_on_with(decided)

    def on_resignation(self, index: int) -> None:
        """Unload a partition that this broker does not lead, or no longer leads."""
        self.states.unload(index)
        self._sender.remove(lambda transactional_id: self.states.partition_for(transactional_id) == index)

    def pause(self) -> None:
        """Pause: no deadline of the broker comes, and it receives no responses."""
        self._hearing.pause()
        self._deadlines.remove(self._timers)

    def resume(self) -> None:
        """Resume: late deadlines come next, and the broker receives its responses."""
        self._deadlines.add(self._timers, (TIMEOUTS, self.replicas.broker_id, _TIMERS))
        self._hearing.resume()

    def _unless_paused(self, where: str, slices: Slices[None]) -> None:
        """Start periodic work, unless the broker is paused: the next of its times will do."""
        if not self._hearing.is_paused:
            self.in_turns.go_on(where, slices)

    def close(self) -> None:
        """Stop: the brokers with a request here lose the connection."""
        self.states.close()
        self._sender.remove(lambda transactional_id: True)
        if not self._hearing.is_paused:
            self._deadlines.remove(self._timers)
        self._hearing.close()
        for task in self._tasks:
            task.stop()
        self._is_closed = True
        self.in_turns.close()
        self._questions.close()
        self._hearing.answer_all(ErrorCode.network_exception)

    def _in(self, delay_ms: int, call: Callable[[], None]) -> None:
        self._timers.timer.add(_DelayedCall(delay_ms, call), self._clock.now.mono_ms)

    # Requests to other brokers.

    def leader_of(self, partition: TopicPartition) -> int | None:
        existing = self._metadata.find_partition(partition.topic, partition.partition)
        return None if existing is None or existing.leader_id == NO_LEADER else existing.leader_id

    def send(self, broker_id: int, entry: TxnMarkerEntry, answered: Answered) -> bool:
        peer = self._peer(broker_id)
        if peer is None:
            return False
        heard = self._hearing.of(answered)
        peer.marker_writer.write(entry, heard if peer is self else peer.taken_in_hand(entry.partitions, heard))
        return True

    def taken_in_hand(self, partitions: Iterable[TopicPartition], answered: Answered) -> Answered:
        """Register a request of another broker. Return its callback, which works once, and only before this broker
        stops."""
        return self._hearing.taken_in_hand(partitions, answered)

    def ask_coordinator(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: frozenset[TopicPartition],
        adds: bool,
        then: Answered,
    ) -> None:
        """Verify for a partition's leader that these belong to the transaction, or add them to it (version 2)."""

        def answered(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            if self._is_closed:
                return
            probe = self.replicas.probe
            if probe.listeners:
                verified = tuple(
                    [(*topic_partition, kafka_name(errors[topic_partition])) for topic_partition in sorted(errors)]
                )
                who = transactional_id, self.replicas.broker_id
                probe.tell(PartitionsVerified(*probe.times, *who, *producer, adds, verified))
            then(errors)

        question = Question(transactional_id, producer, partitions, adds, answered)
        index = self.states.partition_for(transactional_id)
        partition = self._metadata.find_partition(TRANSACTION_STATE_TOPIC_NAME, index)
        if partition is None or self._peer(partition.leader_id) is None:
            question.fail(ErrorCode.coordinator_not_available)
        else:
            self._questions.add_or_verify_transaction(partition.leader_id, question)

    def _ask(self, broker_id: int, question: Question, answered: Answered) -> None:
        """Send AddPartitionsToTxn to another broker."""
        transactional_id, producer, partitions = question.transactional_id, question.producer, question.partitions
        peer = self._peer(broker_id)
        if peer is None:
            answered(dict.fromkeys(partitions, ErrorCode.network_exception))
        elif question.adds:
            heard = self._hearing.of(answered)
            tell = heard if peer is self else peer.taken_in_hand(partitions, heard)

            def on_added(error: ErrorCode) -> None:
                tell(dict.fromkeys(partitions, error))

            try:
                peer.coordinator.add_partitions(transactional_id, producer, partitions, EPOCH_BUMP, on_added)
            except KafkaError as error:
                on_added(error.code)
        else:
            answered(peer.coordinator.verify_partitions(transactional_id, producer, partitions))

    def in_a_while(self, delay_ms: int, call: Callable[[], None]) -> None:
        self._in(delay_ms, call)

    def in_slices(self, where: str, slices: Slices[None]) -> None:
        self.in_turns.go_on(where, slices)

    def again_later(self, action: Callable[[], None]) -> None:
        self._in(_AGAIN_MS, action)
