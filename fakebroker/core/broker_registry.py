"""Which brokers there are, and in which state: what the controller knows of them and every broker is told, and whether
they work.

Theory   A broker registers when it starts and gets an epoch that nobody had before; it is fenced until the controller
         lets it take part, and again when it has stopped or was silent for too long. A fenced broker leads nothing and
         is in no ISR; one in a controlled shutdown is still alive, but gets nothing any more. A fetch that carries the
         broker epoch of an earlier life is refused.
         Whether its process works is another matter, of which the controller learns late: one that was killed or
         stands still is alive until its session ends. Nor may two brokers that work be able to reach each other, or
         one of them the controller.
Source   metadata/.../controller/{ClusterControlManager,BrokerControlState}.java; KRaftMetadataCache.scala
         getAliveBrokerEpoch, isBrokerFenced, isBrokerShuttingDown @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import final

from fakebroker.core.security.identity import Listener
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint


@final
class RegisteredBroker:
    """What is known of one broker. Where it listens is the same in each life, and so is the `rack` that it stands in.

    epoch                    of this life
    is_fenced                by the controller
    in_controlled_shutdown   it has asked to go, and leads nothing any more
    is_working               its process runs, and does not stand still
    isolations               how many there are that keep it from the controller
    disk_write_ms            how long it takes to write to its disk
    bound                    host and port where it listens, if it does; clients may be told something else
    on_disk_full             None while there is room; else who is told of each attempt to write: the broker dies of it
    """

    __slots__ = (
        "_endpoints", "bound", "broker_id", "disk_write_ms", "epoch", "in_controlled_shutdown", "is_fenced",
        "is_working", "isolations", "on_disk_full", "rack",
    )  # fmt: skip

    def __init__(self, broker_id: int, epoch: int = 0, rack: str | None = None) -> None:
        self.broker_id = broker_id
        self.epoch = epoch
        self.is_fenced = False
        self.in_controlled_shutdown = False
        self.is_working = True
        self.isolations = 0
        self.disk_write_ms = 0
        self.on_disk_full: Callable[[], None] | None = None
        self.rack = rack
        self.bound: tuple[str, int] | None = None
        self._endpoints: dict[Listener, NodeEndpoint] = {}

    def set_endpoint(self, listener: Listener, host: str, port: int) -> None:
        """What clients are told to connect to."""
        self._endpoints[listener] = NodeEndpoint(self.broker_id, host, port, self.rack)

    def endpoint(self, listener: Listener) -> NodeEndpoint:
        """127.0.0.1 and port 0 until it is set."""
        if listener.address:
            told = self.endpoint(Listener(listener.name, listener.security_protocol))
            return told._replace(host=listener.address)
        return self._endpoints.get(listener) or NodeEndpoint(self.broker_id, "127.0.0.1", 0, self.rack)

    @property
    def is_alive(self) -> bool:
        """As clients are told."""
        return not self.is_fenced

    @property
    def is_active(self) -> bool:
        """It may lead, and be in sync."""
        return not self.is_fenced and not self.in_controlled_shutdown

    @property
    def is_heard(self) -> bool:
        """By the controller: it works, and reaches it."""
        return self.is_working and not self.isolations

    def check_disk(self) -> None:
        """It is about to write. Raises KAFKA_STORAGE_ERROR if there is no room."""
        if self.on_disk_full is not None:
            self.on_disk_full()
            raise KafkaError(
                ErrorCode.kafka_storage_error, f"There is no space left on the disk of broker {self.broker_id}."
            )


def ids_in_words(broker_ids: Sequence[int]) -> str:
    """For sentences: "1 to 3", or "0, 7, 100"."""
    first, last = broker_ids[0], broker_ids[-1]
    if len(broker_ids) > 1 and list(broker_ids) == list(range(first, last + 1)):
        return f"{first} to {last}"
    return ", ".join(map(str, broker_ids))


class BrokerRegistry:
    """The brokers of a cluster; all of `broker_ids` are alive at first. `racks` has where each stands, if anywhere.
    `has_elr` says whether the controller keeps eligible leader replicas (KIP-966)."""

    def __init__(self, broker_ids: Iterable[int], racks: Mapping[int, str] | None = None) -> None:
        self._brokers: dict[int, RegisteredBroker] = {}
        self.has_elr: Callable[[], bool] = _without_elr
        self._next_epoch = 1
        # Pairs that cannot reach each other, the lower id first, and how often they were cut.
        self._cut: dict[tuple[int, int], int] = {}
        for broker_id in broker_ids:
            self._brokers[broker_id] = RegisteredBroker(broker_id, rack=(racks or {}).get(broker_id))
            self.register(broker_id)
            self.unfence(broker_id)

    @property
    def broker_ids(self) -> list[int]:
        """Of all that are registered, alive or not."""
        return list(self._brokers)

    def __getitem__(self, broker_id: int) -> RegisteredBroker:
        return self._brokers[broker_id]

    # What the controller decides.

    def register(self, broker_id: int) -> None:
        """A new life: a new epoch, and fenced at first."""
        broker = self._brokers[broker_id]
        broker.epoch = self._next_epoch
        broker.is_fenced = True
        broker.in_controlled_shutdown = False
        self._next_epoch += 1

    def unfence(self, broker_id: int) -> None:
        """It takes part, in the epoch that it has."""
        self._brokers[broker_id].is_fenced = False

    def fence(self, broker_id: int) -> None:
        """It has stopped, or was silent for too long."""
        self._brokers[broker_id].is_fenced = True

    def is_alive(self, broker_id: int) -> bool:
        broker = self._brokers.get(broker_id)
        return broker is not None and broker.is_alive

    def alive_broker_epoch(self, broker_id: int) -> int | None:
        """The epoch of a broker that is alive."""
        return self._brokers[broker_id].epoch if self.is_alive(broker_id) else None

    def alive(self, broker_ids: Iterable[int]) -> list[int]:
        """Those that are alive, in the order given."""
        return [broker_id for broker_id in broker_ids if self.is_alive(broker_id)]

    def active(self, broker_ids: Iterable[int]) -> list[int]:
        """Those that may lead, in the order given."""
        brokers = self._brokers
        return [broker_id for broker_id in broker_ids if broker_id in brokers and brokers[broker_id].is_active]

    # What is so, whoever knows of it.

    def cut(self, some: Iterable[int], others: Iterable[int]) -> None:
        """Those cannot reach these any more, nor the other way round."""
        for pair in _pairs(some, others):
            self._cut[pair] = self._cut.get(pair, 0) + 1

    def join(self, some: Iterable[int], others: Iterable[int]) -> None:
        """Take back such a cut. Those that others concern still cannot reach each other."""
        for pair in _pairs(some, others):
            self._cut[pair] -= 1
            if not self._cut[pair]:
                del self._cut[pair]

    def can_reach(self, one: int, other: int) -> bool:
        """Whether a request of one broker comes to the other, and its answer back."""
        brokers = self._brokers
        return brokers[one].is_working and brokers[other].is_working and _pair(one, other) not in self._cut


def _without_elr() -> bool:
    return False


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _pairs(some: Iterable[int], others: Iterable[int]) -> set[tuple[int, int]]:
    others = list(others)
    return {_pair(one, other) for one in some for other in others if one != other}
