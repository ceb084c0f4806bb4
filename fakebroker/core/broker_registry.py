"""Which brokers are alive, and in which epoch: what the controller knows of them and every broker is told.

Theory   A broker registers when it starts and gets an epoch that nobody had before; when it stops it is fenced. A
         fenced broker leads nothing and is in no ISR, except as the last one in it. A fetch that carries the broker
         epoch of an earlier life is refused.
Source   metadata/.../controller/ClusterControlManager.java; KRaftMetadataCache.scala getAliveBrokerEpoch @ 4.0.
Differs  No heartbeats and no session timeout: a broker that stops is fenced at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from fakebroker.core.security.identity import Listener
from fakebroker.protocol.produce_response import NodeEndpoint

_FENCED: Final = -1


@final
class RegisteredBroker:
    """What is known of one broker. `epoch` is that of this life; negative while it is fenced. Where it listens is the
    same in each life, and so is the `rack` that it stands in."""

    __slots__ = ("_endpoints", "broker_id", "epoch", "rack")

    def __init__(self, broker_id: int, epoch: int = 0, rack: str | None = None) -> None:
        self.broker_id = broker_id
        self.epoch = epoch
        self.rack = rack
        self._endpoints: dict[Listener, NodeEndpoint] = {}

    def set_endpoint(self, listener: Listener, host: str, port: int) -> None:
        """What clients are told to connect to."""
        self._endpoints[listener] = NodeEndpoint(self.broker_id, host, port, self.rack)

    def endpoint(self, listener: Listener) -> NodeEndpoint:
        """127.0.0.1 and port 0 until it is set."""
        return self._endpoints.get(listener) or NodeEndpoint(self.broker_id, "127.0.0.1", 0, self.rack)

    @property
    def is_alive(self) -> bool:
        return self.epoch >= 0


def ids_in_words(broker_ids: Sequence[int]) -> str:
    """For sentences: "1 to 3", or "0, 7, 100"."""
    first, last = broker_ids[0], broker_ids[-1]
    if len(broker_ids) > 1 and list(broker_ids) == list(range(first, last + 1)):
        return f"{first} to {last}"
    return ", ".join(map(str, broker_ids))


class BrokerRegistry:
    """The brokers of a cluster; all of `broker_ids` are alive at first. `racks` has where each stands, if anywhere."""

    def __init__(self, broker_ids: Iterable[int], racks: Mapping[int, str] | None = None) -> None:
        self._brokers: dict[int, RegisteredBroker] = {}
        self._next_epoch = 1
        for broker_id in broker_ids:
            self._brokers[broker_id] = RegisteredBroker(broker_id, rack=(racks or {}).get(broker_id))
            self.unfence(broker_id)

    @property
    def broker_ids(self) -> list[int]:
        """Of all that are registered, alive or not."""
        return list(self._brokers)

    def __getitem__(self, broker_id: int) -> RegisteredBroker:
        return self._brokers[broker_id]

    def unfence(self, broker_id: int) -> None:
        """The broker has started: a new epoch."""
        self._brokers[broker_id].epoch = self._next_epoch
        self._next_epoch += 1

    def fence(self, broker_id: int) -> None:
        """The broker has stopped."""
        self._brokers[broker_id].epoch = _FENCED

    def is_alive(self, broker_id: int) -> bool:
        broker = self._brokers.get(broker_id)
        return broker is not None and broker.is_alive

    def alive_broker_epoch(self, broker_id: int) -> int | None:
        """The epoch of a broker that is alive."""
        return self._brokers[broker_id].epoch if self.is_alive(broker_id) else None

    def alive(self, broker_ids: Iterable[int]) -> list[int]:
        """Those that are alive, in the order given."""
        return [broker_id for broker_id in broker_ids if self.is_alive(broker_id)]
