"""Brokers with a full or a slow disk.

Theory   Full: the first write that fails takes the log directory offline, and a broker without online directories
         halts. All directories of a broker are on one disk here. The request that wanted the write gets
         KAFKA_STORAGE_ERROR (56), or the error that its coordinator makes of that. If a follower's fetch hits the full
         disk, its broker halts without a response to anyone. High watermarks are written periodically, so a broker with
         a full disk soon halts in any case.
         Slow: a request that writes waits for the disk before it completes, as the appending thread does. The broker's
         followers have each record that much later.
Units    milliseconds, on the broker's clock.
Source   core/.../server/ReplicaManager.scala LogDirFailureHandler, handleLogDirFailure, checkpointHighWatermarks;
         core/.../log/LogManager.scala handleLogDirFailure; storage/.../log/LogDirFailureChannel.java @ 4.0.
Differs  In Kafka the response 56 and the halt race; here the response goes out first. The metadata log, which is
         usually on the same disk, may halt Kafka's broker sooner. A slow disk delays whole requests here, once each,
         however many threads and partitions there are.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.cluster.faults.waiting import Alarm
from fakebroker.cluster.lives import RUNNING, STOPPING
from fakebroker.core.faults.actions import Delay
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import FullDisk, SlowDisk
from fakebroker.core.faults.times import every_time

# APIs that write before they respond. JoinGroup and heartbeats are left out: their response waits for other things.
WRITES: Final = (
    "Produce", "OffsetCommit", "OffsetDelete", "DeleteGroups", "TxnOffsetCommit", "WriteTxnMarkers", "InitProducerId",
    "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn",
)  # fmt: skip


@final
class NoSpace(StateFault):
    """The preset `full_disk`: done once the broker has halted; it lasts until it is removed."""

    preset: FullDisk

    def check(self) -> None:
        self._lives.state_of(self.preset.broker)
        if self._members.registry[self.preset.broker].on_disk_full is not None:
            raise ValueError(f"the disk of broker {self.preset.broker} is full already")

    def begin(self) -> None:
        self._members.registry[self.preset.broker].on_disk_full = self._wake
        self._await_checkpoint()

    def _await_checkpoint(self) -> None:
        members = self._members
        alarm = Alarm(members.config.replica_high_watermark_checkpoint_interval_ms, self._checkpoint)
        members.housekeeping.timer.add(alarm, self._clock.now.mono_ms)  # no client waits for this timer

    def _checkpoint(self) -> None:
        if not self.is_over:
            self._wake()
            self._await_checkpoint()

    def go_on(self) -> None:
        broker_id, lives = self.preset.broker, self._lives
        if not self.is_over and lives.state_of(broker_id) in (RUNNING, STOPPING):
            lives.kill_broker(broker_id, self._clock.now)
            self.is_done = True
            self._acted()

    def undo(self) -> None:
        self._members.registry[self.preset.broker].on_disk_full = None


@final
class SlowWrites(StateFault):
    """The preset `slow_disk`: it lasts until it is removed."""

    preset: SlowDisk

    def check(self) -> None:
        self._lives.state_of(self.preset.broker)
        if self._members.registry[self.preset.broker].disk_write_ms:
            raise ValueError(f"the disk of broker {self.preset.broker} is slow already")

    def begin(self) -> None:
        broker_id, ms = self.preset.broker, self.preset.ms
        self._members.registry[broker_id].disk_write_ms = ms
        when = {"api": list(WRITES), "broker": broker_id}
        self._armed = self._engine.add(Fault(when, Delay(ms), every_time))
        self._acted()
        self._done()

    def undo(self) -> None:
        self._members.registry[self.preset.broker].disk_write_ms = 0
        self._engine.remove(self._armed)
