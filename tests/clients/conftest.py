"""The clients are imported once, here: what deprecated things they use while they load is theirs to mend. And brokers
for tests that can be asked of Apache Kafka too: fakebroker, or those that FAKEBROKER_AGAINST names ("host:port,..."),
three with the ids 1 to 3. What needs an API that is not served yet is skipped."""

from __future__ import annotations

import gc
import os
import re
import uuid
import warnings
from collections.abc import Iterator

import pytest
from support.groups import Brokers

from fakebroker import FakeCluster
from fakebroker.apis import registry

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin  # noqa: F401

OF_KAFKA_PYTHON = re.compile("kafka.python")
AGAINST = os.environ.get("FAKEBROKER_AGAINST")
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "group.consumer.min.session.timeout.ms": 500,
    "group.consumer.session.timeout.ms": 1500,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 200,
    "offsets.topic.num.partitions": 5,
}


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    if AGAINST:
        yield Brokers(AGAINST)
        return
    with FakeCluster(brokers=3, config=SETTINGS) as kafka:
        yield Brokers(kafka.bootstrap_servers)


@pytest.fixture
def group() -> str:
    """Return the id of a group that does not exist."""
    return f"group-{uuid.uuid4()}"


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Collect the sockets that kafka-python 3.0 leaves: one that it connects while it closes is never closed. Otherwise
    a later test gets the warning."""
    if OF_KAFKA_PYTHON.search(item.nodeid):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "unclosed <socket.socket", ResourceWarning)
            gc.collect()


def pytest_runtest_setup(item: pytest.Item) -> None:
    served = registry.load()
    for mark in item.iter_markers("needs_apis"):
        missing = [key for key in mark.args if key not in served]
        if missing and not AGAINST:
            pytest.skip(f"not served yet: {missing}")
