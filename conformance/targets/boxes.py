"""The clusters that cases run on, by name: the same brokers and settings for Kafka and for fakebroker."""

from __future__ import annotations

from dataclasses import dataclass, field

_COMMON = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",  # leaders are where a case puts them
    "log.retention.ms": "-1",  # cases use fixed timestamps of the past
}


# Sessions may be short, so that a case need not wait long; nobody is waited for before the first generation.
_GROUPS = _COMMON | {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "300"}


@dataclass(frozen=True)
class Box:
    brokers: int
    config: dict[str, str]
    kafka_only: dict[str, str] = field(default_factory=dict)  # what fakebroker has no use for


BOXES = {
    "one": Box(1, _COMMON),
    "alone": Box(1, _COMMON),  # for one case that asks for all topics
    "three": Box(3, _COMMON),
    "lag": Box(3, _COMMON | {"replica.lag.time.max.ms": "1500"}),
    "groups": Box(1, _GROUPS),
    "small-groups": Box(1, _GROUPS | {"group.initial.rebalance.delay.ms": "400", "group.max.size": "2"}),
    # One coordinator for all groups; who waits for replicas does not wait long.
    "coordinator": Box(3, _COMMON | {"offsets.topic.num.partitions": "1", "offsets.commit.timeout.ms": "1000"}),
    # For cases that stop brokers: while its session holds, a broker cannot come back (DuplicateBrokerRegistration).
    "stops": Box(3, _COMMON, {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}),
}
