"""IncrementalAlterConfigs and AlterConfigs of brokers: of all and of one, what is refused and in which words."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.config_frames import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    Operation,
    alter,
    describe,
    incremental,
    one_by_one,
)
from conformance.scenario import Case, Topic

_BOX = "configs"


def _steps(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = _BOX) -> Case:
    return Case(name, why, one_by_one(*frames, pause_ms=100), topics, box)


_BROKER_VALUES: dict[str, Sequence[Operation]] = {
    "fixed": [("zookeeper.connect", SET, "x"), ("broker.id", SET, "3")],
    "security": [("ssl.keystore.location", SET, "/tmp/x")],
    "not-a-number": [("num.io.threads", SET, "x")],
    "negative": [("num.io.threads", SET, "-1")],
    "too-many-threads": [("num.io.threads", SET, "100")],
    "too-few-threads": [("num.io.threads", SET, "1")],
    "null": [("num.io.threads", SET, None)],
    "unknown": [("no.such.config", SET, "1")],
    "twice": [("num.io.threads", SET, "9"), ("num.io.threads", SET, "10")],
    "min-isr-deleted": [("min.insync.replicas", DELETE, None)],
    "min-isr": [("min.insync.replicas", SET, "2")],
    "bad-operation": [("num.io.threads", 7, "9")],
    "append-int": [("num.io.threads", APPEND, "9")],
    "append-unknown": [("no.such.config", APPEND, "9")],
    "retention-0": [("log.retention.ms", SET, "0")],
    "connections": [("max.connections.per.ip.overrides", SET, "nonsense")],
    "compaction-lag": [
        ("log.cleaner.min.compaction.lag.ms", SET, "10"),
        ("log.cleaner.max.compaction.lag.ms", SET, "5"),
    ],
    "cleaner-threads": [("log.cleaner.threads", SET, "100")],
    "good": [("log.retention.ms", SET, "100000"), ("message.max.bytes", SET, "5000")],
}


def _broker(what: str, operations: Sequence[Operation], name: str) -> Case:
    keys = sorted({key for key, _, _ in operations})
    undo = [(key, DELETE, None) for key in keys if key != "min.insync.replicas"]
    frames = [
        incremental((BROKER, name, operations), validate_only=True),
        incremental((BROKER, name, operations), correlation_id=2),
        describe((BROKER, "1", keys), correlation_id=3, include_synonyms=True),
    ]
    if undo:
        frames.append(incremental((BROKER, name, undo), correlation_id=4))
    if "min.insync.replicas" in keys:
        frames.append(incremental((BROKER, "", [("min.insync.replicas", SET, "1")]), correlation_id=5))
    return _steps(
        f"alter-broker/{what}-{'all' if not name else 'one'}",
        "settings of all brokers, or of one, are altered while they run (ConfigAdminManager, DynamicBrokerConfig)",
        *frames,
    )


CASES: list[Case] = [
    *(_broker(what, operations, name) for what, operations in _BROKER_VALUES.items() for name in ("", "1")),
    _steps(
        "alter-broker/lists",
        "APPEND and SUBTRACT on list settings of brokers, starting from the broker's own value",
        incremental((BROKER, "", [("log.cleanup.policy", APPEND, "compact")])),
        describe((BROKER, "1", ["log.cleanup.policy"]), correlation_id=2, include_synonyms=True),
        incremental((BROKER, "", [("log.cleanup.policy", SUBTRACT, "delete")]), correlation_id=3),
        describe((BROKER, "1", ["log.cleanup.policy"]), correlation_id=4, include_synonyms=True),
        incremental((BROKER, "", [("log.cleanup.policy", DELETE, None)]), correlation_id=5),
        describe((BROKER, "1", ["log.cleanup.policy"]), correlation_id=6, include_synonyms=True),
    ),
    _steps(
        "alter-broker/levels",
        "a broker's own dynamic setting precedes the cluster default; topics inherit it",
        *(
            frame
            for number, (name, text) in enumerate((("", "7000"), ("1", "8000"), ("", None), ("1", None)))
            for frame in (
                incremental(
                    (BROKER, name, [("log.roll.ms", DELETE if text is None else SET, text)]),
                    correlation_id=4 * number + 1,
                ),
                describe(
                    (BROKER, "1", ["log.roll.ms", "log.roll.hours"]),
                    correlation_id=4 * number + 2,
                    include_synonyms=True,
                ),
                describe((BROKER, "", None), correlation_id=4 * number + 3, include_synonyms=True),
                describe(
                    (TOPIC, "altered-by-brokers", ["segment.ms"]), correlation_id=4 * number + 4, include_synonyms=True
                ),
            )
        ),
        topics=(Topic("altered-by-brokers"),),
    ),
    *(
        _steps(
            f"alter-broker/only-one-{what}",
            "settings that can only be altered for a single broker",
            incremental((BROKER, "", [(name, SET, "x")])),
            incremental((BROKER, "", [(name, DELETE, None)]), correlation_id=2),
        )
        for what, name in {
            "listeners": "listeners",
            "keystore": "ssl.keystore.location",
            "keystore-of-listener": "listener.name.plaintext.ssl.keystore.location",
        }.items()
    ),
    _steps(
        "alter-broker/fixed-dirs",
        "settings that only a restart can alter",
        incremental((BROKER, "", [("log.dirs", SET, "/tmp"), ("num.io.threads", SET, "9")])),
        incremental((BROKER, "1", [("log.dirs", SET, "/tmp")]), correlation_id=2),
    ),
    _steps(
        "alter-configs/broker",
        "settings that the request omits are reset, for all brokers and for one; min.insync.replicas cannot be reset",
        alter((BROKER, "", {"min.insync.replicas": "1", "log.retention.ms": "9000"})),
        describe((BROKER, "1", ["log.retention.ms", "log.segment.bytes"]), correlation_id=2, include_synonyms=True),
        alter((BROKER, "1", {"log.segment.bytes": "2000000"}), correlation_id=3),
        describe((BROKER, "1", ["log.retention.ms", "log.segment.bytes"]), correlation_id=4, include_synonyms=True),
        alter((BROKER, "1", {}), (BROKER, "2", {}), (BROKER, "x", {}), correlation_id=5),
        alter((BROKER, "", {}), correlation_id=6),
        alter((BROKER, "", {"min.insync.replicas": "1"}), correlation_id=7),
        alter((BROKER, "", {"min.insync.replicas": "1", "log.dirs": "x"}), correlation_id=8),
        describe((BROKER, "1", ["log.retention.ms", "log.segment.bytes"]), correlation_id=9, include_synonyms=True),
    ),
    _steps(
        "alter-configs/group-and-metrics",
        "groups and client metrics: settings that the request omits are reset",
        alter(
            (GROUP, "legacy", {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "6000"}),
            (CLIENT_METRICS, "legacy", {"interval.ms": "1000"}),
        ),
        alter(
            (GROUP, "legacy", {"consumer.session.timeout.ms": "51000"}),
            (CLIENT_METRICS, "legacy", {"metrics": "a.,b."}),
            correlation_id=2,
        ),
        describe(
            (GROUP, "legacy", ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"]),
            (CLIENT_METRICS, "legacy", None),
            correlation_id=3,
        ),
        alter((GROUP, "legacy", {"nobody": "1"}), (CLIENT_METRICS, "legacy", {"nobody": "1"}), correlation_id=4),
        alter((GROUP, "legacy", {}), (CLIENT_METRICS, "legacy", {}), correlation_id=5),
        describe(
            (GROUP, "legacy", ["consumer.session.timeout.ms"]), (CLIENT_METRICS, "legacy", None), correlation_id=6
        ),
    ),
]
