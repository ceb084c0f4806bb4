"""The probe: named points of the code with listeners. Journal, metrics, the live page and faults all listen here.

Theory   At a point the working code reports an event, in values that it has anyway. Every listener receives it at once,
         in the order of registration. By default there is no listener, and a point only checks an empty list.
             for listener in self._probe.listeners:
                 listener.watermark_moved(...)
         A point comes after the event, and before its consequences; a method says so where it is otherwise. A listener
         must not raise, and must not change its arguments.
Units    as in the code at the point: milliseconds, bytes, offsets. Connections are given by their number, counted from
         1; parked requests by the delayed operation itself, to identify it later.
Source   Kafka has no counterpart: its listeners are many (MetricsReporter, PartitionListener, DelayedOperation's
         hooks).
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
    """A listener of all points with empty methods. Extend it to observe events."""

    # Connections.

    def connection_opened(self, connection: int, broker_id: int, peer: str) -> None:
        """A client has connected. It may have to wait to be admitted."""

    def connection_closed(self, connection: int, broker_id: int, reason: str) -> None:
        """A connection is gone. `reason` is empty if the peer closed it."""

    def bytes_received(self, connection: int, size: int) -> None:
        """Bytes have arrived; the requests that they complete are handled next."""

    def throttled(self, connection: int, broker_id: int, throttle_time_ms: int) -> None:
        """A quota mutes a connection for so long from now. The response comes next."""

    # Requests.

    def request_received(self, connection: int, size: int) -> None:
        """The turn of a request of so many bytes has come; nothing of it is read yet."""

    def request_begun(self, connection: int, broker_id: int, header: RequestHeader, size: int) -> None:
        """The header of a request is read; its body is not yet."""

    def request_resumed(self, connection: int, broker_id: int) -> None:
        """The work on a request in slices goes on: later events belong to it."""

    def produce_asked(self, request: ProduceRequest, names: Sequence[str]) -> None:
        """A Produce is about to be handled. `names` are those of its topics, in its order, with the id as text for an
        unknown topic."""

    def produce_answered(self, connection: int, topics: Sequence[TopicProduceResponse], has_more: bool = False) -> None:
        """The results of a Produce are known; its response comes next. Up to v12 a topic has a name alone, from v13 on
        its id too. If it `has_more` results, they come with the next call, and the response after the last one."""

    def answered(self, connection: int, outcome: str, size: int) -> None:
        """A request is over: "sent", "dropped" (the peer has gone) or "none" (acks=0). `size` is without the length.
        Nothing is written yet."""

    # Parked requests. An operation is a DelayedProduce or a DelayedFetch, known by its identity.

    def parked(self, operation: object, api: str, timeout_ms: int) -> None:
        """The request in hand is parked in a purgatory."""

    def unparked(self, operation: object, has_expired: bool) -> None:
        """An operation has completed or expired, whether it was parked or not. Its response comes next."""

    def timers_fired(self, tasks: int, woken_ms: int) -> None:
        """A batch of timer tasks ran at its time, which is now. The cluster woke up at `woken_ms`."""

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
        """The leader's log has a batch, as its producer sent it, or had it already. The high watermark has not moved
        yet."""

    def append_refused(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        error_code: ErrorCode,
    ) -> None:
        """The leader refused to append a batch, with this error."""

    def leader_changed(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        isr: Sequence[int],
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        """A new leadership has begun, or none: leader and offsets are -1 then. The high watermark is the initial
        one."""

    def isr_changed(self, topic_partition: TopicPartition, leader_epoch: int, isr: Sequence[int]) -> None:
        """The in-sync replicas changed within a leadership. They are in assignment order. The high watermark has not
        moved yet."""

    def watermark_moved(
        self, topic_partition: TopicPartition, leader_epoch: int, high_watermark: int, log_end_offset: int
    ) -> None:
        """Everything below `high_watermark` is on all in-sync replicas. Requests parked for it have not completed
        yet."""

    def log_start_moved(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        """Records below `log_start_offset` were deleted."""

    # Groups.

    def member_joined(self, group_id: str, member_id: str, group_instance_id: str | None, client_id: str) -> None:
        """A member has joined a group: a new one, or a static one under a new id. It is not in a generation yet."""

    def member_left(self, group_id: str, member_id: str, generation_id: int, reason: str) -> None:
        """A member has left a group of that generation. The reason is a leave, a session timeout, or a missed join."""

    def rebalance_began(self, group_id: str, generation_id: int, reason: str) -> None:
        """The members of a generation have to join again, for this reason."""

    def generation_began(
        self, group_id: str, generation_id: int, protocol: str, leader: str, members: Sequence[str]
    ) -> None:
        """A generation begins with its members; without members the group is empty. No member has a response yet. In a
        KIP-848 group it is a new target assignment of that epoch, without a leader."""

    def group_stabilized(self, group_id: str, generation_id: int) -> None:
        """The assignment of a generation is written, and its members get it."""

    def offsets_committed(
        self, group_id: str, member_id: str, generation_id: int, offsets: Sequence[tuple[str, int, int]]
    ) -> None:
        """A commit is accepted, and is about to be written: (topic, partition, offset) of each. Without a member the
        generation is -1."""

    def offsets_expired(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> None:
        """Offsets unused for too long are about to be deleted: (topic, partition) of each."""

    # Transactions. A producer is given by its id and epoch. States have Kafka's names, such as PrepareCommit.

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
        """A transaction is about to go from one state to the next, with this producer and these partitions. It is
        written to __transaction_state next. PrepareEpochFence is not written: the PrepareAbort that it is for follows.
        """

    def transition_completed(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        state: str,
        partitions: Sequence[TopicPartition],
    ) -> None:
        """The state is replicated, and valid. The response to the request comes next, or the markers are sent."""

    def transition_failed(
        self, transactional_id: str, coordinator_id: int, next_state: str, error_code: ErrorCode
    ) -> None:
        """The next state could not be written, or not replicated in time: then it may be in the log all the same. The
        state before it stays; the response to the request comes next."""

    def producer_fenced(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        current_epoch: int,
        api: str,
    ) -> None:
        """A request of a producer is about to be refused, because its epoch is not the present one."""

    def partitions_verified(
        self,
        transactional_id: str,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        adds: bool,
        errors: Mapping[TopicPartition, ErrorCode],
    ) -> None:
        """The coordinator has responded to a partition's leader: these belong to the transaction, or were added to it.
        Those without an error are appended next."""

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
        """The coordinator is about to request markers from the leader of these partitions."""

    def markers_retried(
        self, transactional_id: str, coordinator_id: int, partitions: Sequence[TopicPartition], reason: str
    ) -> None:
        """The markers of these partitions could not be written, or not replicated in time; they are sent again soon."""

    def transaction_began(
        self, topic_partition: TopicPartition, leader_id: int, producer_id: int, producer_epoch: int, first_offset: int
    ) -> None:
        """The leader's log has the first batch of a transaction. It was reported as appended."""

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
        """The leader's log has the marker of a transaction. It was reported as appended before, and is not replicated
        yet."""

    def stable_offset_moved(
        self,
        topic_partition: TopicPartition,
        leader_epoch: int,
        last_stable_offset: int,
        first_unstable_offset: int,
        open_transactions: int,
    ) -> None:
        """Read_committed consumers read up to the last stable offset, in a partition with transactions. The first
        unstable offset is -1 if there is none. Open transactions have no marker in the log of this partition."""

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
        """The marker is written. The pending offsets are committed, unless later ones replaced them, or dropped:
        (group, topic, partition, offset) of each."""

    # Faults, by their names: f1.

    def fault_added(self, fault: str, text: str) -> None:
        """A fault is installed."""

    def fault_fired(self, fault: str, connection: int, at: str, done: str) -> None:
        """A fault is about to act on a connection's request."""

    def fault_removed(self, fault: str, hits: int, reason: str) -> None:
        """A fault is removed; requests at its barrier go on next."""

    # Topics. For the points of brokers, see broker_points.py.

    def topic_created(self, name: str, topic_id: UUID, replicas: Sequence[Sequence[int]]) -> None:
        """A topic is created, with the broker ids of each partition; leader_changed follows."""

    def partitions_created(self, topic: str, first: int, replicas: Sequence[Sequence[int]]) -> None:
        """A topic has more partitions, from number `first` on, with the broker ids of each; leader_changed follows."""

    def replicas_changed(
        self, topic_partition: TopicPartition, replicas: Sequence[int], adding: Sequence[int], removing: Sequence[int]
    ) -> None:
        """A partition has other replicas. During a reassignment they include `adding` and `removing`. If the leader
        changes, leader_changed follows."""

    def topic_deleted(self, name: str) -> None:
        """A topic is about to be deleted; requests parked for it complete then."""


@final
class Probe:
    """The probe of a cluster. Listeners may be added to and removed from `listeners` at any time."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: list[Listener] = []
