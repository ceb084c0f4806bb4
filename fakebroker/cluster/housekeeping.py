"""What brokers and controller do from time to time on their own.

Units    intervals are monotonic milliseconds; what is old is decided by wall time.
Source   "isr-expiration" of core/.../server/ReplicaManager.scala; "kafka-log-retention" of LogManager and
         "PeriodicProducerExpirationCheck" of UnifiedLog, storage/.../log/; maybeBalancePartitionLeaders and
         maybeElectUncleanLeaders of metadata/.../controller/ReplicationControlManager.java; CleanerThread of
         core/.../log/LogCleaner.scala @ 4.0.
Differs  One task for all brokers and logs; in Kafka each log checks its producers on its own.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.clock import Now
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.controller import Controller
from fakebroker.core.log.retention import start_by_size, start_by_time
from fakebroker.core.purgatory.periodic_task import PeriodicTask
from fakebroker.core.replication.compaction import LogCleaner
from fakebroker.core.replication.partition import NO_LEADER, Partition
from timingwheel import SystemTimer


def start_housekeeping(
    timer: SystemTimer,
    configs: DynamicBrokerConfig,
    controller: Controller,
    cleaner: LogCleaner,
    read_now: Callable[[], Now],
) -> None:
    """Schedule the tasks; they go on as long as the timer does."""

    def delete_old_records(now: Now) -> None:
        for partition in controller.metadata.partitions():
            delete_old_records_of(partition, now.wall_ms)

    def remove_expired_producers(now: Now) -> None:
        for partition in controller.metadata.partitions():
            for broker_id, replica in partition.replicas.items():
                config = configs.of(broker_id)
                replica.log.producer_state.remove_expired_producers(now.wall_ms, config.producer_id_expiration_ms)

    def every(interval_ms: int, action: Callable[[Now], None], delay_ms: int | None = None) -> None:
        PeriodicTask(interval_ms if delay_ms is None else delay_ms, interval_ms, action, timer, read_now)

    config, leadership = configs.current, controller.leadership
    every(max(config.replica_lag_time_max_ms // 2, 1), leadership.maybe_shrink_isrs)
    if config.auto_leader_rebalance_enable:
        every(config.leader_imbalance_check_interval_seconds * 1000, leadership.balance_leaders)
    every(config.unclean_leader_election_interval_ms, leadership.maybe_elect_unclean_leaders)
    every(config.log_retention_check_interval_ms, delete_old_records, config.log_initial_task_delay_ms)
    every(config.producer_id_expiration_check_interval_ms, remove_expired_producers)
    if config.log_cleaner_enable:
        # A thread that finds nothing to do sleeps so long; with 0 it would never do anything else.
        every(max(config.log_cleaner_backoff_ms, 1), lambda now: cleaner.look(controller.metadata.partitions(), now))


def delete_old_records_of(partition: Partition, now_wall_ms: int) -> None:
    """UnifiedLog.deleteOldSegments: by retention.bytes, then by retention.ms. Compacted topics keep theirs."""
    config = partition.config
    if "delete" not in config.cleanup_policy or partition.leader_id == NO_LEADER:
        return
    if config.retention_bytes >= 0:
        partition.delete_records_before(start_by_size(partition.leader_log, config.retention_bytes))
    if config.retention_ms >= 0:
        partition.delete_records_before(start_by_time(partition.leader_log, config.retention_ms, now_wall_ms))
