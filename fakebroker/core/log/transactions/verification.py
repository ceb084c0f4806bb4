"""Who was asked for before a transactional batch is appended: the guard against appends to a transaction that is over.

Theory   Before the first batch of a transaction in a partition its leader asks the coordinator whether the transaction
         is open there (version 1) or adds the partition to it (version 2). In between the transaction may end and the
         next begin. So whoever asks gets a guard, and the batch is appended only if the partition still has that very
         guard: marks take it away.
Units    epochs and sequences as in batches; times are wall milliseconds.
Source   storage/.../log/{VerificationStateEntry,VerificationGuard}.java @ 4.4 (KIP-890).
"""

from __future__ import annotations

from typing import Final, final

NO_GUARD: Final = 0
UNCHECKED: Final = -1  # transaction.partition.verification.enable=false: nobody is asked


@final
class VerificationState:
    """Of one producer. `guard` is a number that nobody else had; `lowest_sequence` is the first of what waits."""

    __slots__ = ("epoch", "guard", "lowest_sequence", "started_ms", "supports_epoch_bump")

    def __init__(self, guard: int, started_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        self.guard = guard
        self.started_ms = started_ms
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def note(self, sequence: int, epoch: int) -> None:
        """VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch: another batch waits."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence
