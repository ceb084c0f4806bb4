"""The brokers and their states: the controller's knowledge of them, and whether their processes work.

Theory   A broker registers when it starts and gets a new, unique epoch. It is fenced until the controller unfences it,
         and again when it has stopped or was silent for too long. A fenced broker leads nothing and is in no ISR. One
         in a controlled shutdown is still alive, but gets no new leadership. A fetch with the broker epoch of an
         earlier life is refused. The controller notices late whether its process works: a killed or paused broker is
         alive until its session ends. Two working brokers may be cut off from each other, or one of them from the
         controller.
Source   metadata/.../controller/{ClusterControlManager,BrokerControlState}.java; KRaftMetadataCache.scala
         getAliveBrokerEpoch, isBrokerFenced, isBrokerShuttingDown @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, final

from fakebroker.core.security.identity import PLAINTEXT, Listener
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint


class AddedListener(NamedTuple):
    """A listener that was added to a running broker, and where it is to listen."""

    listener: Listener
    host: str
    port: int

    @classmethod
    def of(cls, name: str, protocol: str, host: str, port: int) -> AddedListener:
        return cls(Listener(name, protocol), host, port)


@final
class RegisteredBroker:
    """The state of one broker. Its advertised listeners and its `rack` are the same in each life.

    added_listeners          by name: those that its settings have added, which no client is told

    epoch                    of this life
    is_fenced                by the controller
    is_being_fenced          by the controller, which removes it from the ISRs first
    in_controlled_shutdown   it has requested a controlled shutdown, and leads nothing any more
    is_working               its process runs, and is not paused
    isolations               the number of causes that cut it off from the controller
    disk_write_ms            the duration of a write to its disk
    on_disk_full             None while there is room; else it is called at each attempt to write: the broker dies of it
    """

    __slots__ = (
        "_bound", "_endpoints", "added_listeners", "broker_id", "disk_write_ms", "epoch", "in_controlled_shutdown",
        "is_being_fenced", "is_fenced", "is_working", "isolations", "on_disk_full", "rack",
    )  # fmt: skip

    def __init__(self, broker_id: int, epoch: int = 0, rack: str | None = None) -> None:
        self.broker_id = broker_id
        self.epoch = epoch
        self.is_fenced = self.is_being_fenced = False
        self.in_controlled_shutdown = False
        self.is_working = True
        self.isolations = 0
        self.disk_write_ms = 0
        self.on_disk_full: Callable[[], None] | None = None
        self.rack = rack
        self._bound: dict[Listener, tuple[str, int]] = {}
        self._endpoints: dict[Listener, NodeEndpoint] = {}
        self.added_listeners: dict[str, AddedListener] = {}

    def set_endpoint(self, host: str, port: int, listener: Listener | None = None) -> None:
        """Set the address for clients of a listener (default: the first one)."""
        self._endpoints[listener or self.first_listener] = NodeEndpoint(self.broker_id, host, port, self.rack)

    def endpoint(self, listener: Listener | None = None) -> NodeEndpoint:
        """Return the address for clients of a listener (default: the first one): 127.0.0.1 and port 0 until it is
        set."""
        if listener is None:
            listener = self.first_listener
        if listener.address:
            endpoint = self.endpoint(Listener(listener.name, listener.security_protocol))
            return endpoint._replace(host=listener.address)
        return self._endpoints.get(listener) or NodeEndpoint(self.broker_id, "127.0.0.1", 0, self.rack)

    @property
    def listeners(self) -> list[Listener]:
        """Return its listeners, in the order in which they were set."""
        return list(self._endpoints) or [PLAINTEXT]

    @property
    def first_listener(self) -> Listener:
        return self.listeners[0]

    def bound_to(self, listener: Listener) -> tuple[str, int]:
        """Return host and port where this listener listens: those for clients until they are set."""
        endpoint = self.endpoint(listener)
        return self._bound.get(listener, (endpoint.host, endpoint.port))

    def set_bound(self, host: str, port: int, listener: Listener) -> None:
        """Set the address where this listener listens."""
        self._bound[listener] = host, port

    def add_listener(self, added: AddedListener) -> None:
        self.added_listeners[added.listener.name] = added
        self.set_bound(added.host, added.port, added.listener)

    def remove_listener(self, name: str) -> None:
        """Remove a listener that was added."""
        self._bound.pop(self.added_listeners.pop(name).listener)

    @property
    def is_alive(self) -> bool:
        """True if clients see the broker as alive."""
        return not self.is_fenced

    @property
    def is_active(self) -> bool:
        """True if the broker may lead and be in sync."""
        return not self.is_fenced and not self.is_being_fenced and not self.in_controlled_shutdown

    @property
    def is_heard(self) -> bool:
        """True if the broker works and reaches the controller."""
        return self.is_working and not self.isolations

    def check_disk(self) -> None:
        """Raise KAFKA_STORAGE_ERROR if the disk has no room for a write."""
        if self.on_disk_full is not None:
            self.on_disk_full()
            raise KafkaError(
                ErrorCode.kafka_storage_error, f"There is no space left on the disk of broker {self.broker_id}."
            )


def ids_in_words(broker_ids: Sequence[int]) -> str:
    """Return the ids for a sentence: "1 to 3", or "0, 7, 100"."""
    first, last = broker_ids[0], broker_ids[-1]
    if len(broker_ids) > 1 and list(broker_ids) == list(range(first, last + 1)):
        return f"{first} to {last}"
    return ", ".join(map(str, broker_ids))


class BrokerRegistry:
    """The brokers of a cluster; all of `broker_ids` are alive at first. `racks` has the rack of each, if any. `has_elr`
    returns True if the controller keeps eligible leader replicas (KIP-966)."""

    def __init__(self, broker_ids: Iterable[int], racks: Mapping[int, str] | None = None) -> None:
        self._brokers: dict[int, RegisteredBroker] = {}
        self.has_elr: Callable[[], bool] = _without_elr
        self._next_epoch = 1
        # Pairs that cannot reach each other, the lower id first, and the number of cuts between them.
        self._cut: dict[tuple[int, int], int] = {}
        for broker_id in broker_ids:
            self._brokers[broker_id] = RegisteredBroker(broker_id, rack=(racks or {}).get(broker_id))
            self.register(broker_id)
            self.unfence(broker_id)

    @property
    def broker_ids(self) -> list[int]:
        """The ids of all registered brokers, alive or not."""
        return list(self._brokers)

    def __getitem__(self, broker_id: int) -> RegisteredBroker:
        return self._brokers[broker_id]

    # Decisions of the controller.

    def register(self, broker_id: int) -> None:
        """Begin a new life: a new epoch, fenced at first."""
        broker = self._brokers[broker_id]
        broker.epoch = self._next_epoch
        broker.is_fenced = True
        broker.in_controlled_shutdown = False
        self._next_epoch += 1

    def unfence(self, broker_id: int) -> None:
        """Unfence a broker, in its present epoch."""
        self._brokers[broker_id].is_fenced = False

    def fence(self, broker_id: int) -> None:
        """Fence a broker that has stopped, or was silent for too long."""
        broker = self._brokers[broker_id]
        broker.is_fenced, broker.is_being_fenced = True, False

    def is_alive(self, broker_id: int) -> bool:
        broker = self._brokers.get(broker_id)
        return broker is not None and broker.is_alive

    def alive_broker_epoch(self, broker_id: int) -> int | None:
        """Return the epoch of a live broker, or None."""
        return self._brokers[broker_id].epoch if self.is_alive(broker_id) else None

    def alive(self, broker_ids: Iterable[int]) -> list[int]:
        """Return the live brokers, in the order given."""
        return [broker_id for broker_id in broker_ids if self.is_alive(broker_id)]

    def active(self, broker_ids: Iterable[int]) -> list[int]:
        """Return the brokers that may lead, in the order given."""
        brokers = self._brokers
        return [broker_id for broker_id in broker_ids if broker_id in brokers and brokers[broker_id].is_active]

    def usable(self, broker_ids: Iterable[int]) -> list[int]:
        """Return the brokers that may get replicas of new partitions, in the order given: all but those in controlled
        shutdown."""
        brokers = self._brokers
        return [id_ for id_ in broker_ids if brokers[id_].is_fenced or not brokers[id_].in_controlled_shutdown]

    def is_registered(self, listener: Listener) -> bool:
        """Return True if the brokers have registered this listener, so that its clients are told their addresses."""
        name = listener.name
        return not any(name in broker.added_listeners for broker in self._brokers.values())

    # The network between brokers.

    def cut(self, some: Iterable[int], others: Iterable[int]) -> None:
        """Cut the network between two groups of brokers, both ways."""
        for pair in _pairs(some, others):
            self._cut[pair] = self._cut.get(pair, 0) + 1

    def join(self, some: Iterable[int], others: Iterable[int]) -> None:
        """Undo such a cut. Pairs with another cut between them still cannot reach each other."""
        for pair in _pairs(some, others):
            self._cut[pair] -= 1
            if not self._cut[pair]:
                del self._cut[pair]

    def can_reach(self, one: int, other: int) -> bool:
        """Return True if a request of one broker reaches the other, and its response comes back."""
        brokers = self._brokers
        return brokers[one].is_working and brokers[other].is_working and _pair(one, other) not in self._cut


def _without_elr() -> bool:
    return False


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _pairs(some: Iterable[int], others: Iterable[int]) -> set[tuple[int, int]]:
    others = list(others)
    return {_pair(one, other) for one in some for other in others if one != other}
