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
        doc="a producer that was idle for so long is forgotten",
    )
    producer_id_expiration_check_interval_ms = Setting(
        INT, 600_000, at_least(1), by="cluster/housekeeping", doc="how often idle producers are looked for"
    )
    transaction_state_log_min_isr = Setting(
        INT, 2, at_least(1), by="core/controller/auto_creation", doc="min.insync.replicas of __transaction_state"
    )
    transaction_state_log_load_buffer_size = Setting(
        INT, 5_242_880, at_least(1), doc="what is read at once when transactions are loaded, in bytes"
    )
    transaction_state_log_replication_factor = Setting(
        SHORT,
        0,
        at_least(0),
        by="core/controller/auto_creation",
        doc="of __transaction_state; 0 gives min(3, brokers), Kafka's default is 3",
    )
    transaction_state_log_num_partitions = Setting(
        INT, 50, at_least(1), by="core/controller/auto_creation", doc="of __transaction_state"
    )
    transaction_state_log_segment_bytes = Setting(
        INT, 104_857_600, at_least(1), by="core/controller/auto_creation", doc="of __transaction_state"
    )
    transaction_partition_verification_enable = Setting(
        BOOLEAN,
        True,
        mode=CLUSTER_WIDE,
        by="core/transactions/service",
        doc="a partition asks whether it belongs to the transaction before it takes records of it",
    )
    transactional_id_expiration_ms = Setting(
        INT,
        604_800_000,
        at_least(1),
        by="core/transactions/service",
        doc="a transactional id that was not used for so long is forgotten",
    )
    transaction_max_timeout_ms = Setting(
        INT, 900_000, at_least(1), by="core/transactions/service", doc="the longest timeout that a producer may ask for"
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms = Setting(
        INT, 10_000, at_least(1), by="core/transactions/service", doc="how often overdue transactions are looked for"
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = Setting(
        INT, 3_600_000, at_least(1), by="core/transactions/service", doc="how often forgotten ids are looked for"
    )
    transaction_two_phase_commit_enable = Setting(
        BOOLEAN, False, doc="transactions that only another system ends (KIP-939)"
    )
    add_partitions_to_txn_retry_backoff_max_ms = Setting(
        INT,
        100,
        at_least(0),
        by="apis/produce/verification",
        doc="how long a broker tries again to add a partition to a transaction",
    )
    add_partitions_to_txn_retry_backoff_ms = Setting(
        INT, 20, at_least(1), by="apis/produce/verification", doc="how long it pauses in between"
    )
