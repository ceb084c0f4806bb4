"""Settings of brokers: producers and transactions.

Source   TransactionLogConfig.java, TransactionStateManagerConfig.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import BOOLEAN, INT, SHORT, at_least
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting


class TransactionConfigs:
    """Expiration of producers, and the storage of transactions."""

    producer_id_expiration_ms = Setting(
        INT,
        86_400_000,
        at_least(1),
        mode=CLUSTER_WIDE,
        by="cluster/housekeeping",
        doc="idle time after which the state of a producer is removed",
    )
    producer_id_expiration_check_interval_ms = Setting(
        INT, 600_000, at_least(1), by="cluster/housekeeping", doc="interval of the check for idle producers"
    )
    transaction_state_log_min_isr = Setting(
        INT, 2, at_least(1), by="core/controller/auto_creation", doc="min.insync.replicas of __transaction_state"
    )
    transaction_state_log_load_buffer_size = Setting(
        INT, 5_242_880, at_least(1), doc="bytes of a read when transactions are loaded"
    )
    transaction_state_log_replication_factor = Setting(
        SHORT,
        0,
        at_least(0),
        by="core/controller/auto_creation",
        doc="replicas of __transaction_state; 0 is min(3, brokers), Kafka's default is 3",
    )
    transaction_state_log_num_partitions = Setting(
        INT, 50, at_least(1), by="core/controller/auto_creation", doc="partitions of __transaction_state"
    )
    transaction_state_log_segment_bytes = Setting(
        INT, 104_857_600, at_least(1), by="core/controller/auto_creation", doc="segment size of __transaction_state"
    )
    transaction_partition_verification_enable = Setting(
        BOOLEAN,
        True,
        mode=CLUSTER_WIDE,
        by="core/transactions/service",
        doc="whether a partition asks the coordinator before it takes transactional records",
    )
    transactional_id_expiration_ms = Setting(
        INT,
        604_800_000,
        at_least(1),
        by="core/transactions/service",
        doc="idle time after which a transactional id expires",
    )
    transaction_max_timeout_ms = Setting(
        INT,
        900_000,
        at_least(1),
        by="core/transactions/service",
        doc="longest transaction timeout that a producer may request",
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms = Setting(
        INT, 10_000, at_least(1), by="core/transactions/service", doc="interval of the check for timed-out transactions"
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = Setting(
        INT,
        3_600_000,
        at_least(1),
        by="core/transactions/service",
        doc="interval of the check for expired transactional ids",
    )
    transaction_two_phase_commit_enable = Setting(
        BOOLEAN, False, doc="whether only an external system may end a transaction (KIP-939)"
    )
    add_partitions_to_txn_retry_backoff_max_ms = Setting(
        INT,
        100,
        at_least(0),
        by="apis/produce/verification",
        doc="longest time for which adding a partition to a transaction is retried",
    )
    add_partitions_to_txn_retry_backoff_ms = Setting(
        INT,
        20,
        at_least(1),
        by="apis/produce/verification",
        doc="pause between two tries to add a partition to a transaction",
    )
