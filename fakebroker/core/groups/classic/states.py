"""The states of a classic group, and a table of the allowed transitions.

Source   group-coordinator/.../classic/ClassicGroupState.java @ 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class ClassicGroupState(Enum):
    """The state of a classic group. The values are the names in responses.

    EMPTY                 no members; offsets may be left
    PREPARING_REBALANCE   waits until all members have rejoined, or until the rebalance timeout
    COMPLETING_REBALANCE  a generation has begun, and waits for the leader's assignment
    STABLE                the members can get their assignments
    DEAD                  removed, or moved to another coordinator
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY: Final = ClassicGroupState.EMPTY
PREPARING_REBALANCE: Final = ClassicGroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE: Final = ClassicGroupState.COMPLETING_REBALANCE
STABLE: Final = ClassicGroupState.STABLE
DEAD: Final = ClassicGroupState.DEAD

VALID_PREVIOUS_STATES: Final[Mapping[ClassicGroupState, frozenset[ClassicGroupState]]] = {
    EMPTY: frozenset({PREPARING_REBALANCE}),
    PREPARING_REBALANCE: frozenset({STABLE, COMPLETING_REBALANCE, EMPTY}),
    COMPLETING_REBALANCE: frozenset({PREPARING_REBALANCE}),
    STABLE: frozenset({COMPLETING_REBALANCE}),
    DEAD: frozenset({STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, EMPTY, DEAD}),
}
