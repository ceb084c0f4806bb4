"""The lives of the clusters of this process: the one that a cluster begins with, and what later ones may not use again.

Theory   An address may have been that of another process, whose clients live on. Nothing tells what that cluster used.
         So a new life draws its random ids and its first producer id from the operating system. A client that lives on
         finds its producer id there with a chance of about one in 10^11.
         Leader epochs have to be higher, not only different. On ports that the user named they begin at the seconds
         since 2026, or above those of the clusters that this process has ended. On free ports they begin at 0, as in
         Kafka: clients do not know such an address.
Units    milliseconds of wall time.
"""

from __future__ import annotations

import secrets
from typing import Final, final

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.controller.producer_ids import PRODUCER_ID_BLOCK
from fakebroker.core.life import Life

NEW, FIRST = "new", "first"

_BLOCKS: Final = 10**12  # of producer ids, which stay below 2^53: JavaScript reads no larger number exactly
_START_OF_2026_S: Final = 1_767_225_600


def check_life(name: object) -> None:
    """Raise ValueError for a life that does not exist."""
    if name not in (NEW, FIRST):
        raise ValueError(f"a life is {NEW} or {FIRST}, not {name!r}")


@final
class Lives:
    def __init__(self) -> None:
        self._next_leader_epoch = 0  # above all that ended lives used

    def begin(self, name: str, seed: int, wall_ms: int, is_known: bool) -> Life:
        """Return the first life of a cluster. `is_known`: clients may know its address."""
        if name == FIRST:
            return Life(seed)
        leader_epoch = max(wall_ms // 1000 - _START_OF_2026_S, self._next_leader_epoch) if is_known else 0
        return Life(secrets.token_hex(16), 0, secrets.randbelow(_BLOCKS) * PRODUCER_ID_BLOCK, leader_epoch)

    def end(self, cluster: Cluster) -> Life:
        """Return the life that follows that of a cluster at its address."""
        life = cluster.next_life()
        self._next_leader_epoch = max(self._next_leader_epoch, life.leader_epoch)
        return life


LIVES: Final = Lives()
