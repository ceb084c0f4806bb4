"""DescribeConfigs at every version: topics, brokers, loggers, client metrics, groups; and what is none of these."""

from __future__ import annotations

from conformance.config_frames import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    describe,
    incremental,
    one_by_one,
)
from conformance.scenario import Case, Send, Settle, Topic

_VERSIONS = range(1, 5)


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = "configs") -> Case:
    return Case(f"describe-configs/{name}", why, (Send(frames), Settle()), topics, box)


def _topic_v(version: int) -> Case:
    plain = Topic(f"described-v{version}")
    set_ = Topic(
        f"described-v{version}-set",
        configs={"retention.ms": "1000", "cleanup.policy": "compact,delete", "preallocate": "TRUE"},
    )
    return _case(
        f"topic-v{version}",
        "all settings of a topic; those that it sets; synonyms; documentation; only some names",
        describe((TOPIC, plain.name, None), version=version),
        describe((TOPIC, set_.name, None), version=version, correlation_id=2, include_synonyms=True),
        describe((TOPIC, set_.name, ["retention.ms", "nobody", "segment.ms"]), version=version, correlation_id=3),
        describe((TOPIC, set_.name, []), version=version, correlation_id=4, include_documentation=True),
        describe(
            (TOPIC, set_.name, ["retention.ms"]),
            (TOPIC, plain.name, ["retention.ms"]),
            version=version,
            correlation_id=5,
        ),
        topics=(plain, set_),
    )


def _broker_v(version: int) -> Case:
    return _case(
        f"broker-v{version}",
        "all settings of a broker; cluster defaults; synonyms; only some names",
        describe((BROKER, "1", None), version=version),
        describe((BROKER, "1", None), version=version, correlation_id=2, include_synonyms=True),
        describe((BROKER, "", None), version=version, correlation_id=3, include_synonyms=True),
        describe((BROKER, "1", ["num.io.threads", "ssl.keystore.password"]), version=version, correlation_id=4),
        describe((BROKER, "1", ["log.retention.hours"]), version=version, correlation_id=5, include_documentation=True),
    )


_ALTERED = ["log.retention.ms", "log.retention.hours", "log.retention.minutes", "num.io.threads", "message.max.bytes"]
_FACTORS = ["offsets.topic.replication.factor", "transaction.state.log.replication.factor"]
_OF_LISTENERS = [
    "listener.name.sasl_ssl.sasl.enabled.mechanisms",
    "listener.name.sasl_ssl.plain.sasl.jaas.config",
    "super.users",
    "allow.everyone.if.no.acl.found",
    "authorizer.class.name",
]
_THERE = Topic("described-twice")
_NAMES = {
    "empty": "",
    "spaces": " 1",
    "plus": "+1",
    "zeros": "001",
    "word": "one",
    "other": "2",
    "negative": "-1",
    "huge": "99999999999",
}

