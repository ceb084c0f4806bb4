"""What lies between brokers: a network that does not carry from some to others.

Theory   Who is cut off from a leader cannot fetch from it, and leaves its ISR after replica.lag.time.max.ms, if the
         leader can ask the controller for that. Nor do marks of transactions and questions about them get across. Who
         is cut off from the controller loses its session after broker.session.timeout.ms: others lead then. Clients
         reach everybody as before.
Source   What follows is in cluster/lives.py `cut`, core/controller/cluster_control.py and core/replication/isr.py.
"""

from __future__ import annotations

from typing import final

from fakebroker.cluster.arising.arisen import Arisen
from fakebroker.core.faults.presets import Partition


@final
class CutOff(Arisen):
    """`partition`: it lasts until it is removed."""

    preset: Partition

    def check(self) -> None:
        for broker_id in (*self.preset.a, *self.preset.b):
            self._lives.state_of(broker_id)

    def begin(self) -> None:
        preset, lives = self.preset, self._lives
        lives.cut(preset.a, preset.b, preset.without_controller, lives.now)
        self._acted()
        self._done()

    def undo(self) -> None:
        preset, lives = self.preset, self._lives
        lives.join(preset.a, preset.b, preset.without_controller, lives.now)
