"""A simulated client with coordinators, for its transactions and for a group. It sends one request at a time.

Units    milliseconds since the start of the simulation.
"""

from __future__ import annotations

from typing import Any

from fakebroker.testing.transactions import frames
from fakebroker.testing.transactions.network import Line, Network

REQUEST_MS, BACKOFF_MS = 4_000, 100
NONE, CONCURRENT_TRANSACTIONS = 0, 51
OF_COORDINATOR = frozenset({14, 15, 16})  # loading, not available, not coordinator
# Retriable: unknown topic or partition, leader not available, not leader, timed out, not enough replicas, ... after
# append, unknown topic id.
AGAIN = frozenset({3, 5, 6, 7, 19, 20, 100, CONCURRENT_TRANSACTIONS})


class CoordinatedClient:
    """A client. `line` is its connection to all brokers; `pace_ms` is its pause between two steps. `group` is the group
    of its offsets."""

    group = ""

    def __init__(self, transactional_id: str, network: Network, pace_ms: int) -> None:
        self.transactional_id, self.pace_ms = transactional_id, pace_ms
        self.is_alive, self.is_paused = True, False
        self.line = Line(network)
        self._simulation = network.simulation
        self._coordinators: dict[int, int | None] = {frames.TRANSACTION: None, frames.GROUP: None}
        self._finding = frames.TRANSACTION
        self._not_before_ms = 0
        self._number = self._turn = 0

    def next_wake_ms(self) -> int | None:
        """Return when it next has something to do by itself."""
        if not self.is_alive or self.is_paused:
            return None
        at_ms = self._not_before_ms if self.line.is_idle else self.line.gives_up_ms
        return at_ms if at_ms is not None and at_ms > self._now_ms else None

    @property
    def _now_ms(self) -> int:
        return self._simulation.elapsed_ms

    def _find(self, key_type: int) -> None:
        self._turn += 1
        self._finding = key_type
        brokers = list(self._simulation.cluster.registry.broker_ids)
        key = self.transactional_id if key_type == frames.TRANSACTION else self.group
        frame = frames.find_coordinator(self._next(), key, key_type)
        self.line.ask(brokers[self._turn % len(brokers)], frames.FIND, frame, REQUEST_MS)

    def _to_coordinator(self, api: int, frame: bytes, key_type: int = frames.TRANSACTION) -> None:
        broker = self._coordinators[key_type]
        assert broker is not None
        self.line.ask(broker, api, frame, REQUEST_MS)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _think(self) -> None:
        self._not_before_ms = self._now_ms + self.pace_ms

    def _back_off(self) -> None:
        self._not_before_ms = self._now_ms + BACKOFF_MS

    def _on_nothing(self) -> None:
        """Handle a lost connection or a client timeout."""
        self._coordinators = dict.fromkeys(self._coordinators)
        self._back_off()

    def _on_found(self, answer: Any) -> None:
        if answer.error_code == NONE:
            self._coordinators[self._finding] = int(answer.node_id)
            self._think()
        else:
            self._back_off()

    def _is_again(self, error: int, key_type: int) -> bool:
        """Return True if the request will be retried, here or at another broker."""
        if error in OF_COORDINATOR:
            self._coordinators[key_type] = None
        elif error not in AGAIN:
            return False
        self._back_off()
        return True
