"""Periodic tasks of brokers and controller.

Units    intervals are monotonic milliseconds; ages of records are wall time.
Source   "isr-expiration" of core/.../server/ReplicaManager.scala; "kafka-log-retention" of LogManager and
         "PeriodicProducerExpirationCheck" of UnifiedLog, storage/.../log/; maybeBalancePartitionLeaders and
         maybeElectUncleanLeaders of metadata/.../controller/ReplicationControlManager.java; CleanerThread of
         core/.../log/LogCleaner.scala @ 4.0; maybeExpireDelegationTokens of metadata/.../QuorumController.java @ 4.4.
Differs  One task for all brokers and logs; in Kafka each log checks its producers on its own. With very many partitions
         a task is done in slices, as an event of the controller.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.cluster.members import Members
from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.log.retention import oldest_timestamp_kept_ms, start_by_size, start_by_time
from fakebroker.core.purgatory.housekeeping import PeriodicTask
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.slices import Slices

Action = Callable[[Callable[[], Now]], Slices[None]]
MattersMs = Callable[[Now], int]


def start_housekeeping(members: Members) -> None:
    """Schedule the tasks; they run as long as the timer does. Each `..._matters_ms` returns when its task next has
    anything to do if nothing happens until then."""
    configs, controller, cleaner = members.broker_configs, members.controller, members.log_cleaner
    read_now = members.clock.read_now

    def delete_old_records(now: Callable[[], Now]) -> Slices[None]:
        return controller.metadata.each_partition(lambda partition: delete_old_records_of(partition, now().wall_ms))

    def old_records_matter_ms(now: Now) -> int:
        return min(
            (old_records_of_matter_ms(partition, now) for partition in controller.metadata.partitions()),
            default=NEVER_MS,
        )

    def remove_expired_producers(now: Callable[[], Now]) -> Slices[None]:
        def remove(partition: Partition) -> None:
            for broker_id, replica in partition.replicas.items():
                config = configs.of(broker_id)
                replica.log.producer_state.remove_expired_producers(now().wall_ms, config.producer_id_expiration_ms)

        return controller.metadata.each_partition(remove)

    def producers_matter_ms(now: Now) -> int:
        soonest_ms: int | None = None
        for partition in controller.metadata.partitions():
            for broker_id, replica in partition.replicas.items():
                written_ms = replica.log.producer_state.oldest_timestamp_ms()
                if written_ms is not None:
                    expires_ms = written_ms + configs.of(broker_id).producer_id_expiration_ms
                    soonest_ms = expires_ms if soonest_ms is None else min(expires_ms, soonest_ms)
        return NEVER_MS if soonest_ms is None else now.mono_at(soonest_ms)

    def every(
        interval_ms: int, action: Callable[[Now], None], matters_ms: MattersMs, delay_ms: int | None = None
    ) -> None:
        first_ms = interval_ms if delay_ms is None else delay_ms
        PeriodicTask(first_ms, interval_ms, action, matters_ms, members.housekeeping, read_now)

    def in_slices(interval_ms: int, action: Action, matters_ms: MattersMs, delay_ms: int | None = None) -> None:
        def act(now: Now) -> None:
            members.events.handle("a timer's task", action(read_now))

        every(interval_ms, act, matters_ms, delay_ms)

    config, leadership = configs.current, controller.leadership
    in_slices(max(config.replica_lag_time_max_ms // 2, 1), leadership.maybe_shrink_isrs, leadership.isrs_matter_ms)
    if config.auto_leader_rebalance_enable:
        interval_ms = config.leader_imbalance_check_interval_seconds * 1000
        in_slices(interval_ms, leadership.balance_leaders, leadership.balance_matters_ms)
    in_slices(
        config.unclean_leader_election_interval_ms,
        leadership.maybe_elect_unclean_leaders,
        leadership.unclean_elections_matter_ms,
    )
    in_slices(
        config.log_retention_check_interval_ms,
        delete_old_records,
        old_records_matter_ms,
        config.log_initial_task_delay_ms,
    )
    in_slices(config.producer_id_expiration_check_interval_ms, remove_expired_producers, producers_matter_ms)
    tokens = controller.delegation_tokens
    if tokens.is_enabled:
        every(
            config.delegation_token_expiry_check_interval_ms,
            lambda now: tokens.sweep_expired(now.wall_ms),
            lambda now: now.mono_at(tokens.next_expiry_ms()),
        )
    if config.log_cleaner_enable:
        every(
            # Kafka's cleaner sleeps this long if it finds nothing to do. With 0 the task would run without end.
            max(config.log_cleaner_backoff_ms, 1),
            lambda now: cleaner.look(controller.metadata.partitions(), now),
            lambda now: cleaner.matters_ms(controller.metadata.partitions(), now),
        )


def old_records_of_matter_ms(partition: Partition, now: Now) -> int:
    """Return when `delete_old_records_of` next has anything to do, if nothing happens until then."""
    config = partition.config
    if "delete" not in config.cleanup_policy or partition.leader_id == NO_LEADER:
        return NEVER_MS
    log = partition.leader_log
    if not log.size_in_bytes:
        return NEVER_MS
    start = log.log_start_offset
    if config.retention_bytes >= 0 and start_by_size(log, config.retention_bytes) > start:
        return now.mono_ms
    if config.retention_ms < 0:
        return NEVER_MS
    if start_by_time(log, config.retention_ms, now.wall_ms) > start:
        return now.mono_ms
    kept_ms = oldest_timestamp_kept_ms(log, config.retention_ms, now.wall_ms)
    return NEVER_MS if kept_ms is None else now.mono_at(kept_ms + config.retention_ms + 1)


def delete_old_records_of(partition: Partition, now_wall_ms: int) -> None:
    """UnifiedLog.deleteOldSegments: by retention.bytes, then by retention.ms. Compacted topics keep theirs."""
    config = partition.config
    if "delete" not in config.cleanup_policy or partition.leader_id == NO_LEADER:
        return
    if config.retention_bytes >= 0:
        partition.delete_records_before(start_by_size(partition.leader_log, config.retention_bytes))
    if config.retention_ms >= 0:
        partition.delete_records_before(start_by_time(partition.leader_log, config.retention_ms, now_wall_ms))
