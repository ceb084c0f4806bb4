"""The actions that a seed leaves out: swarm testing.

Theory   If every plan draws from all actions, faults hide each other: brokers crash so often that no request is parked
         for long. In a swarm each seed leaves out its own half of the actions. So some seeds stay in rare states
         for hundreds of steps (Groce et al., "Swarm Testing", ISSTA 2012). Some kinds of traffic (transactions, bursts,
         a processor) are left out in the same way.
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
    """Return the names of the actions that this seed leaves out, each with a probability of one half. Healing actions
    are never left out."""
    random = Random(f"swarm {kind} {seed}")
    return frozenset(name for name in _OFTEN_LEFT_OUT[kind] if random.random() < 0.5)
