"""A simulated cluster with clients that act by themselves, and its faults.

Theory   The actors are called whenever anything may have changed: `act` returns whether there was anything to do,
         `next_wake_ms` when there will be. Time jumps from one event to the next, of the cluster or of an actor.
Units    milliseconds since the start of the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from fakebroker.core.errors import KafkaError
from fakebroker.testing.simulation import Simulation

_MAX_TURNS = 10_000


class Actor(Protocol):
    """A client that acts by itself."""

    def act(self) -> bool:
        """Handle responses and send what is due. Return True if there was anything to do."""

    def next_wake_ms(self) -> int | None:
        """Return when the actor next has something to do by itself."""


class World:
    """A cluster with faults and time. Its clients are the `actors`."""

    simulation: Simulation

    @property
    def actors(self) -> Sequence[Actor]:
        raise NotImplementedError

    @property
    def now_ms(self) -> int:
        return self.simulation.elapsed_ms

    def stop(self, broker: int) -> None:
        if self.simulation.cluster.lives.is_running(broker):
            self.simulation.stop(broker)
            self.act()

    def kill(self, broker: int) -> None:
        """Crash the broker; the controller detects it when its session ends."""
        if self.simulation.cluster.lives.is_running(broker):
            self.simulation.kill(broker)
            self.act()

    def start(self, broker: int) -> None:
        if not self.simulation.cluster.lives.is_running(broker):
            self.simulation.start(broker)
            self.act()

    def followers(self, behaviour: str, topic: str | None = None, broker: int | None = None) -> None:
        with suppress(KafkaError):  # there are no followers
            self.simulation.followers(behaviour, topic, None, broker)
        self.act()

    def move(self, topic: str, partition: int, which: int) -> None:
        """Move the leader to an in-sync replica. Moving the leader of a coordinator's topic moves the coordinator."""
        if self.simulation.cluster.metadata.topic(topic) is None:
            return
        target = self.simulation.partition(topic, partition)
        if target.leader_id >= 0:
            in_sync = sorted(target.isr)
            with suppress(KafkaError):
                self.simulation.move_leader(in_sync[which % len(in_sync)], topic, partition)
        self.act()

    def advance(self, ms: int) -> None:
        """Advance the time, and let the actors act whenever there is something to do."""
        end_ms = self.now_ms + ms
        self.act()
        while self.now_ms < end_ms:
            times = [self.simulation.next_event_ms(), *(actor.next_wake_ms() for actor in self.actors)]
            at_ms = min([time_ms for time_ms in times if time_ms is not None], default=end_ms)
            self.simulation.run_until(min(max(at_ms, self.now_ms + (at_ms < self.now_ms)), end_ms))
            self.act()

    def act(self) -> None:
        """Let the actors act until none has anything to do at this time."""
        for _ in range(_MAX_TURNS):
            if sum([actor.act() for actor in self.actors]) == 0:
                return
        raise AssertionError(f"the clients do not come to rest at {self.now_ms} ms")
