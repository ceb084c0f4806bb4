"""Disks of brokers that are full, or slow.

Theory   Full: the first write that fails takes the log directory offline, and a broker whose last one goes offline
         halts. Its directories are taken to lie on one disk. Whoever wanted it written is answered KAFKA_STORAGE_ERROR
         (56), or what his coordinator makes of that; a follower's fetch is its broker's end without a word. High
         watermarks are written from time to time, so nobody lives long there.
         Slow: who has something written waits before it is done, as the thread does that appends it. A broker's
         followers have each record so much later.
Units    milliseconds, on the broker's clock.
Source   core/.../server/ReplicaManager.scala LogDirFailureHandler, handleLogDirFailure, checkpointHighWatermarks;
         core/.../log/LogManager.scala handleLogDirFailure; storage/.../log/LogDirFailureChannel.java @ 4.0.
Differs  In Kafka the answer 56 and the halt race; here the answer goes out first. The metadata log, which as a rule
         lies on the same disk, may kill Kafka's broker sooner. A slow disk holds up whole requests here, once each,
         however many threads and partitions there are.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.cluster.arising.arisen import Arisen
from fakebroker.cluster.faults.waiting import Alarm
from fakebroker.cluster.lives import RUNNING, STOPPING
from fakebroker.core.faults.actions import Delay
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import FullDisk, SlowDisk
from fakebroker.core.faults.times import every_time

# What is written before it is answered. Members that join and beat are left out: they wait for other things.
WRITES: Final = (
    "Produce", "OffsetCommit", "OffsetDelete", "DeleteGroups", "TxnOffsetCommit", "WriteTxnMarkers", "InitProducerId",
    "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn",
)  # fmt: skip


@final
class NoSpace(Arisen):
    """`full_disk`: done once the broker has died of it; it lasts until it is removed."""

    preset: FullDisk

    def check(self) -> None:
        self._lives.state_of(self.preset.broker)
        if self._lives.registry[self.preset.broker].on_disk_full is not None:
            raise ValueError(f"the disk of broker {self.preset.broker} is full already")

    def begin(self) -> None:
        self._lives.registry[self.preset.broker].on_disk_full = self._wake
        self._await_checkpoint()

    def _await_checkpoint(self) -> None:
        lives = self._lives
        alarm = Alarm(lives.config.replica_high_watermark_checkpoint_interval_ms, self._checkpoint)
        lives.housekeeping.timer.add(alarm, lives.now.mono_ms)  # nobody waits for it

    def _checkpoint(self) -> None:
        if not self.is_over:
            self._wake()
            self._await_checkpoint()

    def go_on(self) -> None:
        broker_id, lives = self.preset.broker, self._lives
        if not self.is_over and lives.state_of(broker_id) in (RUNNING, STOPPING):
            lives.kill_broker(broker_id, lives.now)
            self.is_done = True
            self._acted()

    def undo(self) -> None:
        self._lives.registry[self.preset.broker].on_disk_full = None


@final
class SlowWrites(Arisen):
    """`slow_disk`: it lasts until it is removed."""

    preset: SlowDisk

    def check(self) -> None:
        self._lives.state_of(self.preset.broker)
        if self._lives.registry[self.preset.broker].disk_write_ms:
            raise ValueError(f"the disk of broker {self.preset.broker} is slow already")

    def begin(self) -> None:
        broker_id, ms = self.preset.broker, self.preset.ms
        self._lives.registry[broker_id].disk_write_ms = ms
        when = {"api": list(WRITES), "broker": broker_id}
        self._armed = self._engine.add(Fault(when, Delay(ms), every_time))
        self._acted()
        self._done()

    def undo(self) -> None:
        self._lives.registry[self.preset.broker].disk_write_ms = 0
        self._engine.remove(self._armed)
