"""Settings of brokers: topics and their logs.

Source   ServerLogConfigs.java, CleanerConfig.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from sys import float_info

from fakebroker.core.config.broker_configs.helpers import default_of
from fakebroker.core.config.config_def import BOOLEAN, CLASS, DOUBLE, INT, LIST, LONG, at_least, some_of
from fakebroker.core.config.setting import (
    CLUSTER_WIDE,
    PER_BROKER,
    IntOrNone,
    Setting,
    Strings,
    StringsOrNone,
    StrOrNone,
)
from fakebroker.core.config.topic_config import TopicConfig

_MAX_LONG = 2**63 - 1
_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


class LogConfigs:
    """Creation of topics, retention of their logs, and cleaning."""

    num_partitions = Setting(
        INT,
        1,
        at_least(1),
        by="core/controller/placement",
        doc="partitions of a topic that is created without a number",
    )
    auto_create_topics_enable = Setting(
        BOOLEAN, True, by="apis/cluster/metadata", doc="whether a client's request for a topic creates it"
    )
    create_topic_policy_class_name = StrOrNone(CLASS, None, doc="class of a plugin that may refuse new topics")
    alter_config_policy_class_name = StrOrNone(CLASS, None, doc="class of a plugin that may refuse altered settings")
    delete_topic_enable = Setting(BOOLEAN, True, doc="whether topics may be deleted")
    log_dir = Strings(
        LIST,
        ("/tmp/kafka-logs",),
        some_of(),
        by="core/broker/log_dirs",
        doc="folder of the logs, if log.dirs is not set",
    )
    log_dirs = StringsOrNone(LIST, None, some_of(), by="core/broker/log_dirs", doc="folders of the logs")
    cordoned_log_dirs = Strings(
        LIST,
        (),
        some_of(may_be_empty=True),
        mode=PER_BROKER,
        by="apis/partitions/describe_log_dirs",
        doc="folders that should get no new logs: shown, without effect",
    )
    log_dir_failure_timeout_ms = Setting(
        LONG, 30_000, at_least(1), doc="time after which a broker ends if it could not report a failed folder"
    )
    message_max_bytes = default_of(TopicConfig.max_message_bytes)
    max_decompressed_message_bytes = default_of(TopicConfig.max_decompressed_message_bytes)
    compression_type = default_of(TopicConfig.compression_type)
    compression_gzip_level = default_of(TopicConfig.compression_gzip_level)
    compression_lz4_level = default_of(TopicConfig.compression_lz4_level)
    compression_zstd_level = default_of(TopicConfig.compression_zstd_level)
    log_segment_bytes = default_of(TopicConfig.segment_bytes)
    log_roll_ms = IntOrNone(
        LONG,
        None,
        mode=CLUSTER_WIDE,
        topic="segment.ms",
        by=TopicConfig.segment_ms.applied_by,
        doc="time after which a segment is closed (default: log.roll.hours)",
    )
    log_roll_hours = Setting(
        INT,
        168,
        at_least(1),
        topic="segment.ms",
        unit=_HOUR_MS,
        by=TopicConfig.segment_ms.applied_by,
        doc="time after which a segment is closed, in hours",
    )
    log_roll_jitter_ms = IntOrNone(
        LONG,
        None,
        mode=CLUSTER_WIDE,
        topic="segment.jitter.ms",
        doc="largest random part of log.roll.ms that is subtracted (default: log.roll.jitter.hours)",
    )
    log_roll_jitter_hours = Setting(
        INT,
        0,
        at_least(0),
        topic="segment.jitter.ms",
        unit=_HOUR_MS,
        doc="largest random part that is subtracted from the time of a roll, in hours",
    )
    log_retention_ms = IntOrNone(
        LONG,
        None,
        mode=CLUSTER_WIDE,
        topic="retention.ms",
        by="cluster/housekeeping",
        doc="age above which records are deleted; -1 keeps them (default: log.retention.minutes)",
    )
    log_retention_minutes = IntOrNone(
        INT,
        None,
        topic="retention.ms",
        by="cluster/housekeeping",
        unit=_MINUTE_MS,
        doc="age above which records are deleted, in minutes (default: log.retention.hours)",
    )
    log_retention_hours = Setting(
        INT,
        168,
        topic="retention.ms",
        by="cluster/housekeeping",
        unit=_HOUR_MS,
        doc="age above which records are deleted, in hours",
    )
    log_retention_bytes = default_of(TopicConfig.retention_bytes)
    log_retention_check_interval_ms = Setting(
        LONG, 300_000, at_least(1), by="cluster/housekeeping", doc="interval of the check for old records"
    )
    log_initial_task_delay_ms = Setting(
        LONG,
        30_000,
        at_least(0),
        by="cluster/housekeeping",
        doc="time from the start until the first check for old records",
    )
    log_cleanup_policy = default_of(TopicConfig.cleanup_policy)
    log_index_size_max_bytes = default_of(TopicConfig.segment_index_bytes)
    log_index_interval_bytes = default_of(TopicConfig.index_interval_bytes)
    log_flush_interval_messages = default_of(TopicConfig.flush_messages)
    log_flush_interval_ms = IntOrNone(
        LONG,
        None,
        mode=CLUSTER_WIDE,
        topic="flush.ms",
        doc="time until records are flushed (default: log.flush.scheduler.interval.ms)",
    )
    log_flush_scheduler_interval_ms = Setting(
        LONG, _MAX_LONG, topic="flush.ms", doc="interval of the check for logs to flush"
    )
    log_flush_offset_checkpoint_interval_ms = Setting(
        INT, 60_000, at_least(0), doc="interval at which recovery points are written"
    )
    log_flush_start_offset_checkpoint_interval_ms = Setting(
        INT, 60_000, at_least(0), doc="interval at which log start offsets are written"
    )
    log_segment_delete_delay_ms = default_of(TopicConfig.file_delete_delay_ms)
    log_preallocate = default_of(TopicConfig.preallocate)
    num_recovery_threads_per_data_dir = Setting(
        INT, 2, at_least(1), mode=CLUSTER_WIDE, doc="threads of each folder that load logs at the start"
    )
    num_replica_alter_log_dirs_threads = IntOrNone(
        INT, None, doc="threads that move logs between folders (default: one for each folder)"
    )
    log_message_timestamp_type = default_of(TopicConfig.message_timestamp_type)
    log_message_timestamp_before_max_ms = default_of(TopicConfig.message_timestamp_before_max_ms)
    log_message_timestamp_after_max_ms = default_of(TopicConfig.message_timestamp_after_max_ms)
    log_cleaner_enable = Setting(BOOLEAN, True, by="cluster/housekeeping", doc="whether logs are compacted")
    log_cleaner_threads = Setting(INT, 1, at_least(0), mode=CLUSTER_WIDE, doc="threads that compact logs")
    log_cleaner_io_max_bytes_per_second = Setting(
        DOUBLE,
        float_info.max,
        mode=CLUSTER_WIDE,
        doc="bytes a second that all cleaner threads may read and write together",
    )
    log_cleaner_dedupe_buffer_size = Setting(
        LONG, 134_217_728, mode=CLUSTER_WIDE, doc="memory of all cleaner threads for the keys of a log, in bytes"
    )
    log_cleaner_io_buffer_size = Setting(
        INT,
        524_288,
        at_least(0),
        mode=CLUSTER_WIDE,
        doc="memory of all cleaner threads for reads and writes, in bytes",
    )
    log_cleaner_io_buffer_load_factor = Setting(
        DOUBLE, 0.9, mode=CLUSTER_WIDE, doc="largest load factor of the cleaner's memory for keys"
    )
    log_cleaner_backoff_ms = Setting(
        LONG,
        15_000,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="cluster/housekeeping",
        doc="pause of a cleaner thread when no log is dirty",
    )
    log_cleaner_min_cleanable_ratio = default_of(TopicConfig.min_cleanable_dirty_ratio)
    log_cleaner_delete_retention_ms = default_of(TopicConfig.delete_retention_ms)
    log_cleaner_min_compaction_lag_ms = default_of(TopicConfig.min_compaction_lag_ms)
    log_cleaner_max_compaction_lag_ms = default_of(TopicConfig.max_compaction_lag_ms)
