"""The named points at which somebody may look on: journal, metrics, a live page and faults all listen here.

Theory   Who does the work says at a point what has come of it, in values that it has anyway. Every listener hears it at
         once, in the order in which they were added. By default nobody listens, and a point is a look at an empty list.
             for listener in self._probe.listeners:
                 listener.watermark_moved(...)
         A point comes after the event has happened, and before what follows from it; where it is otherwise the
         method says so. A listener must not raise, and does not change what it is given.
Units    as in the code that tells it: milliseconds, bytes, offsets. Connections are told by their number, which counts
         from 1; what waits by the delayed operation itself, to know it again.
Source   Kafka has no such thing: its listeners are many (MetricsReporter, PartitionListener, DelayedOperation's hooks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final
from uuid import UUID

from fakebroker.core.broker_points import BrokerPoints
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.produce_reader import ProduceRequest
from fakebroker.protocol.produce_response import TopicProduceResponse
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Listener(BrokerPoints):
    """Hears every point and does nothing. Who wants to know something extends it."""

    # Connections.

    def connection_opened(self, connection: int, broker_id: int, peer: str) -> None:
        """A client has connected. It may have to wait to be admitted."""

    def connection_closed(self, connection: int, broker_id: int, reason: str) -> None:
        """A connection is gone; `reason` is empty if the peer went."""

    def bytes_received(self, connection: int, size: int) -> None:
        """So many bytes have come; the requests that they complete are handled next."""

    def throttled(self, connection: int, broker_id: int, throttle_time_ms: int) -> None:
        """A quota mutes a connection for so long from now. Its answer comes next."""

    # Requests.

    def request_received(self, connection: int, size: int) -> None:
        """The turn of a request of so many bytes has come; nothing of it is read yet."""

    def request_begun(self, connection: int, broker_id: int, header: RequestHeader, size: int) -> None:
        """The header of such a request is read; its body is not yet."""

    def request_resumed(self, connection: int, broker_id: int) -> None:
        """The work on a request goes on, which is done in slices: what is told from now on comes of it."""

    def produce_asked(self, request: ProduceRequest, names: Sequence[str]) -> None:
        """A Produce is about to be handled; `names` are those of its topics, in its order (the id as text for one that
        nobody has)."""

    def produce_answered(self, connection: int, topics: Sequence[TopicProduceResponse]) -> None:
        """What a Produce is about to be answered. Up to v12 a topic has a name alone, from v13 on its id too."""

    def answered(self, connection: int, outcome: str, size: int) -> None:
        """A request is answered: "sent", "dropped" (the peer has gone) or "none" (acks=0). Bytes without their length.
        Nothing is written yet."""

    # What waits. An operation is a DelayedProduce or a DelayedFetch, known by its identity.

    def parked(self, operation: object, api: str, timeout_ms: int) -> None:
        """The request in hand waits in a purgatory."""

    def unparked(self, operation: object, has_expired: bool) -> None:
        """An operation is over, whether it was parked or not: its time is, or what it waited for has come. Its answer
        comes next."""

    def timers_fired(self, tasks: int, woken_ms: int) -> None:
        """So many tasks ran at their time, which is now; the cluster was woken at `woken_ms`."""

    # Partitions.

    def appended(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        first_offset: int,
        last_offset: int,
        is_duplicate: bool,
    ) -> None:
        """A batch stands in the leader's log, as its producer sent it; or it did so already. The watermark has not
        moved yet."""

    def append_refused(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        error_code: ErrorCode,
    ) -> None:
        """The leader did not append a batch, and why."""

    def leader_changed(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        isr: Sequence[int],
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        """A new leadership, or none: leader and offsets are -1 then. The watermark is the one it begins with."""

    def isr_changed(self, topic_partition: TopicPartition, leader_epoch: int, isr: Sequence[int]) -> None:
        """The in-sync replicas within a leadership, in assignment order. The watermark has not moved yet."""

    def watermark_moved(
        self, topic_partition: TopicPartition, leader_epoch: int, high_watermark: int, log_end_offset: int
    ) -> None:
        """Everything below `high_watermark` is on all in-sync replicas. Who waits for it is not woken yet."""

    def log_start_moved(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """What lies below was deleted."""

    # Groups.

    def member_joined(self, group_id: str, member_id: str, group_instance_id: str | None, client_id: str) -> None:
        """A member is in a group: a new one, or a static one under a new id. It is not in a generation yet."""

    def member_left(self, group_id: str, member_id: str, generation_id: int, reason: str) -> None:
        """A member is out of a group of that generation, and why: it left, it expired, it was not there in time."""

    def rebalance_began(self, group_id: str, generation_id: int, reason: str) -> None:
        """The members of a generation have to join again, and why."""

    def generation_began(
        self, group_id: str, generation_id: int, protocol: str, leader: str, members: Sequence[str]
    ) -> None:
        """All have joined who will. Without members the group is empty. Nobody is told yet. Of a group of KIP-848: it
        has a new target assignment of that epoch, and no leader."""

    def group_stabilized(self, group_id: str, generation_id: int) -> None:
        """The assignment of a generation is safe, and its members are told."""

    def offsets_committed(
        self, group_id: str, member_id: str, generation_id: int, offsets: Sequence[tuple[str, int, int]]
    ) -> None:
        """A commit is accepted, and is about to be written: (topic, partition, offset) of each. Who is no member has
        no generation: -1."""

    def offsets_expired(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> None:
        """Offsets that nobody needed for too long are about to be deleted: (topic, partition) of each."""

    # Transactions. A producer is told by its id and epoch. States have Kafka's names, PrepareCommit.

    def transition_prepared(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        state: str,
        next_state: str,
        partitions: Sequence[TopicPartition],
        reason: str,
    ) -> None:
        """A transaction is about to go from one state to the next, with this producer and these partitions. That is
        written to __transaction_state next; PrepareEpochFence is not, the PrepareAbort that it is for comes then."""

    def transition_completed(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        state: str,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """The state is replicated, and holds. Who asked for it is answered next, or the marks are sent."""

    def transition_failed(
        self, transactional_id: str, coordinator_id: int, next_state: str, error_code: ErrorCode
    ) -> None:
        """It could not be written, or not be replicated in time: then it may stand in the log all the same. The state
        is the one from before; who asked is told next."""

    def producer_fenced(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        current_epoch: int,
        api: str,
    ) -> None:
        """Somebody with another epoch than the one of now is about to be refused."""

    def partitions_verified(
        self,
        transactional_id: str,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        adds: bool,
        errors: Mapping[TopicPartition, ErrorCode],
    ) -> None:
        """A partition's leader has heard from the coordinator whether these belong to the transaction, or were added to
        it. What may be is appended next."""

    def markers_sent(
        self,
        transactional_id: str,
        coordinator_id: int,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """The coordinator is about to have the marks written by the leader of these."""

    def markers_retried(
        self, transactional_id: str, coordinator_id: int, partitions: Sequence[TopicPartition], reason: str
    ) -> None:
        """Their marks could not be written, or not be replicated in time; they are sent again in a moment."""

    def transaction_began(
        self, topic_partition: TopicPartition, leader_id: int, producer_id: int, producer_epoch: int, first_offset: int
    ) -> None:
        """The first batch of a transaction stands in the leader's log of a partition. It was told as appended."""

    def marker_written(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        offset: int,
    ) -> None:
        """The mark of a transaction stands in the leader's log. It was told as appended before, and is not replicated
        yet."""

    def stable_offset_moved(
        self,
        topic_partition: TopicPartition,
        leader_epoch: int,
        last_stable_offset: int,
        first_unstable_offset: int,
        open_transactions: int,
    ) -> None:
        """Who reads what is committed reads up to there, in a partition that has transactions. The first unstable
        offset is -1 if there is none. Open are those without a mark in the log, in this partition."""

    def offsets_pending(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        producer_id: int,
        producer_epoch: int,
        offsets: Sequence[tuple[str, int, int]],
    ) -> None:
        """The offsets of a transaction are accepted, and about to be written: (topic, partition, offset) of each."""

    def pending_offsets_ended(
        self, producer_id: int, producer_epoch: int, is_commit: bool, offsets: Sequence[tuple[str, str, int, int]]
    ) -> None:
        """The mark is written: they are committed, unless somebody has committed others since, or dropped.
        (group, topic, partition, offset) of each."""

    # Faults, by their names: f1.

    def fault_added(self, fault: str, text: str) -> None:
        """A fault is installed."""

    def fault_fired(self, fault: str, connection: int, at: str, done: str) -> None:
        """A fault is about to act on a connection's request."""

    def fault_removed(self, fault: str, hits: int, reason: str) -> None:
        """A fault is gone; who is held by it goes on next."""

    # Topics. What happens to brokers: broker_points.py.

    def topic_created(self, name: str, topic_id: UUID, replicas: Sequence[Sequence[int]]) -> None:
        """A topic is there, with the broker ids of each partition; who leads is told next."""

    def partitions_created(self, topic: str, first: int, replicas: Sequence[Sequence[int]]) -> None:
        """A topic has more partitions, from this number on, with the broker ids of each; who leads is told next."""

    def replicas_changed(
        self, topic_partition: TopicPartition, replicas: Sequence[int], adding: Sequence[int], removing: Sequence[int]
    ) -> None:
        """A partition has other replicas; while it is reassigned, `adding` and `removing` are among them. Who leads is
        told next, if that changes."""

    def topic_deleted(self, name: str) -> None:
        """A topic is about to be deleted; who waits for it is answered then."""


@final
class Probe:
    """One for a cluster. `listeners` may be added to and taken from at any time."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: list[Listener] = []
