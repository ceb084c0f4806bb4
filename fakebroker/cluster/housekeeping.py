"""What a broker does from time to time on its own: delete old records, forget idle producers.

Units    intervals are monotonic milliseconds; what is old is decided by wall time.
Source   storage/internals/log/{LogManager,UnifiedLog}.java @ 4.0: "kafka-log-retention",
         "PeriodicProducerExpirationCheck".
Differs  One task for all logs; in Kafka each log checks its producers on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fakebroker.core.clock import Now
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.purgatory.periodic_task import PeriodicTask
from fakebroker.core.replication.partition import Partition
from timingwheel import SystemTimer


def start_housekeeping(
    timer: SystemTimer,
    configs: DynamicBrokerConfig,
    partitions: Callable[[], Iterable[Partition]],
    read_now: Callable[[], Now],
) -> None:
    """Schedule the tasks; they go on as long as the timer does."""

    def delete_old_records(now: Now) -> None:
        for partition in partitions():
            partition.delete_old_records(now.wall_ms)

    def remove_expired_producers(now: Now) -> None:
        for partition in partitions():
            partition.remove_expired_producers(now.wall_ms, configs.current.producer_id_expiration_ms)

    config = configs.current
    PeriodicTask(
        config.log_initial_task_delay_ms, config.log_retention_check_interval_ms, delete_old_records, timer, read_now
    )
    interval_ms = config.producer_id_expiration_check_interval_ms
    PeriodicTask(interval_ms, interval_ms, remove_expired_producers, timer, read_now)
