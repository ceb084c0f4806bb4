"""IncrementalAlterConfigs of groups, subscriptions to metrics, and levels of loggers."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.config_frames import (
    APPEND,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    Operation,
    describe,
    incremental,
    one_by_one,
)
from conformance.scenario import Case, Topic

_BOX = "configs"


def _steps(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = _BOX) -> Case:
    return Case(name, why, one_by_one(*frames), topics, box)


def _group(what: str, *rounds: Sequence[Operation]) -> Case:
    """Alter a group's settings round by round, and take all back."""
    name = f"group-{what}"
    keys = sorted({key for operations in rounds for key, _, _ in operations})
    frames = []
    for number, operations in enumerate(rounds, 1):
        frames.append(incremental((GROUP, name, operations), correlation_id=2 * number - 1))
        frames.append(describe((GROUP, name, keys), correlation_id=2 * number, include_synonyms=True))
    frames.append(incremental((GROUP, name, [(key, DELETE, None) for key in keys]), correlation_id=99))
    return _steps(f"alter-group/{what}", "valid and invalid settings of groups (GroupConfig.validate)", *frames)


def _metrics(what: str, *rounds: Sequence[Operation]) -> Case:
    name = f"metrics-{what}"
    keys = ["metrics", "interval.ms", "match"]
    frames = []
    for number, operations in enumerate(rounds, 1):
        frames.append(incremental((CLIENT_METRICS, name, operations), correlation_id=2 * number - 1))
        frames.append(describe((CLIENT_METRICS, name, None), correlation_id=2 * number, include_synonyms=True))
    frames.append(incremental((CLIENT_METRICS, name, [(key, DELETE, None) for key in keys]), correlation_id=99))
    return _steps(
        f"alter-client-metrics/{what}",
        "valid and invalid settings of client metrics (ClientMetricsConfigs.validate)",
        *frames,
    )


_GROUP_BOUNDS = {
    "session-low": ("consumer.session.timeout.ms", "1000"),
    "session-high": ("consumer.session.timeout.ms", "1000000"),
    "session-zero": ("consumer.session.timeout.ms", "0"),
    "heartbeat-low": ("consumer.heartbeat.interval.ms", "1"),
    "heartbeat-high": ("consumer.heartbeat.interval.ms", "45000"),
    "assignment-interval": ("consumer.assignment.interval.ms", "15001"),
    "share-lock": ("share.record.lock.duration.ms", "999"),
    "share-lock-high": ("share.record.lock.duration.ms", "60001"),
    "share-delivery": ("share.delivery.count.limit", "1"),
    "share-delivery-high": ("share.delivery.count.limit", "11"),
    "share-locks": ("share.partition.max.record.locks", "99"),
    "share-locks-high": ("share.partition.max.record.locks", "10001"),
    "reset": ("share.auto.offset.reset", "never"),
    "reset-duration": ("share.auto.offset.reset", "by_duration:PT1H"),
    "reset-bad-duration": ("share.auto.offset.reset", "by_duration:1h"),
    "reset-negative-duration": ("share.auto.offset.reset", "by_duration:-PT1H"),
    "isolation": ("share.isolation.level", "serializable"),
    "standby": ("streams.num.standby.replicas", "3"),
    "warmup": ("streams.num.warmup.replicas", "21"),
    "task-offsets": ("streams.task.offset.interval.ms", "14999"),
    "assignor": ("streams.assignor.name", "mine"),
    "assignor-sticky": ("streams.assignor.name", "sticky"),
    "tags": ("streams.rack.aware.assignment.tags", "a,b,a"),
    "tags-empty": ("streams.rack.aware.assignment.tags", "a,,b"),
    "dead-letters": ("errors.deadletterqueue.topic.name", "__x"),
    "lag": ("streams.acceptable.recovery.lag", "-1"),
    "offload": ("consumer.assignor.offload.enable", "maybe"),
    "unknown": ("no.such.config", "1"),
    "null": ("consumer.session.timeout.ms", None),
}

CASES: list[Case] = [
    _group(
        "good",
        [("consumer.session.timeout.ms", SET, "50000"), ("consumer.heartbeat.interval.ms", SET, "6000")],
        [("consumer.session.timeout.ms", DELETE, None)],
    ),
    _group(
        "heartbeat-above-session",
        [("consumer.session.timeout.ms", SET, "45000"), ("consumer.heartbeat.interval.ms", SET, "15000")],
        [("share.session.timeout.ms", SET, "45000"), ("share.heartbeat.interval.ms", SET, "15000")],
    ),
    *(_group(what, [(name, SET, value)]) for what, (name, value) in _GROUP_BOUNDS.items()),
    _group(
        "append",
        [("streams.rack.aware.assignment.tags", APPEND, "a,b")],
        [("streams.rack.aware.assignment.tags", SUBTRACT, "a")],
        [("consumer.session.timeout.ms", APPEND, "1")],
    ),
    _metrics(
        "good",
        [
            ("metrics", SET, "org.apache.kafka.producer.,x"),
            ("interval.ms", SET, "1000"),
            ("match", SET, "client_id=a.*,client_software_name=Java"),
        ],
        [("interval.ms", DELETE, None)],
    ),
    _metrics(
        "all",
        [("metrics", SET, "*")],
        [("metrics", SET, "")],
        [("metrics", APPEND, "a,b")],
        [("metrics", SUBTRACT, "a")],
    ),
    *(
        _metrics(f"bad-{what}", [(name, SET, value)])
        for what, (name, value) in {
            "interval-low": ("interval.ms", "99"),
            "interval-high": ("interval.ms", "3600001"),
            "interval-text": ("interval.ms", "x"),
            "match": ("match", "nobody=x"),
            "match-form": ("match", "client_id"),
            "match-regex": ("match", "client_id=("),
            "match-equals": ("match", "client_id=a=b"),
            "unknown": ("nobody", "x"),
            "null": ("metrics", None),
            "metric-twice": ("metrics", "a,a"),
        }.items()
    ),
    _steps(
        "alter-logger/levels",
        "log levels of this broker's loggers (KIP-412)",
        incremental((BROKER_LOGGER, "1", [("kafka.conformance", SET, "DEBUG")])),
        describe((BROKER_LOGGER, "1", ["kafka.conformance"]), correlation_id=2),
        incremental((BROKER_LOGGER, "1", [("kafka.conformance", DELETE, None)]), correlation_id=3),
        incremental((BROKER_LOGGER, "1", [("kafka.controller.KafkaController", SET, "LOUD")]), correlation_id=4),
        incremental((BROKER_LOGGER, "1", [("root", DELETE, None)]), correlation_id=5),
        incremental((BROKER_LOGGER, "1", [("root", APPEND, "INFO")]), correlation_id=6),
        incremental((BROKER_LOGGER, "1", [("root", SUBTRACT, "INFO")]), correlation_id=7),
        incremental((BROKER_LOGGER, "1", [("root", 9, "INFO")]), correlation_id=8),
        incremental((BROKER_LOGGER, "1", [("root", SET, "TRACE")]), correlation_id=9, validate_only=True),
        describe((BROKER_LOGGER, "1", ["root", "kafka.conformance"]), correlation_id=10),
        incremental((BROKER_LOGGER, "1", [("root", SET, "INFO")]), correlation_id=11),
        describe((BROKER_LOGGER, "1", ["root"]), correlation_id=12),
        incremental((BROKER_LOGGER, "1", [("root", SET, "WARN")]), correlation_id=13),
    ),
]
