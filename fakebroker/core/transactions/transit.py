"""The written state of one transaction, present or next.

Units    times are wall milliseconds; NONE is "none" of ids, epochs and times.
Source   transaction-coordinator/.../TxnTransitMetadata.java @ 4.4.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.core.transactions.states import ONGOING, TransactionState
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

NONE: Final = -1
MAX_EPOCH: Final = 2**15 - 1
EPOCH_BUMP: Final = 2  # the transaction version from which on each transaction has its own epoch


ByTopic = list[tuple[str, list[int]]]  # in ascending order, as are the partitions of each


def by_topic(partitions: frozenset[TopicPartition]) -> ByTopic:
    """Return the partitions in the order in which they are written and reported."""
    if len(partitions) == 1:
        (only,) = partitions
        return [(only.topic, [only.partition])]
    return with_more([], partitions)


def with_more(before: ByTopic, partitions: frozenset[TopicPartition]) -> ByTopic:
    """Return the partitions of `before` with more of them."""
    more: dict[str, list[int]] = {}
    for topic, index in partitions:
        more.setdefault(topic, []).append(index)
    merged = dict(before)
    for topic, indexes in more.items():
        merged[topic] = sorted({*merged.get(topic, ()), *indexes})
    return sorted(merged.items())


@mypyc_attr(acyclic=True)
@final
class TransitMetadata:
    """All that is written of a transaction, in its next state. `transaction_version` is that of the client. It is
    immutable: `but` returns a changed copy."""

    __slots__ = (
        "_by_topic", "last_producer_epoch", "last_update_ms", "next_producer_id", "partitions", "prev_producer_id",
        "producer_epoch", "producer_id", "start_ms", "state", "timeout_ms", "transaction_version",
    )  # fmt: skip

    def __init__(
        self,
        producer_id: int,
        prev_producer_id: int,
        next_producer_id: int,
        producer_epoch: int,
        last_producer_epoch: int,
        timeout_ms: int,
        state: TransactionState,
        partitions: frozenset[TopicPartition],
        start_ms: int,
        last_update_ms: int,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.prev_producer_id = prev_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.last_producer_epoch = last_producer_epoch
        self.timeout_ms = timeout_ms
        self.state = state
        self.partitions = partitions
        self.start_ms = start_ms
        self.last_update_ms = last_update_ms
        self.transaction_version = transaction_version
        self._by_topic: ByTopic | None = None

    @property
    def by_topic(self) -> ByTopic:
        """The partitions, as they are written and reported. Do not change the list: it is cached as long as they stay
        the same."""
        grouped = self._by_topic
        if grouped is None:
            grouped = self._by_topic = by_topic(self.partitions)
        return grouped

    def with_partitions(
        self, more: frozenset[TopicPartition], *, start_ms: int, last_update_ms: int, transaction_version: int
    ) -> TransitMetadata:
        """Return the ongoing state with more partitions."""
        made = self.but(
            state=ONGOING,
            partitions=self.partitions | more if self.partitions else more,
            start_ms=start_ms,
            last_update_ms=last_update_ms,
            transaction_version=transaction_version,
        )
        if self.partitions and self._by_topic is not None:
            made._by_topic = with_more(self._by_topic, more)
        return made

    def but(
        self,
        *,
        producer_id: int | None = None,
        prev_producer_id: int | None = None,
        next_producer_id: int | None = None,
        producer_epoch: int | None = None,
        last_producer_epoch: int | None = None,
        timeout_ms: int | None = None,
        state: TransactionState | None = None,
        partitions: frozenset[TopicPartition] | None = None,
        start_ms: int | None = None,
        last_update_ms: int | None = None,
        transaction_version: int | None = None,
    ) -> TransitMetadata:
        """Return a copy with these changes."""
        made = TransitMetadata(
            self.producer_id if producer_id is None else producer_id,
            self.prev_producer_id if prev_producer_id is None else prev_producer_id,
            self.next_producer_id if next_producer_id is None else next_producer_id,
            self.producer_epoch if producer_epoch is None else producer_epoch,
            self.last_producer_epoch if last_producer_epoch is None else last_producer_epoch,
            self.timeout_ms if timeout_ms is None else timeout_ms,
            self.state if state is None else state,
            self.partitions if partitions is None else partitions,
            self.start_ms if start_ms is None else start_ms,
            self.last_update_ms if last_update_ms is None else last_update_ms,
            self.transaction_version if transaction_version is None else transaction_version,
        )
        if partitions is None:
            made._by_topic = self._by_topic
        return made

    def _told(self) -> tuple[object, ...]:
        return (
            self.producer_id, self.prev_producer_id, self.next_producer_id, self.producer_epoch,
            self.last_producer_epoch, self.timeout_ms, self.state, self.partitions, self.start_ms, self.last_update_ms,
            self.transaction_version,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TransitMetadata) and self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def __repr__(self) -> str:
        return f"TransitMetadata{self._told()}"
