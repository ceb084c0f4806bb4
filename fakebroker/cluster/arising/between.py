"""Network partitions between brokers.

Theory   A follower that is cut off from its leader cannot fetch. It leaves the ISR after replica.lag.time.max.ms, if
         the leader reaches the controller. Transaction markers and requests of coordinators do not cross the cut
         either. A broker that is cut off from the controller loses its session after broker.session.timeout.ms; then
         others lead. Clients reach all brokers as before.
Source   The effects are in cluster/lives.py `cut`, core/controller/cluster_control.py and core/replication/isr.py.
"""

from __future__ import annotations

from typing import final

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.faults.presets import NetworkPartition


@final
class CutOff(StateFault):
    """The preset `partition`: it lasts until it is removed."""

    preset: NetworkPartition

    def check(self) -> None:
        for broker_id in (*self.preset.a, *self.preset.b):
            self._lives.state_of(broker_id)

    def begin(self) -> None:
        preset, lives = self.preset, self._lives
        lives.cut(preset.a, preset.b, preset.without_controller, self._clock.now)
        self._acted()
        self._done()

    def undo(self) -> None:
        preset, lives = self.preset, self._lives
        lives.join(preset.a, preset.b, preset.without_controller, self._clock.now)
