"""IncrementalAlterConfigs and AlterConfigs: operations, kinds of resources, what is refused and in which words."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.config_frames import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
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
    return Case(name, why, one_by_one(*frames), topics, box)


def _topic(name: str, why: str, *rounds: Sequence[Operation], version: int = 1, **configs: str) -> Case:
    """Alter a topic round by round, and look at it after each."""
    topic = Topic(f"altered-{name}", configs={key.replace("_", "."): value for key, value in configs.items()})
    keys = sorted({key for operations in rounds for key, _, _ in operations})
    frames = []
    for number, operations in enumerate(rounds, 1):
        frames.append(incremental((TOPIC, topic.name, operations), version=version, correlation_id=2 * number - 1))
        frames.append(describe((TOPIC, topic.name, keys), correlation_id=2 * number, include_synonyms=True))
    return _steps(f"incremental-alter/{name}", why, *frames, topics=(topic,))


def _legacy(version: int) -> Case:
    topic = Topic(f"legacy-v{version}", configs={"retention.ms": "1000", "segment.bytes": "2000000"})
    return _steps(
        f"alter-configs/v{version}",
        "settings that the request omits are reset; validateOnly; a refused request changes nothing",
        alter((TOPIC, topic.name, {"segment.ms": "5000"}), version=version, validate_only=True),
        describe((TOPIC, topic.name, ["retention.ms", "segment.bytes", "segment.ms"]), correlation_id=2),
        alter(
            (TOPIC, topic.name, {"segment.ms": "5000", "segment.bytes": "3000000"}), version=version, correlation_id=3
        ),
        describe((TOPIC, topic.name, ["retention.ms", "segment.bytes", "segment.ms"]), correlation_id=4),
        alter((TOPIC, topic.name, {"segment.ms": "-1"}), (TOPIC, "nobody", {}), version=version, correlation_id=5),
        alter((TOPIC, topic.name, {"nobody": "1"}), version=version, correlation_id=6),
        alter((TOPIC, topic.name, {"segment.ms": None}), version=version, correlation_id=7),
        alter((TOPIC, topic.name, [("segment.ms", "1"), ("segment.ms", "2")]), version=version, correlation_id=8),
        alter((99, "x", {}), (BROKER_LOGGER, "1", {}), (TOPIC, "", {}), version=version, correlation_id=10),
        alter(version=version, correlation_id=11),
        alter((TOPIC, topic.name, {}), version=version, correlation_id=12),
        describe((TOPIC, topic.name, ["retention.ms", "segment.bytes", "segment.ms"]), correlation_id=13),
        topics=(topic,),
    )


_BAD_VALUES: dict[str, tuple[str, str | None]] = {
    "no-number": ("max.message.bytes", "many"),
    "negative": ("max.message.bytes", "-1"),
    "too-large": ("max.message.bytes", "99999999999"),
    "null": ("max.message.bytes", None),
    "empty": ("max.message.bytes", ""),
    "spaces": ("max.message.bytes", " 1000 "),
    "no-boolean": ("preallocate", "perhaps"),
    "no-choice": ("compression.type", "brotli"),
    "no-policy": ("cleanup.policy", "shred"),
    "no-policies": ("cleanup.policy", ""),
    "policy-twice": ("cleanup.policy", "delete,delete"),
    "isr-0": ("min.insync.replicas", "0"),
    "unknown": ("no.such.config", "1"),
    "empty-name": ("", "1"),
    "remote": ("remote.storage.enable", "true"),
    "throttled": ("leader.replication.throttled.replicas", "0:1,1:x"),
    "long": ("leader.replication.throttled.replicas", ",".join(["0:1"] * 9000)),
}

_RESOURCES = Topic("altered-resources")
CASES: list[Case] = [
    *(
        _topic(
            f"v{version}",
            "SET, DELETE, DELETE again, APPEND and SUBTRACT",
            [("retention.ms", SET, "1000"), ("segment.bytes", SET, "2000000")],
            [("retention.ms", DELETE, None)],
            [("retention.ms", DELETE, "1"), ("no.such.config", DELETE, None)],
            [("cleanup.policy", APPEND, "compact")],
            [("cleanup.policy", SUBTRACT, "delete,compact")],
            [("cleanup.policy", APPEND, "compact,delete,compact")],
            version=version,
        )
        for version in range(2)
    ),
    *(
        _topic(
            f"bad-{what}",
            "one invalid value: the valid one in the same request is not set either",
            [(name, SET, value), ("retention.ms", SET, "7")],
        )
        for what, (name, value) in _BAD_VALUES.items()
    ),
    _topic(
        "two-bad",
        "of two invalid values, the setting that Kafka defines first is reported",
        [("min.insync.replicas", SET, "0"), ("segment.bytes", SET, "1")],
    ),
    _topic(
        "append-int",
        "APPEND works only on lists",
        [("segment.bytes", APPEND, "1")],
        [("segment.bytes", SUBTRACT, "1")],
    ),
    _topic(
        "append-unknown",
        "APPEND to an unknown setting",
        [("no.such.config", APPEND, "1")],
        [("no.such.config", SUBTRACT, "1")],
    ),
    _topic(
        "append-null",
        "without a value only DELETE is possible",
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SUBTRACT, None)],
    ),
    _topic(
        "append-there",
        "APPEND of an element that the list has changes nothing",
        [("cleanup.policy", APPEND, "delete")],
        [("cleanup.policy", SUBTRACT, "x")],
    ),
    _topic("twice", "the same setting twice", [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)]),
    _topic("operation-4", "an unknown operation", [("retention.ms", 4, "1")]),
    _topic("operation-minus", "an unknown operation", [("retention.ms", -1, "1")], [("retention.ms", 127, "1")]),
    _topic(
        "min-above-max",
        "settings that contradict each other",
        [("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5")],
    ),
    _topic("set-default", "SET to the default value: the source is then the topic", [("segment.ms", SET, "604800000")]),
    _topic("nothing", "no operations at all", []),
    *(
        _steps(
            f"incremental-alter/resources-v{version}",
            "an unknown topic, invalid names, one resource twice, unknown resource types: each gets its own result",
            incremental(
                (TOPIC, f"nobody-v{version}", [("retention.ms", SET, "1")]),
                (TOPIC, "", [("retention.ms", SET, "1")]),
                (TOPIC, "a/b", [("retention.ms", SET, "1")]),
                (BROKER, "x", [("num.io.threads", SET, "9")]),
                (BROKER, "7", [("num.io.threads", SET, "9")]),
                (BROKER, "-1", [("num.io.threads", SET, "9")]),
                (GROUP, "", [("consumer.session.timeout.ms", SET, "46000")]),
                (CLIENT_METRICS, "", [("interval.ms", SET, "1000")]),
                (BROKER_LOGGER, "7", [("root", SET, "INFO")]),
                (BROKER_LOGGER, "", [("root", SET, "INFO")]),
                (0, "x", []),
                (1, "x", []),
                (64, "x", []),
                version=version,
            ),
            incremental(
                (TOPIC, "twice", [("retention.ms", SET, "1")]),
                (TOPIC, "nobody", [("retention.ms", SET, "1")]),
                (TOPIC, "twice", [("retention.ms", SET, "1")]),
                version=version,
                correlation_id=2,
            ),
            incremental(version=version, correlation_id=3),
            incremental((TOPIC, "nobody", [("retention.ms", SET, "bad")]), version=version, correlation_id=4),
            incremental((TOPIC, "nobody", [("retention.ms", DELETE, None)]), version=version, correlation_id=5),
            incremental((TOPIC, "nobody", []), version=version, correlation_id=6),
        )
        for version in range(2)
    ),
    _steps(
        "incremental-alter/validate-only",
        "validateOnly: nothing changes, and errors are reported",
        incremental((TOPIC, _RESOURCES.name, [("retention.ms", SET, "1")]), validate_only=True),
        describe((TOPIC, _RESOURCES.name, ["retention.ms"]), correlation_id=2),
        incremental((TOPIC, _RESOURCES.name, [("retention.ms", SET, "x")]), validate_only=True, correlation_id=3),
        incremental(
            (TOPIC, _RESOURCES.name, [("retention.ms", SET, "5")]),
            (TOPIC, "nobody", [("retention.ms", SET, "5")]),
            (GROUP, "validated", [("consumer.session.timeout.ms", SET, "50000")]),
            (CLIENT_METRICS, "validated", [("interval.ms", SET, "1000")]),
            correlation_id=4,
            validate_only=True,
        ),
        describe(
            (GROUP, "validated", ["consumer.session.timeout.ms"]),
            (CLIENT_METRICS, "validated", ["interval.ms"]),
            correlation_id=5,
        ),
        incremental(
            (TOPIC, _RESOURCES.name, [("retention.ms", SET, "5")]),
            (TOPIC, "nobody", [("retention.ms", SET, "5")]),
            correlation_id=6,
        ),
        describe((TOPIC, _RESOURCES.name, ["retention.ms"]), correlation_id=7),
        topics=(_RESOURCES,),
    ),
    *(_legacy(version) for version in range(3)),
]
