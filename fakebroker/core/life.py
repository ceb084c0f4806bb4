"""The identity of one life of a cluster, distinct from other lives at its address.

Theory   Clients outlive clusters: they keep topic ids, producer ids, leader epochs and member ids, and trust them when
         the same address answers again. Each life therefore draws its random ids from a source of its own. Producer ids
         and leader epochs go on where the life before ended: a client may ignore a leader epoch that went back.
         The first life of a seed is the same in every run: simulations and recorded transcripts rely on it.
Source   KIP-516 (topic ids), KIP-320 (leader epochs) and KIP-360 (producer ids) say what clients trust.
Differs  Kafka begins producer ids and leader epochs at 0 when its storage is formatted anew.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple


class Life(NamedTuple):
    """One life. `seed` and `number` determine all random ids. `producer_id` and `leader_epoch` are the first ones.
    `cluster_ids` and `group_ids` are those of earlier lives."""

    seed: int | str = 0
    number: int = 0
    producer_id: int = 0
    leader_epoch: int = 0
    cluster_ids: frozenset[str] = frozenset()
    group_ids: frozenset[str] = frozenset()

    def random(self) -> Random:
        """Return the source of the cluster id, topic ids, and the ids that a broker gives to members and clients."""
        return Random(self._key)

    def session_ids(self) -> Random:
        """Return the source of the ids of fetch sessions."""
        return Random(f"fetch sessions of {self._key}")

    def nonces(self) -> Random:
        """Return the source of the broker's parts of the nonces of logins."""
        return Random(f"nonces of {self._key}")

    def token_ids(self) -> Random:
        """Return the source of the ids of delegation tokens, and of the salts of their credentials."""
        return Random(f"delegation tokens of {self._key}")

    @property
    def _key(self) -> int | str:
        return f"life {self.number} of {self.seed}" if self.number else self.seed

    def next(self, producer_id: int, leader_epoch: int, cluster_id: str, group_ids: frozenset[str]) -> Life:
        """Return the next life, given the first ids that this one did not use, its own id and all groups."""
        cluster_ids = self.cluster_ids | {cluster_id}
        return Life(self.seed, self.number + 1, producer_id, leader_epoch, cluster_ids, group_ids)


FIRST_LIFE: Final = Life()
