"""ListConfigResources: subscriptions to metrics (v0), and all kinds of resources that have settings (v1)."""

from __future__ import annotations

from conformance.config_frames import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    incremental,
    listed,
    one_by_one,
)
from conformance.scenario import Case

_SET = (
    (GROUP, "listed-group", "consumer.session.timeout.ms", "50000"),
    (CLIENT_METRICS, "listed-metrics", "interval.ms", "1000"),
)

CASES: list[Case] = [
    Case(
        "list-config-resources/kinds",
        "client metrics in v0; in v1 the requested types, or all of them; unknown types",
        one_by_one(
            listed(version=0),
            incremental(*((kind, name, [(key, SET, value)]) for kind, name, key, value in _SET), correlation_id=2),
            listed(version=0, correlation_id=3),
            listed(CLIENT_METRICS, correlation_id=4),
            listed(GROUP, correlation_id=5),
            listed(GROUP, CLIENT_METRICS, GROUP, correlation_id=6),
            listed(BROKER, correlation_id=7),
            listed(BROKER_LOGGER, correlation_id=8),
            listed(BROKER, BROKER_LOGGER, GROUP, correlation_id=9),
            listed(0, correlation_id=10),
            listed(1, correlation_id=11),
            listed(64, correlation_id=12),
            listed(-1, GROUP, correlation_id=13),
            incremental(*((kind, name, [(key, DELETE, None)]) for kind, name, key, _ in _SET), correlation_id=14),
            listed(GROUP, CLIENT_METRICS, correlation_id=15),
        ),
        box="configs",
    ),
    Case(
        "list-config-resources/three",
        "the running brokers",
        one_by_one(
            listed(BROKER), listed(BROKER_LOGGER, correlation_id=2), listed(BROKER, BROKER_LOGGER, correlation_id=3)
        ),
        box="three",
    ),
]
