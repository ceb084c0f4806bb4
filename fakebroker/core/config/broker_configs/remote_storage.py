"""Settings of brokers: tiered storage.

Source   RemoteLogManagerConfig.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.broker_configs.helpers import default_of
from fakebroker.core.config.config_def import BOOLEAN, DOUBLE, INT, LONG, STRING, at_least, between, not_empty
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting, StrOrNone
from fakebroker.core.config.topic_config import TopicConfig

_MAX_LONG = 2**63 - 1


class RemoteStorageConfigs:
    """Segments in tiered storage."""

    remote_log_storage_system_enable = Setting(BOOLEAN, False, doc="whether tiered storage is on")
    remote_log_storage_manager_impl_prefix = Setting(
        STRING, "rsm.config.", not_empty, doc="prefix of the storage plugin's own settings"
    )
    remote_log_storage_manager_class_name = StrOrNone(STRING, None, not_empty, doc="class of the storage plugin")
    remote_log_storage_manager_class_path = StrOrNone(STRING, None, doc="path of the storage plugin's classes")
    remote_log_metadata_manager_impl_prefix = Setting(
        STRING, "rlmm.config.", not_empty, doc="prefix of the metadata plugin's own settings"
    )
    remote_log_metadata_manager_class_name = Setting(
        STRING,
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        not_empty,
        doc="class of the metadata plugin",
    )
    remote_log_metadata_manager_class_path = StrOrNone(STRING, None, doc="path of the metadata plugin's classes")
    remote_log_metadata_manager_listener_name = StrOrNone(
        STRING, None, not_empty, doc="listener by which the metadata plugin connects to brokers"
    )
    remote_log_metadata_custom_metadata_max_bytes = Setting(
        INT, 128, at_least(0), doc="most bytes that the storage plugin may add to the metadata of a segment"
    )
    remote_log_index_file_cache_total_size_bytes = Setting(
        LONG, 1_073_741_824, at_least(1), mode=CLUSTER_WIDE, doc="size of the cache for indexes of remote segments"
    )
    remote_log_index_file_cache_ttl_ms = Setting(
        LONG, 900_000, at_least(-1), doc="time for which an unused index stays in the cache; -1: for ever"
    )
    remote_log_manager_thread_pool_size = Setting(
        INT, 2, at_least(1), doc="threads for tasks without threads of their own"
    )
    remote_log_manager_copier_thread_pool_size = Setting(
        INT, 10, at_least(1), mode=CLUSTER_WIDE, doc="threads that copy segments to tiered storage"
    )
    remote_log_manager_expiration_thread_pool_size = Setting(
        INT, 10, at_least(1), mode=CLUSTER_WIDE, doc="threads that delete old remote segments"
    )
    remote_log_manager_follower_thread_pool_size = Setting(
        INT, 2, at_least(1), mode=CLUSTER_WIDE, doc="threads for follower partitions"
    )
    remote_log_manager_task_interval_ms = Setting(
        LONG, 30_000, at_least(1), doc="interval at which remote log tasks run"
    )
    remote_log_manager_task_retry_backoff_ms = Setting(
        LONG, 500, at_least(1), doc="first pause after an error of a remote log task"
    )
    remote_log_manager_task_retry_backoff_max_ms = Setting(
        LONG, 30_000, at_least(1), doc="longest pause after errors of a remote log task"
    )
    remote_log_manager_task_retry_jitter = Setting(
        DOUBLE, 0.2, between(0, 0.5), doc="random part of the pause after an error"
    )
    remote_log_reader_threads = Setting(
        INT, 10, at_least(1), mode=CLUSTER_WIDE, doc="threads that read remote segments for consumers"
    )
    remote_log_reader_max_pending_tasks = Setting(INT, 100, at_least(1), doc="remote reads that may wait for a thread")
    log_local_retention_ms = default_of(TopicConfig.local_retention_ms)
    log_local_retention_bytes = default_of(TopicConfig.local_retention_bytes)
    log_remote_copy_lag_ms = default_of(TopicConfig.remote_copy_lag_ms)
    log_remote_copy_lag_bytes = default_of(TopicConfig.remote_copy_lag_bytes)
    remote_log_manager_copy_max_bytes_per_second = Setting(
        LONG, _MAX_LONG, at_least(1), mode=CLUSTER_WIDE, doc="bytes a second that may be copied to tiered storage"
    )
    remote_log_manager_copy_quota_window_num = Setting(INT, 11, at_least(1), doc="samples of the copy rate")
    remote_log_manager_copy_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), doc="length of a sample of the copy rate"
    )
    remote_log_manager_fetch_max_bytes_per_second = Setting(
        LONG, _MAX_LONG, at_least(1), mode=CLUSTER_WIDE, doc="bytes a second that may be read from tiered storage"
    )
    remote_log_manager_fetch_quota_window_num = Setting(INT, 11, at_least(1), doc="samples of the read rate")
    remote_log_manager_fetch_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), doc="length of a sample of the read rate"
    )
    remote_fetch_max_wait_ms = Setting(
        INT, 500, at_least(1), mode=CLUSTER_WIDE, doc="time for which a fetch waits for tiered storage"
    )
    remote_list_offsets_request_timeout_ms = Setting(
        LONG, 30_000, at_least(1), mode=CLUSTER_WIDE, doc="time for which ListOffsets waits for tiered storage"
    )
