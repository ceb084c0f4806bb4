"""Settings of brokers: quotas and metrics.

Source   QuotaConfigs.java, MetricConfigs.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import CLASS, INT, LIST, LONG, STRING, at_least, some_of
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting, Strings, StrOrNone


class QuotaAndMetricConfigs:
    """The windows of rates, and the plugins for metrics."""

    quota_window_num = Setting(INT, 11, at_least(1), by="core/quota/quota", doc="samples of the rates of clients")
    quota_window_size_seconds = Setting(
        INT, 1, at_least(1), by="core/quota/quota", doc="length of a sample of the rates of clients"
    )
    replication_quota_window_num = Setting(
        INT, 11, at_least(1), by="core/quota/replication", doc="samples of the replication rates"
    )
    replication_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), by="core/quota/replication", doc="length of a sample of the replication rates"
    )
    alter_log_dirs_replication_quota_window_num = Setting(
        INT, 11, at_least(1), doc="samples of the rate of moves between folders"
    )
    alter_log_dirs_replication_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), doc="length of a sample of the rate of moves between folders"
    )
    controller_quota_window_num = Setting(
        INT,
        11,
        at_least(1),
        by="core/quota/controller_mutation",
        doc="samples of the rates of topic changes",
    )
    controller_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), by="core/quota/controller_mutation", doc="length of a sample of the rates of topic changes"
    )
    client_quota_callback_class = StrOrNone(CLASS, None, doc="class of a plugin that decides quotas")
    metrics_num_samples = Setting(INT, 2, at_least(1), doc="samples of a metric")
    metrics_sample_window_ms = Setting(LONG, 30_000, at_least(1), doc="length of a sample of a metric")
    metric_reporters = Strings(
        LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        some_of(may_be_empty=True),
        mode=CLUSTER_WIDE,
        doc="classes of plugins that receive metrics",
    )
    metrics_recording_level = Setting(STRING, "INFO", doc="detail of the recorded metrics")
    kafka_metrics_reporters = Strings(
        LIST, (), some_of(may_be_empty=True), doc="classes of plugins that receive the older metrics"
    )
    kafka_metrics_polling_interval_secs = Setting(
        INT, 10, at_least(1), doc="interval at which the older metrics are polled"
    )
    telemetry_max_bytes = Setting(
        INT, 1_048_576, at_least(1), by="core/broker/broker", doc="largest push of a client's own metrics"
    )
