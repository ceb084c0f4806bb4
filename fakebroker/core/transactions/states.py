"""The states of a transaction, as a table.

                     from                                                        to
    Empty            a producer with this id begins                              Ongoing, Empty, PrepareAbort (v2), Dead
    Ongoing          it adds partitions                                          Ongoing, Prepare*, PrepareEpochFence
    PrepareCommit    it was decided; its marks are being written                 CompleteCommit
    PrepareAbort     the same                                                    CompleteAbort
    CompleteCommit   all marks are written                                       Ongoing, Empty, PrepareAbort (v2), Dead
    CompleteAbort    the same                                                    Ongoing, Empty, PrepareAbort (v2), Dead
    PrepareEpochFence  another producer with this id, or its time, ends it       PrepareAbort
    Dead             it was not used for transactional.id.expiration.ms          nothing

Source   transaction-coordinator/.../TransactionState.java @ 4.4.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class TransactionState(Enum):
    """`number` stands in the log, the value is what Kafka's APIs call it."""

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

_S = TransactionState
_IDLE: Final = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})

VALID_PREVIOUS_STATES: Final = {
    _S.EMPTY: _IDLE,
    _S.ONGOING: _IDLE | {_S.ONGOING},
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    _S.PREPARE_ABORT: _IDLE | {_S.ONGOING, _S.PREPARE_EPOCH_FENCE},
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    _S.DEAD: _IDLE,
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}

_VALID_BY_NUMBER: Final = tuple(tuple(VALID_PREVIOUS_STATES[state]) for state in STATES)


def may_follow(state: TransactionState, previous: TransactionState) -> bool:
    """The same, without the hash of a state, which Python takes of its name."""
    return previous in _VALID_BY_NUMBER[STATES.index(state)]


EXPIRATION_ALLOWED: Final = _IDLE  # of the transactional id, when nobody has used it for long
