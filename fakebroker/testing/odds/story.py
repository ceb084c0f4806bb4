"""What happened in a trial, as lines: failures, leaders, and in the end which records were lost.

Units    the time of a line is hours, minutes, seconds and milliseconds since the trial began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.core.probe import Listener
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.testing.simulation import Simulation

MOST_LOST: Final = 10  # that are told one by one


class Story(Listener):
    """`lines`, in order."""

    def __init__(self, simulation: Simulation) -> None:
        self.lines: list[str] = []
        self._simulation = simulation
        simulation.cluster.probe.listeners.append(self)

    def tell(self, what: str) -> None:
        self.lines.append(f"{clock(self._simulation.elapsed_ms)} {what}")

    def lost(self, records: Sequence[tuple[int, int, int, int]]) -> None:
        """Of each its number, partition, offset, and when it was acknowledged."""
        for number, partition, offset, at_ms in records[:MOST_LOST]:
            where = (
                f"as offset {offset} of partition {partition}" if offset >= 0 else f"to partition {partition}, as sent"
            )
            self.lines.append(f"{clock(at_ms)} record {number} is acknowledged {where}, and is lost")
        if len(records) > MOST_LOST:
            self.lines.append(f"and {len(records) - MOST_LOST:,} records more are lost")

    def leader_changed(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        isr: Sequence[int],
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        partition = topic_partition.partition
        if leader_id < 0:
            self.tell(f"partition {partition}: nobody leads")
        else:
            in_sync = ", ".join(map(str, isr))
            self.tell(f"partition {partition}: broker {leader_id} leads from offset {log_end_offset} on, ISR {in_sync}")

    def isr_changed(self, topic_partition: TopicPartition, leader_epoch: int, isr: Sequence[int]) -> None:
        self.tell(f"partition {topic_partition.partition}: ISR {', '.join(map(str, isr))}")


def clock(ms: int) -> str:
    seconds, ms = divmod(ms, 1_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}.{ms:03}"
