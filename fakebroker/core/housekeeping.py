"""What a broker does from time to time on its own: delete old records, forget idle producers.

Units    intervals are monotonic milliseconds; what is old is decided by wall time.
Source   storage/internals/log/{LogManager,UnifiedLog}.java @ 4.0: "kafka-log-retention",
         "PeriodicProducerExpirationCheck".
Differs  One task for all logs; in Kafka each log checks its producers on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fakebroker.core.clock import Now
from fakebroker.core.config import ClusterConfig
from fakebroker.core.partition import Partition
from timingwheel import SystemTimer, TimerTask


class _PeriodicTask(TimerTask):
    __slots__ = ("_action", "_interval_ms", "_now", "_timer")

    def __init__(
        self,
        delay_ms: int,
        interval_ms: int,
        action: Callable[[int], None],
        timer: SystemTimer,
        now: Callable[[], Now],
    ) -> None:
        super().__init__(delay_ms)
        self._interval_ms = interval_ms
        self._action = action
        self._timer = timer
        self._now = now
        timer.add(self, now().mono_ms)

    def run(self) -> None:
        now = self._now()
        self.delay_ms = self._interval_ms
        self._timer.add(self, now.mono_ms)
        self._action(now.wall_ms)


def start_housekeeping(
    timer: SystemTimer, config: ClusterConfig, partitions: Callable[[], Iterable[Partition]], now: Callable[[], Now]
) -> None:
    """Schedule the tasks; they go on as long as the timer does."""

    def delete_old_records(now_wall_ms: int) -> None:
        for partition in partitions():
            partition.delete_old_records(now_wall_ms)

    def remove_expired_producers(now_wall_ms: int) -> None:
        for partition in partitions():
            partition.remove_expired_producers(now_wall_ms, config.producer_id_expiration_ms)

    _PeriodicTask(
        config.log_initial_task_delay_ms, config.log_retention_check_interval_ms, delete_old_records, timer, now
    )
    interval_ms = config.producer_id_expiration_check_interval_ms
    _PeriodicTask(interval_ms, interval_ms, remove_expired_producers, timer, now)
