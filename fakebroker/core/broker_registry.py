"""Which brokers are alive, and in which epoch: what the controller knows of them and every broker is told.

Theory   A broker registers when it starts and gets an epoch that nobody had before; when it stops it is fenced. A
         fenced broker leads nothing and is in no ISR, except as the last one in it. A fetch that carries the broker
         epoch of an earlier life is refused.
Source   metadata/.../controller/ClusterControlManager.java; KRaftMetadataCache.scala getAliveBrokerEpoch @ 4.0.
Differs  No heartbeats and no session timeout: a broker that stops is fenced at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable


class BrokerRegistry:
    """The brokers of a cluster; all of `broker_ids` are alive at first."""

    def __init__(self, broker_ids: Iterable[int]) -> None:
        self._epochs: dict[int, int] = {}
        self._next_epoch = 1
        for broker_id in broker_ids:
            self.unfence(broker_id)

    def unfence(self, broker_id: int) -> None:
        """The broker has started: a new epoch."""
        self._epochs[broker_id] = self._next_epoch
        self._next_epoch += 1

    def fence(self, broker_id: int) -> None:
        """The broker has stopped."""
        del self._epochs[broker_id]

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._epochs

    def alive_broker_epoch(self, broker_id: int) -> int | None:
        """The epoch of a broker that is alive."""
        return self._epochs.get(broker_id)

    def alive(self, broker_ids: Iterable[int]) -> list[int]:
        """Those that are alive, in the order given."""
        return [broker_id for broker_id in broker_ids if broker_id in self._epochs]
