"""The state of one transactional id at its coordinator, and its changes.

Theory   A change is made in two steps. The next state is prepared and written to the log; once it is replicated the
         change is complete. In between there is a pending state, and a request for another change gets
         CONCURRENT_TRANSACTIONS. Transaction version 2 (KIP-890) gives each transaction an epoch of its own. The
         decision bumps it and the markers carry the new one, so a late request cannot reach into the next transaction.
         When the epochs of a producer id are used up, the decision has the next id, which holds once all markers are
         written.
Units    times are wall milliseconds; NONE is "none" of ids, epochs and times.
Source   transaction-coordinator/.../{TransactionMetadata,TxnTransitMetadata}.java @ 4.4.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, final

from fakebroker.core.clock import NEVER_MS
from fakebroker.core.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    TransactionState,
    may_follow,
)
from fakebroker.core.transactions.transit import EPOCH_BUMP, MAX_EPOCH, NONE, TransitMetadata
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

__all__ = ["EPOCH_BUMP", "MAX_EPOCH", "NONE", "TransactionMetadata", "TransitMetadata"]

_NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()


@mypyc_attr(acyclic=True)
@final
class TransactionMetadata:
    """One transactional id. `now` is its last written state; `pending_state` is the next one, while it is written."""

    __slots__ = ("has_failed_epoch_fence", "noted_ms", "now", "pending_state", "transactional_id")

    def __init__(self, transactional_id: str, now: TransitMetadata) -> None:
        self.transactional_id = transactional_id
        self.now = now
        self.pending_state: TransactionState | None = None
        self.has_failed_epoch_fence = False
        self.noted_ms = NEVER_MS  # for its timeout (time_outs.py)

    @classmethod
    def empty(cls, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> TransactionMetadata:
        """Create the state of an unused id."""
        now = TransitMetadata(producer_id, NONE, NONE, NONE, NONE, timeout_ms, EMPTY, frozenset(), NONE, now_ms)
        return cls(transactional_id, now)

    @property
    def is_epoch_exhausted(self) -> bool:
        """True if the epochs are used up. The last epoch but one is for the fenced producer, the last for its fence."""
        return self.now.producer_epoch >= MAX_EPOCH - 1

    @property
    def is_two_phase_commit(self) -> bool:
        """True if the transaction has no timeout (KIP-939)."""
        return self.now.timeout_ms == 2**31 - 1

    # Preparations. Each sets the pending state.

    def prepare_no_transit(self) -> TransitMetadata:
        """Return the present state: nothing is pending."""
        return self.now

    def prepare_fence_producer_epoch(self) -> TransitMetadata:
        """Prepare to fence the present epoch. It is not bumped twice for the same fence."""
        epoch = self.now.producer_epoch
        if not self.has_failed_epoch_fence and epoch != MAX_EPOCH:
            epoch += 1
        return self._prepare(self.now.but(state=PREPARE_EPOCH_FENCE, producer_epoch=epoch))

    def prepare_increment_producer_epoch(
        self, timeout_ms: int, expected_epoch: int | None, now_ms: int
    ) -> TransitMetadata:
        """Prepare the next epoch for a producer that begins, or goes on with `expected_epoch` (KIP-360). A retry with
        the epoch before gets the same result. Raise PRODUCER_FENCED. Raise UNKNOWN_SERVER_ERROR, as Kafka does, if
        epochs are used up and `expected_epoch` is not the present one."""
        if self.is_epoch_exhausted:
            raise KafkaError(
                ErrorCode.unknown_server_error,
                f"Cannot allocate any more producer epochs for producer id {self.now.producer_id}",
            )
        epoch, last_epoch = self.now.producer_epoch, self.now.last_producer_epoch
        if expected_epoch is None:
            epoch, last_epoch = epoch + 1, NONE
        elif epoch in (NONE, expected_epoch):
            epoch, last_epoch = epoch + 1, epoch
        elif expected_epoch != last_epoch:
            raise KafkaError(
                ErrorCode.producer_fenced,
                f"Expected producer epoch {expected_epoch} does not match current producer epoch {epoch} or previous "
                f"producer epoch {last_epoch}",
            )
        return self._prepare(self._begun(self.now.producer_id, epoch, last_epoch, timeout_ms, now_ms))

    def prepare_producer_id_rotation(
        self, producer_id: int, timeout_ms: int, now_ms: int, record_last_epoch: bool
    ) -> TransitMetadata:
        """Prepare the next producer id: the epochs of the present one are used up."""
        assert self.now.state not in (ONGOING, PREPARE_ABORT, PREPARE_COMMIT)
        last_epoch = self.now.producer_epoch if record_last_epoch else NONE
        return self._prepare(self._begun(producer_id, 0, last_epoch, timeout_ms, now_ms))

    def _begun(self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int) -> TransitMetadata:
        return self.now.but(
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            state=EMPTY,
            partitions=_NO_PARTITIONS,
            start_ms=NONE,
            last_update_ms=now_ms,
        )

    def prepare_add_partitions(
        self, partitions: frozenset[TopicPartition], now_ms: int, transaction_version: int
    ) -> TransitMetadata:
        """Prepare to add partitions. The first ones begin the transaction."""
        begins = self.now.state in (EMPTY, COMPLETE_ABORT, COMPLETE_COMMIT)
        return self._prepare(
            self.now.with_partitions(
                partitions,
                start_ms=now_ms if begins else self.now.start_ms,
                last_update_ms=now_ms,
                transaction_version=transaction_version,
            )
        )

    def prepare_abort_or_commit(
        self,
        state: TransactionState,
        transaction_version: int,
        next_producer_id: int,
        now_ms: int,
        no_partition_added: bool = False,
    ) -> TransitMetadata:
        """Prepare the decision. `no_partition_added`: the transaction never began (version 2)."""
        epoch, last_epoch = self.now.producer_epoch, self.now.last_producer_epoch
        if transaction_version >= EPOCH_BUMP:
            last_epoch = epoch
            if epoch != MAX_EPOCH or state is not PREPARE_ABORT:
                epoch += 1
        return self._prepare(
            self.now.but(
                state=state,
                producer_epoch=epoch,
                last_producer_epoch=last_epoch,
                next_producer_id=next_producer_id,
                start_ms=now_ms if no_partition_added else self.now.start_ms,
                last_update_ms=now_ms,
                transaction_version=transaction_version,
            )
        )

    def prepare_complete(self, now_ms: int) -> TransitMetadata:
        """Prepare completion, after all markers are written."""
        self.has_failed_epoch_fence = False
        now = self.now
        producer_id, epoch = now.producer_id, now.producer_epoch
        if now.transaction_version >= EPOCH_BUMP and now.next_producer_id != NONE:
            producer_id, epoch = now.next_producer_id, 0
        return self._prepare(
            now.but(
                state=COMPLETE_COMMIT if now.state is PREPARE_COMMIT else COMPLETE_ABORT,
                producer_id=producer_id,
                producer_epoch=epoch,
                next_producer_id=NONE,
                partitions=_NO_PARTITIONS,
                last_update_ms=now_ms,
            )
        )

    def prepare_dead(self) -> TransitMetadata:
        """Prepare to remove the id."""
        return self._prepare(self.now.but(state=DEAD, partitions=frozenset()))

    def _prepare(self, transit: TransitMetadata) -> TransitMetadata:
        assert self.pending_state is None, f"{self.transactional_id} is about to be {self.pending_state}"
        assert transit.producer_id >= 0
        assert transit.producer_epoch >= 0 or transit.state is DEAD
        assert may_follow(transit.state, self.now.state), f"{self.now.state} to {transit.state}"
        self.pending_state = transit.state
        return transit.but(prev_producer_id=self.now.producer_id)

    # Completions.

    def complete_transition_to(self, transit: TransitMetadata) -> None:
        """Complete a change that is written and replicated. A fence and a removal are never written."""
        assert transit.state is self.pending_state
        assert transit.state not in (PREPARE_EPOCH_FENCE, DEAD)
        assert self._is_valid(transit), f"{self.now} to {transit}"
        self.now = transit
        self.pending_state = None

    def fence(self, producer_epoch: int) -> None:
        """Set the epoch of a fence before the abort (version 1): the fenced producer has the epoch before."""
        self.pending_state = None
        self.now = self.now.but(producer_epoch=producer_epoch, last_producer_epoch=NONE)

    def remove_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Remove the partitions with written markers."""
        assert self.now.state in (PREPARE_COMMIT, PREPARE_ABORT)
        left = self.now.partitions.difference(partitions)
        self.now = self.now.but(partitions=left or _NO_PARTITIONS)

    def _is_valid(self, transit: TransitMetadata) -> bool:
        now, state = self.now, transit.state
        if state is EMPTY:
            is_bumped = transit.producer_epoch == now.producer_epoch + 1 or (
                transit.producer_epoch == 0 and transit.producer_id != now.producer_id
            )
            return (
                (transit.producer_epoch == now.producer_epoch or is_bumped)
                and not transit.partitions
                and transit.start_ms == NONE
            )
        if not self._has_valid_epoch(transit) or transit.timeout_ms != now.timeout_ms:
            return False
        if state is ONGOING:
            return transit.partitions >= now.partitions
        if state in (COMPLETE_COMMIT, COMPLETE_ABORT):
            return transit.start_ms != NONE
        is_empty_abort = (
            state is PREPARE_ABORT and transit.transaction_version >= EPOCH_BUMP and now.state is not ONGOING
        )
        is_same = transit.partitions is now.partitions or transit.partitions == now.partitions
        return is_same and (transit.start_ms == now.start_ms or is_empty_abort)

    def _has_valid_epoch(self, transit: TransitMetadata) -> bool:
        now, state = self.now, transit.state
        if transit.transaction_version >= EPOCH_BUMP:
            if state in (COMPLETE_COMMIT, COMPLETE_ABORT) and transit.producer_epoch == 0:
                return (
                    transit.last_producer_epoch == now.last_producer_epoch
                    and transit.prev_producer_id == now.producer_id
                )
            if state in (PREPARE_COMMIT, PREPARE_ABORT):
                return transit.last_producer_epoch == now.producer_epoch and transit.producer_id == now.producer_id
        return transit.producer_epoch == now.producer_epoch and transit.producer_id == now.producer_id
