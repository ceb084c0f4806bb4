"""The network of a simulated producer: one request at a time, which may be lost, late, or without a response."""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.testing.actors.simulated_connection import ApiResponse, SimulatedConnection
from fakebroker.testing.simulation import Simulation
from fakebroker.testing.transactions.frames import END


class HeldRequest(NamedTuple):
    """A request in transit."""

    broker: int
    frame: bytes


class Network:
    """The network of all clients, with the requests that are held back."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.held: list[HeldRequest] = []
        self.delivered = 0  # number of late requests

    def deliver(self, which: int) -> None:
        """Deliver one of the held requests to its broker, and ignore the response."""
        if self.held:
            broker, frame = self.held.pop(which % len(self.held))
            if self.simulation.cluster.lives.is_running(broker):
                self.delivered += 1
                self.simulation.connect(broker).send(frame)


class Line:
    """The connection of one client. `fault` affects its next request. "hold": it arrives later, or never. "drop": it
    never arrives. "lose": its response never arrives. "hold end" affects its next EndTxn. "late end" delays that into
    the middle of the next transaction (`come_late`)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._connection = SimulatedConnection(network.simulation)
        self._lost: ApiResponse | None = None
        self._lost_ms = 0
        self._late: HeldRequest | None = None
        self.fault = ""

    @property
    def is_idle(self) -> bool:
        return self._lost is None and self._connection.is_idle

    @property
    def gives_up_ms(self) -> int | None:
        return self._connection.gives_up_ms if self._lost is None else self._lost_ms

    def ask(self, broker: int, api: int, frame: bytes, patience_ms: int) -> None:
        simulation = self._network.simulation
        if not self.fault or (self.fault.endswith(" end") and api != END):
            self._connection.ask(broker, api, frame, patience_ms)
            return
        fault, self.fault = self.fault, ""
        if fault == "late end":
            self._late = HeldRequest(broker, frame)
        elif fault.startswith("hold"):
            self._network.held.append(HeldRequest(broker, frame))
        elif fault == "lose" and simulation.cluster.lives.is_running(broker):
            simulation.connect(broker).send(frame)
        self._lost, self._lost_ms = ApiResponse(api, None), simulation.elapsed_ms + patience_ms

    def come_late(self) -> None:
        """Deliver the late EndTxn now."""
        if self._late is not None:
            self._network.held.append(self._late)
            self._late = None
            self._network.deliver(-1)

    def take(self) -> ApiResponse | None:
        """Return the response, like `SimulatedConnection.take`."""
        if self._lost is None:
            return self._connection.take()
        if self._network.simulation.elapsed_ms < self._lost_ms:
            return None
        answer, self._lost = self._lost, None
        return answer

    def close(self) -> None:
        self._lost = None
        self._connection.close()
