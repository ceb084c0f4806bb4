"""A connection of a simulated client: one request at a time, with a client timeout."""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.testing.simulation import SimulatedClient, Simulation


class ApiResponse(NamedTuple):
    """A response to a request of that API. `frame` is None if the connection was lost or the client timed out."""

    api: int
    frame: bytes | None


class SimulatedConnection:
    """A client connection. It connects on demand, and again if the broker changes."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._link: SimulatedClient | None = None
        self._broker = -1
        self._api = -1
        self._seen = 0
        self.gives_up_ms: int | None = None
        self.answered_ms = 0  # arrival time of the last response

    @property
    def is_idle(self) -> bool:
        return self.gives_up_ms is None

    def ask(self, broker: int, api: int, frame: bytes, patience_ms: int) -> None:
        assert self.is_idle
        self._api, self.gives_up_ms = api, self._simulation.elapsed_ms + patience_ms
        if self._link is None or self._link.closed is not None or self._broker != broker:
            self.close()
            self._link, self._broker = self._simulation.connect(broker), broker
            self.gives_up_ms = self._simulation.elapsed_ms + patience_ms
        self._seen = len(self._link.answers)
        if self._link.closed is None:
            self._link.send(frame)

    def take(self) -> ApiResponse | None:
        """Return the response, once; None if there is none yet, or no request."""
        if self.gives_up_ms is None or self._link is None:
            return None
        if len(self._link.answers) > self._seen:
            self.gives_up_ms = None
            self.answered_ms, frame = self._link.answers[self._seen]
            return ApiResponse(self._api, frame)
        if self._link.closed is not None or self._simulation.elapsed_ms >= self.gives_up_ms:
            self.close()
            return ApiResponse(self._api, None)
        return None

    def close(self) -> None:
        self.gives_up_ms = None
        if self._link is not None and self._link.closed is None:
            self._link.disconnect()
        self._link = None
