"""The clients are imported once, here: what deprecated things they use while they load is theirs to mend. And brokers
for tests that can be asked of Apache Kafka too: fakebroker, or those that FAKEBROKER_AGAINST names ("host:port,..."),
three with the ids 1 to 3. What needs an API that is not served yet is skipped."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Iterator

import pytest
from support.forked_processes import LivingForks
from support.groups import Brokers, Member

from fakebroker import FakeCluster
from fakebroker.apis import registry

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin  # noqa: F401

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


@pytest.fixture(scope="module")
def forked_members(client_forks: LivingForks | None) -> Iterator[None]:
    """Let each `Member` of a module be forked from a process that has imported the clients."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Member, "forks", client_forks)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    served = registry.load()
    for mark in item.iter_markers("needs_apis"):
        missing = [key for key in mark.args if key not in served]
        if missing and not AGAINST:
            pytest.skip(f"not served yet: {missing}")
