"""Settings of brokers that Kafka does not have."""

from __future__ import annotations

from fakebroker.core.config.broker_configs.helpers import access_keys
from fakebroker.core.config.config_def import INT, LONG, PASSWORD, STRING, at_least, one_of
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting

# Kafka's values of the defaults that differ here, by attribute. Limits that Kafka does not have are off.
KAFKA_DEFAULTS = {
    "default_replication_factor": 1,
    "offsets_topic_replication_factor": 3,
    "transaction_state_log_replication_factor": 3,
    "log_memory_bytes": -1,
    "fakebroker_request_max_elements": 2**31 - 1,
}

# Defaults for tests, by attribute: delays that tests would wait for, without effect on responses. A group does not wait
# for a second member, members learn of a rebalance at once, and overdue work is found within a second.
TEST_DEFAULTS = {
    "group_initial_rebalance_delay_ms": 0,
    "group_consumer_assignment_interval_ms": 0,
    "group_consumer_heartbeat_interval_ms": 500,
    "group_consumer_min_heartbeat_interval_ms": 500,
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": 500,
    "log_initial_task_delay_ms": 1000,
    "log_retention_check_interval_ms": 1000,
    "log_cleaner_backoff_ms": 1000,
    "offsets_retention_check_interval_ms": 1000,
}


class OurConfigs:
    """Settings of fakebroker alone."""

    log_memory_bytes = Setting(
        LONG,
        268_435_456,
        at_least(-1),
        mode=CLUSTER_WIDE,
        by="core/controller/controller",
        doc="most memory of all logs together; -1 is no limit",
        is_kafkas=False,
    )
    log_memory_full = Setting(
        STRING,
        "spill",
        one_of("spill", "delete"),
        mode=CLUSTER_WIDE,
        by="core/controller/controller",
        doc="at log.memory.bytes: spill old records to a temporary file, or delete them",
        is_kafkas=False,
    )
    fakebroker_request_handler_time_us = Setting(
        INT,
        100,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="core/quota/quota",
        doc="handling time of each request in request_percentage quotas, in microseconds",
        is_kafkas=False,
    )
    fakebroker_controller_delay_ms = Setting(
        INT,
        0,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="core/controller/cluster_control",
        doc="time of each step of the controller: election, fencing, change of an ISR",
        is_kafkas=False,
    )
    fakebroker_metadata_delay_ms = Setting(
        INT,
        15,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="cluster/lives",
        doc="time for which a reconnected broker keeps its old metadata",
        is_kafkas=False,
    )
    fakebroker_request_max_elements = Setting(
        INT,
        250_000,
        at_least(1),
        by="cluster/dispatcher",
        doc="most array elements and tagged fields of a request; more close its connection",
        is_kafkas=False,
    )
    fakebroker_aws_msk_iam_credentials = Setting(
        PASSWORD,
        "",
        access_keys,
        mode=CLUSTER_WIDE,
        by="cluster/sasl/mechanisms",
        doc="ACCESSKEY:SECRET or ACCESSKEY:SECRET:USER, by commas: logins by AWS_MSK_IAM",
        is_kafkas=False,
    )
