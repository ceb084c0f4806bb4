"""State faults of broker processes: pauses, crashes, and restarts one after the other.

Theory   Each calls the doors that a user could call by hand (cluster/lives.py), at the right times.
Units    milliseconds, on the broker's clock.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.cluster.lives import KILLED, PAUSED, RUNNING, STOPPED, STOPPING
from fakebroker.cluster.members import Members
from fakebroker.core.faults.presets import GcPause, RollingRestart, UncleanShutdown
from fakebroker.core.journal.broker_events import (
    BrokerKilled,
    BrokerResumed,
    BrokerStarted,
    BrokerStopped,
    BrokerUnfenced,
)
from fakebroker.core.journal.events import Event, IsrChanged, LeaderChanged, ReplicasChanged, TopicDeleted

# After these a broker may be back.
_CHANGES: Final = (
    BrokerKilled,
    BrokerResumed,
    BrokerStarted,
    BrokerStopped,
    BrokerUnfenced,
    IsrChanged,
    LeaderChanged,
    ReplicasChanged,
    TopicDeleted,
)


class _ProcessFault(StateFault):
    """A state fault that goes on whenever a broker may be back."""

    def _listen(self) -> None:
        self._members.probe.listen(self._hear, *_CHANGES)

    def stop_listening(self) -> None:
        self._members.probe.leave(self._hear)

    def _hear(self, event: Event, subject: object) -> None:
        self._wake()


@final
class StandStill(StateFault):
    """The preset `gc_pause`: over once the broker is resumed, or dead."""

    preset: GcPause

    def check(self) -> None:
        self._check_broker(self.preset.broker, RUNNING)

    def begin(self) -> None:
        broker_id, lives = self.preset.broker, self._lives
        lives.pause_broker(broker_id, self._clock.now)
        self._pause = lives.pauses_of(broker_id)
        self._acted()
        self._engine.after(self.preset.ms, self._wake)

    def go_on(self) -> None:
        if not self.is_over:
            self.undo()
            self.is_done = True
            self.finish("the pause is over")

    def undo(self) -> None:
        broker_id, lives = self.preset.broker, self._lives
        if lives.state_of(broker_id) == PAUSED and lives.pauses_of(broker_id) == self._pause:
            lives.resume_broker(broker_id, self._clock.now)


@final
class Crash(_ProcessFault):
    """The preset `unclean_shutdown`: over once the broker is back."""

    preset: UncleanShutdown

    def check(self) -> None:
        self._check_broker(self.preset.broker, RUNNING, PAUSED, STOPPING)

    def begin(self) -> None:
        broker_id, lives = self.preset.broker, self._lives
        lives.kill_broker(broker_id, self._clock.now)
        self._acted()
        self._listen()
        lives.start_broker(broker_id, self._clock.now)
        self._wake()

    def go_on(self) -> None:
        broker_id, lives = self.preset.broker, self._lives
        if not self.is_over and lives.state_of(broker_id) == RUNNING and self._members.registry.is_alive(broker_id):
            self.is_done = True
            self.finish("the broker is back")

    def undo(self) -> None:
        """Do nothing: the crash cannot be undone, and the broker starts as planned."""


@final
class Restarts(_ProcessFault):
    """The preset `rolling_restart`: over once the last broker is back. A broker that cannot be stopped at its turn is
    left out. If the preset is removed, the broker at its turn keeps its state, but is started if it is down."""

    preset: RollingRestart

    def check(self) -> None:
        for broker_id in self._members.registry.broker_ids:
            self._check_broker(broker_id, RUNNING)
            if self._members.registry[broker_id].isolations:
                raise ValueError(
                    f"'rolling_restart' needs controlled shutdowns: broker {broker_id} does not reach the controller"
                )

    def begin(self) -> None:
        self._left = deque(self._members.registry.broker_ids)
        self._broker_id = -1  # the broker at its turn
        self._is_up_ms: int | None = None  # time to start it, once it is down
        self._listen()
        self._wake()

    def go_on(self) -> None:
        while not self.is_over and self._step():
            pass

    def _step(self) -> bool:
        """Do the next step. Return True if there may be another one now."""
        lives = self._lives
        if self._broker_id == -1:
            return self._next()
        state = lives.state_of(self._broker_id)
        if state in (STOPPED, KILLED):
            now_ms = self._clock.now.mono_ms
            if self._is_up_ms is None:
                self._is_up_ms = now_ms + self.preset.down_ms
                self._engine.after(self.preset.down_ms, self._wake)
            if now_ms >= self._is_up_ms:
                lives.start_broker(self._broker_id, self._clock.now)
                return lives.state_of(self._broker_id) == RUNNING
            return False
        if state == RUNNING and self._is_up_ms is not None and is_back(self._members, self._broker_id):
            self._broker_id = -1
            self._acted()
            return True
        return False

    def _next(self) -> bool:
        lives = self._lives
        if not self._left:
            self.is_done = True
            self.finish("all brokers are back")
            return False
        broker_id = self._left.popleft()
        if lives.state_of(broker_id) == PAUSED or self._members.registry[broker_id].isolations:
            return True
        self._broker_id, self._is_up_ms = broker_id, None
        lives.stop_broker(broker_id, self._clock.now)
        return True

    def undo(self) -> None:
        lives = self._lives
        if self._is_up_ms is not None and lives.state_of(self._broker_id) in (STOPPED, KILLED):
            lives.start_broker(self._broker_id, self._clock.now)


def is_back(members: Members, broker_id: int) -> bool:
    """Return True if the broker is registered and unfenced, and in the ISRs of all its replicas."""
    if not members.registry.is_alive(broker_id):
        return False
    return all(
        broker_id in partition.isr for partition in members.metadata.partitions() if broker_id in partition.replicas
    )
