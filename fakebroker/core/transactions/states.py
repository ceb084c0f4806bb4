"""The states of a transaction, as a table.

                     from                                                        to
    Empty            a producer with this id begins                              Ongoing, Empty, PrepareAbort (v2), Dead
    Ongoing          it adds partitions                                          Ongoing, Prepare*, PrepareEpochFence
    PrepareCommit    it was decided; its markers are being written               CompleteCommit
    PrepareAbort     the same                                                    CompleteAbort
    CompleteCommit   all markers are written                                     Ongoing, Empty, PrepareAbort (v2), Dead
    CompleteAbort    the same                                                    Ongoing, Empty, PrepareAbort (v2), Dead
    PrepareEpochFence  another producer with this id, or the timeout, ends it    PrepareAbort
    Dead             it was not used for transactional.id.expiration.ms          nothing

Source   transaction-coordinator/.../TransactionState.java @ 4.4.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class TransactionState(Enum):
    """The states. `number` is used in the log, the value in Kafka's APIs."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    @property
    def number(self) -> int:
        return STATES.index(self)


STATES: Final = tuple(TransactionState)

# A member of an enum is looked up by its name each time, and each transaction needs these a hundred times.
EMPTY: Final = TransactionState.EMPTY
ONGOING: Final = TransactionState.ONGOING
PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
PREPARE_ABORT: Final = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT: Final = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT: Final = TransactionState.COMPLETE_ABORT
DEAD: Final = TransactionState.DEAD
PREPARE_EPOCH_FENCE: Final = TransactionState.PREPARE_EPOCH_FENCE

_IDLE: Final = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})

VALID_PREVIOUS_STATES: Final = {
    EMPTY: _IDLE,
    ONGOING: _IDLE | {ONGOING},
    PREPARE_COMMIT: frozenset({ONGOING}),
    PREPARE_ABORT: _IDLE | {ONGOING, PREPARE_EPOCH_FENCE},
    COMPLETE_COMMIT: frozenset({PREPARE_COMMIT}),
    COMPLETE_ABORT: frozenset({PREPARE_ABORT}),
    DEAD: _IDLE,
    PREPARE_EPOCH_FENCE: frozenset({ONGOING}),
}

_VALID_BY_NUMBER: Final = tuple(tuple(VALID_PREVIOUS_STATES[state]) for state in STATES)


def may_follow(state: TransactionState, previous: TransactionState) -> bool:
    """Return True if the transition is valid. It avoids the hash of a state, which Python computes from its name."""
    return previous in _VALID_BY_NUMBER[STATES.index(state)]


EXPIRATION_ALLOWED: Final = _IDLE  # of the transactional id, when it is unused for long
