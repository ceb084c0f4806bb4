"""Which actions a seed does without: swarm testing.

Theory   Where every plan draws from everything, faults drown each other: brokers die so often that nothing is ever
         parked for long. A swarm has each seed leave out its own half of them, so that some seeds hold what is
         left for hundreds of steps (Groce et al., "Swarm Testing", ISSTA 2012). Some kinds of traffic (transactions,
         bursts, a processor) are left out in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

CLUSTER: Final = (
    "recreate",
    "delete",
    "garbage",
    "disconnect",
    "followers",
    "stop",
    "move",
    "kill",
    "pause",
    "transact",
    "burst",
    "jump",
)
STREAMS: Final = tuple(name for name in CLUSTER if name != "burst")
GROUPS: Final = ("crashes", "leaves", "pauses", "followers", "stop", "move", "coordinator")
TRANSACTIONS: Final = (
    "crashes",
    "pauses",
    "sleeps",
    "hold",
    "lateend",
    "drop",
    "lose",
    "followers",
    "stop",
    "move",
    "coordinator",
    "group",
    "plain",
    "processor",
)
_OFTEN_LEFT_OUT: Final[Mapping[str, Iterable[str]]] = {
    "cluster": CLUSTER,
    "streams": STREAMS,
    "groups": GROUPS,
    "transactions": TRANSACTIONS,
}


def left_out(kind: str, seed: int) -> frozenset[str]:
    """The names of actions that this seed does not draw; each has even odds. What heals is always there."""
    random = Random(f"swarm {kind} {seed}")
    return frozenset(name for name in _OFTEN_LEFT_OUT[kind] if random.random() < 0.5)
