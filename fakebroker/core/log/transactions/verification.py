"""The verification of a transactional batch before its append. It guards against appends to an ended transaction.

Theory   Before the first batch of a transaction in a partition, its leader asks the transaction coordinator. That
         checks whether the transaction is open there (version 1), or adds the partition to it (version 2). In between
         the transaction may end and the next begin. So each verification gets a guard, and the batch is appended only
         if the partition still has that very guard. Transaction markers remove it.
Units    epochs and sequences as in batches; times are wall milliseconds.
Source   storage/.../log/{VerificationStateEntry,VerificationGuard}.java @ 4.4 (KIP-890).
"""

from __future__ import annotations

from typing import Final, final

NO_GUARD: Final = 0
UNCHECKED: Final = -1  # transaction.partition.verification.enable=false: the coordinator is not asked


@final
class VerificationState:
    """The verification of one producer. `guard` is a unique number; `lowest_sequence` is the first sequence that
    waits."""

    __slots__ = ("epoch", "guard", "lowest_sequence", "started_ms", "supports_epoch_bump")

    def __init__(self, guard: int, started_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        self.guard = guard
        self.started_ms = started_ms
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def note(self, sequence: int, epoch: int) -> None:
        """Record another waiting batch (VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch)."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence
