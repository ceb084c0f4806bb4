"""The faults of a cluster that arise: made, told of, taken back."""

from __future__ import annotations

from typing import Final, final

from fakebroker.cluster.arising.arisen import Arisen, Engine
from fakebroker.cluster.arising.between import CutOff
from fakebroker.cluster.arising.disks import NoSpace, SlowWrites
from fakebroker.cluster.arising.processes import Crash, Restarts, StandStill
from fakebroker.cluster.lives import Lives
from fakebroker.core.faults.presets import (
    FullDisk,
    GcPause,
    Partition,
    Preset,
    RollingRestart,
    SlowDisk,
    UncleanShutdown,
)

_MADE_OF: Final[dict[type[Preset], type[Arisen]]] = {
    FullDisk: NoSpace,
    GcPause: StandStill,
    Partition: CutOff,
    RollingRestart: Restarts,
    SlowDisk: SlowWrites,
    UncleanShutdown: Crash,
}


@final
class Arising:
    """`arisen` are all that there were, in order. Who calls lets what is due go on then."""

    def __init__(self, lives: Lives, engine: Engine) -> None:
        self.arisen: list[Arisen] = []
        self._lives = lives
        self._engine = engine

    def arise(self, preset: Preset) -> Arisen:
        """Let it arise. Raises ValueError if it cannot, and nothing is changed then."""
        arisen = _MADE_OF[type(preset)](self._lives, self._engine, f"a{len(self.arisen) + 1}", preset)
        arisen.check()
        self.arisen.append(arisen)
        for listener in self._lives.probe.listeners:
            listener.fault_added(arisen.name, str(preset))
        arisen.begin()
        return arisen

    def remove(self, arisen: Arisen) -> None:
        """Take it back, as far as it can be; nothing happens if it is over."""
        if not arisen.is_over:
            arisen.finish("removed")  # first: it does not go on with what is undone
            arisen.undo()