CASES: list[Case] = [
    *(_topic_v(version) for version in _VERSIONS),
    *(_broker_v(version) for version in _VERSIONS),
    *(
        _case(
            f"listeners-v{version}",
            "settings of listeners, given at the start, and those of the authorizer",
            *(
                describe(
                    (BROKER, "1", _OF_LISTENERS),
                    version=version,
                    correlation_id=number,
                    include_synonyms=bool(number),
                    include_documentation=bool(number),
                )
                for number in range(2)
            ),
            box="users",
        )
        for version in _VERSIONS
    ),
    *(
        _case(
            f"group-v{version}",
            "settings of an unknown group; only some names; no name",
            describe((GROUP, "nobody", None), version=version, include_synonyms=True),
            describe((GROUP, "nobody", ["consumer.session.timeout.ms", "x"]), version=version, correlation_id=2),
            describe((GROUP, "", None), version=version, correlation_id=3),
            describe((GROUP, "nobody", None), version=version, correlation_id=4, include_documentation=True),
        )
        for version in _VERSIONS
    ),
    *(
        _case(
            f"client-metrics-v{version}",
            "an unknown client metrics subscription, all or some names; no name",
            describe((CLIENT_METRICS, "nobody", None), version=version, include_synonyms=True),
            describe((CLIENT_METRICS, "nobody", ["interval.ms"]), version=version, correlation_id=2),
            describe((CLIENT_METRICS, "", None), version=version, correlation_id=3),
        )
        for version in _VERSIONS
    ),
    *(
        _case(
            f"logger-v{version}",
            "log levels: only of this broker, by its id",
            describe((BROKER_LOGGER, "1", ["root"]), version=version, include_synonyms=True),
            describe((BROKER_LOGGER, "1", ["nobody"]), version=version, correlation_id=2),
            describe((BROKER_LOGGER, "", None), version=version, correlation_id=3),
            describe((BROKER_LOGGER, "2", None), version=version, correlation_id=4),
            describe((BROKER_LOGGER, "x", None), version=version, correlation_id=5),
        )
        for version in _VERSIONS
    ),
    *(
        _case(
            f"unknown-topic-v{version}",
            "an unknown topic, and invalid names (Topic.validate)",
            *(
                describe((TOPIC, name, None), version=version, correlation_id=number)
                for number, name in enumerate(("nobody", "", "a/b", "..", "x" * 250), 1)
            ),
        )
        for version in _VERSIONS
    ),
    *(
        _case(
            f"broker-name-{what}",
            "the name of a broker is its id, as Java parses numbers; the empty name is the cluster default",
            describe((BROKER, name, ["log.retention.ms"])),
            describe((BROKER, name, ["log.retention.ms"]), version=1, correlation_id=2),
            describe((BROKER_LOGGER, name, ["root"]), correlation_id=3),
        )
        for what, name in _NAMES.items()
    ),
    *(
        _case(
            f"type-{kind}",
            "an unknown resource type (ConfigResource.Type.forId): the other resources of the request get no result",
            describe((kind, "x", None)),
            describe((BROKER, "", None), (kind, "", None), correlation_id=2),
            describe((kind, "x", None), (kind, "y", None), version=1, correlation_id=3),
        )
        for kind in (0, 1, 3, 64, 127, -1)
    ),
    _case(
        "several",
        "resources of several types, in the order of the request; one of them twice",
        describe(
            (BROKER, "", ["min.insync.replicas"]),
            (TOPIC, _THERE.name, ["min.insync.replicas"]),
            (GROUP, "g", ["share.isolation.level"]),
            (TOPIC, _THERE.name, ["segment.bytes"]),
            (CLIENT_METRICS, "m", ["match"]),
            (TOPIC, "nobody", ["segment.bytes"]),
        ),
        describe(correlation_id=2),
        topics=(_THERE,),
    ),
    _case(
        "another-broker",
        "each broker describes only itself",
        describe((BROKER, "2", ["log.retention.ms"]), (BROKER, "1", ["log.retention.ms"])),
        describe((BROKER_LOGGER, "2", ["root"]), correlation_id=2),
        box="three",
    ),
    _case(
        "rack",
        "a broker describes its rack",
        describe((BROKER, "1", ["broker.rack"]), include_synonyms=True),
        box="racks",
    ),
    _case(
        "replication-factors",
        "configured replication factors",
        describe((BROKER, "1", _FACTORS)),
        box="transactions-three",
    ),
    Case(
        "describe-configs/altered",
        "altered settings of all brokers and of this one: values, sources, synonyms in their order",
        one_by_one(
            incremental((BROKER, "", [("log.retention.ms", SET, " 5 "), ("num.io.threads", SET, "9")])),
            incremental(
                (BROKER, "1", [("message.max.bytes", SET, "7000"), ("num.io.threads", SET, "10")]), correlation_id=2
            ),
            describe((BROKER, "1", _ALTERED), correlation_id=3, include_synonyms=True),
            describe((BROKER, "", None), correlation_id=4, include_synonyms=True),
            describe(
                (TOPIC, "described-altered", ["retention.ms", "max.message.bytes"]),
                correlation_id=5,
                include_synonyms=True,
            ),
            incremental(
                (BROKER, "1", [("message.max.bytes", DELETE, None), ("num.io.threads", DELETE, None)]), correlation_id=6
            ),
            describe((BROKER, "1", _ALTERED), correlation_id=7, include_synonyms=True),
            incremental(
                (BROKER, "", [("log.retention.ms", DELETE, None), ("num.io.threads", DELETE, "")]), correlation_id=8
            ),
            describe((BROKER, "1", _ALTERED), correlation_id=9, include_synonyms=True),
            pause_ms=100,
        ),
        (Topic("described-altered"),),
        "configs",
    ),
]
