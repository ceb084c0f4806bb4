"""The state faults of a cluster: started, counted and removed."""

from __future__ import annotations

from typing import Final, final

from fakebroker.cluster.arising.between import CutOff
from fakebroker.cluster.arising.disks import NoSpace, SlowWrites
from fakebroker.cluster.arising.processes import Crash, Restarts, StandStill
from fakebroker.cluster.arising.state_fault import Engine, StateFault
from fakebroker.cluster.lives import Lives
from fakebroker.cluster.members import Members
from fakebroker.core.faults.presets import (
    FullDisk,
    GcPause,
    NetworkPartition,
    Preset,
    RollingRestart,
    SlowDisk,
    UncleanShutdown,
)
from fakebroker.core.journal.fault_events import FaultAdded

_MADE_OF: Final[dict[type[Preset], type[StateFault]]] = {
    FullDisk: NoSpace,
    GcPause: StandStill,
    NetworkPartition: CutOff,
    RollingRestart: Restarts,
    SlowDisk: SlowWrites,
    UncleanShutdown: Crash,
}


@final
class StateFaults:
    """The state faults of a cluster. `arisen` lists all there ever were, in order. The caller then runs the plans that
    are due."""

    def __init__(self, members: Members, lives: Lives, engine: Engine) -> None:
        self.arisen: list[StateFault] = []
        self._members = members
        self._lives = lives
        self._engine = engine

    def arise(self, preset: Preset) -> StateFault:
        """Start a state fault. If it is impossible, raise ValueError and change nothing."""
        arisen = _MADE_OF[type(preset)](self._members, self._lives, self._engine, f"a{len(self.arisen) + 1}", preset)
        arisen.check()
        self.arisen.append(arisen)
        probe = self._members.probe
        if probe.listeners:
            probe.tell(FaultAdded(*probe.times, arisen.name, str(preset)))
        arisen.begin()
        return arisen

    def remove(self, arisen: StateFault) -> None:
        """Undo a state fault where possible; do nothing if it is over."""
        if not arisen.is_over:
            arisen.finish("removed")  # first, so that undoing does not continue it
            arisen.undo()
