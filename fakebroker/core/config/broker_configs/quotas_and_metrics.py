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
    quota_window_size_seconds = Setting(INT, 1, at_least(1), by="core/quota/quota", doc="length of one")
    replication_quota_window_num = Setting(
        INT, 11, at_least(1), by="core/quota/replication", doc="samples of the rates of replication"
    )
    replication_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), by="core/quota/replication", doc="length of one"
    )
    alter_log_dirs_replication_quota_window_num = Setting(
        INT, 11, at_least(1), doc="samples of the rate of moves between folders"
    )
    alter_log_dirs_replication_quota_window_size_seconds = Setting(INT, 1, at_least(1), doc="length of one")
    controller_quota_window_num = Setting(
        INT,
        11,
        at_least(1),
        by="core/quota/controller_mutation",
        doc="samples of the rates of what changes topics",
    )
    controller_quota_window_size_seconds = Setting(
        INT, 1, at_least(1), by="core/quota/controller_mutation", doc="length of one"
    )
    client_quota_callback_class = StrOrNone(CLASS, None, doc="a plugin that says what the quotas are")
    metrics_num_samples = Setting(INT, 2, at_least(1), doc="samples of a metric")
    metrics_sample_window_ms = Setting(LONG, 30_000, at_least(1), doc="length of one")
    metric_reporters = Strings(
        LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        some_of(may_be_empty=True),
        mode=CLUSTER_WIDE,
        doc="plugins that metrics are told to",
    )
    metrics_recording_level = Setting(STRING, "INFO", doc="how much is measured")
    kafka_metrics_reporters = Strings(LIST, (), some_of(may_be_empty=True), doc="plugins for the older kind of metrics")
    kafka_metrics_polling_interval_secs = Setting(INT, 10, at_least(1), doc="how often those are asked")
    telemetry_max_bytes = Setting(
        INT, 1_048_576, at_least(1), by="core/broker/broker", doc="the most that a client may push of its own metrics"
    )
