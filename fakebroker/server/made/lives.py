"""The lives of a cluster, one after the other: each gives clients no id that an earlier one at its address gave.

Theory   An address may have been that of another process. Clients of that cluster may live on, and what it used is
         unknown. So a new life draws its random ids and its first producer id from the operating system. A client that
         lives on finds its producer id there with a chance of about one in 10^11. What follows in the same cluster
         object, by a reset or another start, goes on where the life before ended.
         Leader epochs have to be higher, not only different. On ports that the user named they begin at the seconds
         since 2026, or above those of the clusters that this process has ended. On free ports they begin at 0, as in
         Kafka: clients do not know such an address.
Units    milliseconds of wall time.
"""

from __future__ import annotations

import secrets
from typing import ClassVar, Final, final

from fakebroker.core.controller.producer_ids import PRODUCER_ID_BLOCK
from fakebroker.core.life import Life
from fakebroker.server.driver import Driver

NEW, FIRST = "new", "first"

_BLOCKS: Final = 10**12  # blocks of producer ids: ids stay below 2^53, the largest that JavaScript reads exactly
_START_OF_2026_S: Final = 1_767_225_600


@final
class LifeSequence:
    """A sequence of lives. `is_known`: clients may know the address. Raises ValueError for an unknown kind of first
    life."""

    _unused_leader_epoch: ClassVar[int] = 0  # higher than those of all lives that this process has ended

    def __init__(self, name: object, seed: int, is_known: bool) -> None:
        if name not in (NEW, FIRST):
            raise ValueError(f"life must be {NEW} or {FIRST}, not {name!r}")
        self._is_known = is_known
        self._next = Life(seed) if name == FIRST else None

    def begin(self, wall_ms: int) -> Life:
        """Return the life that begins now."""
        if self._next is None:
            seconds = wall_ms // 1000 - _START_OF_2026_S
            leader_epoch = max(seconds, self._unused_leader_epoch) if self._is_known else 0
            self._next = Life(secrets.token_hex(16), 0, secrets.randbelow(_BLOCKS) * PRODUCER_ID_BLOCK, leader_epoch)
        return self._next

    def end(self, driver: Driver | None) -> None:
        """End the life of a cluster, which gives clients no more ids. None if there was none."""
        if driver is not None:
            self._next = driver.cluster.members.next_life()
            LifeSequence._unused_leader_epoch = max(self._unused_leader_epoch, self._next.leader_epoch)
