"""A simulated cluster among clients that act by themselves, and what may happen to it.

Theory   Whoever acts is asked to whenever anything may have changed: `act` says whether there was anything to do,
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
    """A client."""

    def act(self) -> bool:
        """Take what was answered, and ask what is due; whether there was anything."""

    def next_wake_ms(self) -> int | None:
        """When it next has something to do by itself."""


class World:
    """Faults and time. Those who act are `actors`."""

    simulation: Simulation

    @property
    def actors(self) -> Sequence[Actor]:
        raise NotImplementedError

    @property
    def now_ms(self) -> int:
        return self.simulation.elapsed_ms

    def stop(self, broker: int) -> None:
        if self.simulation.cluster.is_running(broker):
            self.simulation.stop(broker)
            self.act()

    def kill(self, broker: int) -> None:
        """Its process is dead; the controller learns of it when its session ends."""
        if self.simulation.cluster.is_running(broker):
            self.simulation.kill(broker)
            self.act()

    def start(self, broker: int) -> None:
        if not self.simulation.cluster.is_running(broker):
            self.simulation.start(broker)
            self.act()

    def followers(self, behaviour: str, topic: str | None = None, broker: int | None = None) -> None:
        with suppress(KafkaError):  # nobody follows there
            self.simulation.followers(behaviour, topic, None, broker)
        self.act()

    def move(self, topic: str, partition: int, which: int) -> None:
        """To one of those in sync; whoever leads a coordinator's log coordinates."""
        if self.simulation.cluster.metadata.topic(topic) is None:
            return
        found = self.simulation.partition(topic, partition)
        if found.leader_id >= 0:
            in_sync = sorted(found.isr)
            with suppress(KafkaError):
                self.simulation.move_leader(in_sync[which % len(in_sync)], topic, partition)
        self.act()

    def advance(self, ms: int) -> None:
        """Everybody acts whenever there is something to do."""
        end_ms = self.now_ms + ms
        self.act()
        while self.now_ms < end_ms:
            times = [self.simulation.next_event_ms(), *(actor.next_wake_ms() for actor in self.actors)]
            at_ms = min([each for each in times if each is not None], default=end_ms)
            self.simulation.run_until(min(max(at_ms, self.now_ms + (at_ms < self.now_ms)), end_ms))
            self.act()

    def act(self) -> None:
        """Until nobody has anything to do at this time."""
        for _ in range(_MAX_TURNS):
            if sum([actor.act() for actor in self.actors]) == 0:
                return
        raise AssertionError(f"the clients never come to rest at {self.now_ms} ms")
