"""The situations that a simulation reached, counted from the journal.

Theory   A million steps prove little if no request was ever parked while the leader moved. So each situation of a rule
         has a name, and a run of many seeds reports how often each was reached, and which never were.
Shape    `Situations` takes events in order (`tell`), and has `counts` by name, and the number of requests. `names_of`
         lists those that a kind of simulation can reach.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from fakebroker.core.journal.broker_events import BrokerKilled, BrokerPaused, BrokerStopping, LeaderStale
from fakebroker.core.journal.events import (
    Answer,
    Append,
    Completed,
    ConnectionClosed,
    Event,
    Expired,
    IsrChanged,
    LeaderChanged,
    Parked,
    Produce,
    Request,
    TopicDeleted,
)
from fakebroker.core.journal.group_events import GroupStabilized, MemberLeft, OffsetsCommitted, RebalanceBegan
from fakebroker.core.journal.transaction_events import (
    MarkersRetried,
    MarkersSent,
    MarkerWritten,
    OffsetsPending,
    PendingOffsetsEnded,
    ProducerFenced,
    TransitionCompleted,
    TransitionFailed,
    TransitionPrepared,
)

_PARKED: Final = (
    "parked",
    "parked, and all in sync had it",
    "parked, and its time was over",
    "parked while the ISR shrank",
    "parked while the ISR grew",
    "parked while the leader moved",
    "parked while nobody could lead",
    "parked while its topic went",
    "parked while its client went",
    "parked while a broker was killed",
    "parked while a broker stood still",
    "parked while a broker stopped",
)
_LOGS: Final = (
    "a leader that was not in sync",
    "records lost in an election",
    "a leader that did not know",
    "a leader that did not know appended",
    "a batch came twice",
    "a batch came again after its time-out",
)
_ANSWERS: Final = (
    "answered REQUEST_TIMED_OUT",
    "answered NOT_ENOUGH_REPLICAS",
    "answered NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "answered NOT_LEADER_OR_FOLLOWER",
    "answered UNKNOWN_TOPIC_OR_PARTITION",
    "answered CORRUPT_MESSAGE",
    "answered INVALID_RECORD",
    "answered INVALID_REQUIRED_ACKS",
    "answered INVALID_PRODUCER_EPOCH",
    "answered OUT_OF_ORDER_SEQUENCE_NUMBER",
)
_TRANSACTIONS: Final = (
    "a decision while its coordinator moved",
    "a marker while its partition moved",
    "markers were sent again",
    "a state could not be written",
    "a producer was fenced",
    "a transaction timed out",
    "offsets waited while their coordinator moved",
)
_GROUPS: Final = (
    "a group was rebalanced",
    "a member was not heard of",
    "rebalanced while its coordinator moved",
    "rebalanced while its coordinator had nobody",
    "a commit while the group was rebalanced",
)
_NAMES: Final = {
    "cluster": _PARKED + _LOGS + _ANSWERS,
    "streams": _PARKED + _LOGS + _ANSWERS,
    "groups": (*_GROUPS, *_PARKED[:6], *_LOGS[:2]),
    "transactions": (*_TRANSACTIONS, *_PARKED[:6], *_LOGS[:2], *_LOGS[4:]),
}
_STATE, _OFFSETS = "__transaction_state", "__consumer_offsets"
_Place = tuple[str, int]


def names_of(kind: str) -> tuple[str, ...]:
    """Return the situations that a kind of simulation can reach."""
    return _NAMES[kind]


class Situations:
    """The situations of one history; pass each event to `tell`, in order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.requests = self.produced = 0
        self._partitions: dict[int, tuple[_Place, ...]] = {}  # of requests without a response
        self._connection: dict[int, int] = {}
        self._parked: dict[int, tuple[_Place, ...]] = {}
        self._expired: set[int] = set()
        self._isr: dict[_Place, tuple[int, ...]] = {}
        self._end: dict[_Place, int] = {}
        self._epoch: dict[_Place, int] = {}
        self._timed_out: set[tuple[_Place, int, int, int]] = set()
        self._appended: dict[int, list[tuple[_Place, int, int, int]]] = {}
        self._decided: dict[str, int] = {}
        self._marked: set[tuple[_Place, int]] = set()
        self._pending = 0
        self._rebalanced: set[str] = set()
        self._tell = {
            Request: self._request,
            Produce: self._produce,
            Append: self._append,
            Parked: self._park,
            Completed: self._completed,
            Expired: self._expire,
            Answer: self._answer,
            ConnectionClosed: self._closed,
            LeaderChanged: self._leader_changed,
            IsrChanged: self._isr_changed,
            TopicDeleted: self._topic_deleted,
            BrokerKilled: lambda event: self._while_parked("parked while a broker was killed"),
            BrokerPaused: lambda event: self._while_parked("parked while a broker stood still"),
            BrokerStopping: lambda event: self._while_parked("parked while a broker stopped"),
            LeaderStale: lambda event: self._count("a leader that did not know"),
            TransitionPrepared: self._prepared,
            TransitionCompleted: self._transition_completed,
            TransitionFailed: lambda event: self._count("a state could not be written"),
            ProducerFenced: lambda event: self._count("a producer was fenced"),
            MarkersSent: self._markers_sent,
            MarkerWritten: self._marker_written,
            MarkersRetried: lambda event: self._count("markers were sent again"),
            OffsetsPending: self._offsets_pending,
            PendingOffsetsEnded: self._offsets_ended,
            RebalanceBegan: self._rebalance_began,
            GroupStabilized: self._stabilized,
            MemberLeft: self._member_left,
            OffsetsCommitted: self._offsets_committed,
        }

    def tell(self, event: Event) -> None:
        """Count the next event."""
        if (take := self._tell.get(type(event))) is not None:
            take(event)  # type: ignore[operator]

    def _count(self, name: str) -> None:
        self.counts[name] += 1

    def _while_parked(self, name: str, place: _Place | None = None, topic: str = "") -> None:
        """Count a situation once, if a Produce is parked (for this partition, for this topic)."""
        for places in self._parked.values():
            if place in places or (place is None and (not topic or any(parked[0] == topic for parked in places))):
                self.counts[name] += 1
                return

    # Requests.

    def _request(self, event: Request) -> None:
        self.requests += 1
        self._connection[event.request] = event.connection

    def _produce(self, event: Produce) -> None:
        self.produced += 1
        self._partitions[event.request] = event.partitions

    def _append(self, event: Append) -> None:
        if event.error != "NONE":
            return
        place = event.topic, event.partition
        batch = place, event.producer_id, event.producer_epoch, event.base_sequence
        if event.is_duplicate:
            self._count("a batch came twice")
            if batch in self._timed_out:
                self._count("a batch came again after its time-out")
            return
        if event.leader_epoch < self._epoch.get(place, 0):
            self._count("a leader that did not know appended")
            return
        self._end[place] = event.last_offset + 1
        if event.producer_id >= 0:
            self._appended.setdefault(event.request, []).append(batch)

    def _park(self, event: Parked) -> None:
        if event.api == "Produce":
            self._count("parked")
            self._parked[event.request] = self._partitions.get(event.request, ())

    def _completed(self, event: Completed) -> None:
        if self._parked.pop(event.request, None) is not None:
            self._count("parked, and all in sync had it")

    def _expire(self, event: Expired) -> None:
        if self._parked.pop(event.request, None) is not None:
            self._count("parked, and its time was over")
            self._timed_out.update(self._appended.get(event.request, ()))

    def _answer(self, event: Answer) -> None:
        for error in {partition.error for partition in event.partitions} - {"NONE"}:
            self._count(f"answered {error}")
        for kept in (self._partitions, self._connection, self._appended, self._parked):
            kept.pop(event.request, None)

    def _closed(self, event: ConnectionClosed) -> None:
        for request in self._parked:
            if self._connection.get(request) == event.connection:
                self._count("parked while its client went")
                return

    # Partitions.

    def _leader_changed(self, event: LeaderChanged) -> None:
        place = event.topic, event.partition
        in_sync = self._isr.get(place)
        self._epoch[place] = event.leader_epoch
        self._while_parked(
            "parked while nobody could lead" if event.leader < 0 else "parked while the leader moved", place
        )
        if event.leader >= 0:
            if in_sync is not None and event.leader not in in_sync:
                self._count("a leader that was not in sync")
            if event.log_end_offset < self._end.get(place, 0):
                self._count("records lost in an election")
            self._end[place] = event.log_end_offset
            self._isr[place] = event.isr  # without a leader the last ISR still counts
        self._coordinator_moved(event, place)

    def _isr_changed(self, event: IsrChanged) -> None:
        place = event.topic, event.partition
        shrank = len(event.isr) < len(self._isr.get(place, ()))
        self._while_parked("parked while the ISR shrank" if shrank else "parked while the ISR grew", place)
        self._isr[place] = event.isr

    def _topic_deleted(self, event: TopicDeleted) -> None:
        self._while_parked("parked while its topic went", topic=event.topic)
        for known in (self._isr, self._end, self._epoch):
            for place in [place for place in known if place[0] == event.topic]:
                del known[place]

    # Coordinators.

    def _coordinator_moved(self, event: LeaderChanged, place: _Place) -> None:
        if event.topic == _STATE and self._decided:
            self._count("a decision while its coordinator moved")
        if event.topic == _OFFSETS:
            if self._pending:
                self._count("offsets waited while their coordinator moved")
            if self._rebalanced:
                nobody = event.leader < 0
                self._count(f"rebalanced while its coordinator {'had nobody' if nobody else 'moved'}")
        if any(marked == place for marked, _ in self._marked):
            self._count("a marker while its partition moved")

    def _prepared(self, event: TransitionPrepared) -> None:
        if event.next_state in ("PrepareCommit", "PrepareAbort"):
            self._decided[event.transactional_id] = event.producer_id
        if "transaction.timeout.ms" in event.reason:
            self._count("a transaction timed out")

    def _transition_completed(self, event: TransitionCompleted) -> None:
        if event.state in ("CompleteCommit", "CompleteAbort"):
            self._decided.pop(event.transactional_id, None)

    def _markers_sent(self, event: MarkersSent) -> None:
        self._marked.update((place, event.producer_id) for place in event.partitions)

    def _marker_written(self, event: MarkerWritten) -> None:
        self._marked.discard(((event.topic, event.partition), event.producer_id))

    def _offsets_pending(self, event: OffsetsPending) -> None:
        self._pending += 1

    def _offsets_ended(self, event: PendingOffsetsEnded) -> None:
        self._pending = 0

    def _rebalance_began(self, event: RebalanceBegan) -> None:
        self._count("a group was rebalanced")
        self._rebalanced.add(event.group)

    def _stabilized(self, event: GroupStabilized) -> None:
        self._rebalanced.discard(event.group)

    def _member_left(self, event: MemberLeft) -> None:
        if "session" in event.reason or "not heard" in event.reason:
            self._count("a member was not heard of")

    def _offsets_committed(self, event: OffsetsCommitted) -> None:
        if event.group in self._rebalanced:
            self._count("a commit while the group was rebalanced")
