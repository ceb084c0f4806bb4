"""The rates of throttled replicas (KIP-73), as settings: of all brokers and of one, and what is refused."""

from __future__ import annotations

from conformance.config_frames import BROKER, DELETE, SET, TOPIC, describe, incremental, one_by_one
from conformance.scenario import Case, Topic

_RATES = (
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
_REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def _rates(what: str, text: str, name: str) -> Case:
    operations = [(rate, SET, text) for rate in _RATES]
    undo = [(rate, DELETE, None) for rate in _RATES]
    return Case(
        f"throttles/rates-{what}-{'all' if not name else 'one'}",
        "throttle rates are dynamic settings only, and are described where they are set (DynamicConfig.Broker)",
        one_by_one(
            describe((BROKER, "1", list(_RATES))),
            incremental((BROKER, name, operations), correlation_id=2, validate_only=True),
            incremental((BROKER, name, operations), correlation_id=3),
            describe((BROKER, "1", list(_RATES)), correlation_id=4, include_synonyms=True),
            describe((BROKER, "", list(_RATES)), correlation_id=5, include_synonyms=True),
            incremental((BROKER, name, undo), correlation_id=6),
            describe((BROKER, "1", list(_RATES)), correlation_id=7, include_synonyms=True),
            pause_ms=100,
        ),
        (),
        "configs",
    )


def _replicas(what: str, text: str) -> Case:
    topic = Topic(f"throttles-replicas-{what}")
    return Case(
        f"throttles/replicas-{what}",
        "lists of throttled replicas: all, or partition:broker (ThrottledReplicaListValidator)",
        one_by_one(
            incremental((TOPIC, topic.name, [(name, SET, text) for name in _REPLICAS])),
            describe((TOPIC, topic.name, list(_REPLICAS)), correlation_id=2, include_synonyms=True),
            pause_ms=100,
        ),
        (topic,),
        "configs",
    )


CASES: list[Case] = [
    *(
        _rates(what, text, name)
        for what, text in {"good": "1000", "none": "0", "negative": "-1", "word": "x", "empty": ""}.items()
        for name in ("", "1")
    ),
    *(
        _replicas(what, text)
        for what, text in {
            "all": "*",
            "blanks": " 0:1 , 1:2",
            "empty": "",
            "gap": "0:1,,1:1",
            "broker": "1",
            "star-and-more": "*,0:1",
            "word": "all",
        }.items()
    ),
]
