"""The clients are imported once, here: what deprecated things they use while they load is theirs to mend. And brokers
for tests that can be asked of Apache Kafka too: fakebroker, or those that FAKEBROKER_AGAINST names ("host:port,..."),
three with the ids 1 to 3. What needs an API that is not served yet is skipped."""

from __future__ import annotations

import gc
import os
import uuid
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from support.groups import Brokers

from fakebroker import FakeCluster
from fakebroker.apis import registry

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin  # noqa: F401

HERE = Path(__file__).parent
DROPPED = r"unclosed (<(socket\.socket|ssl\.SSLSocket)|transport <|AIOKafka)"  # filters ignore case
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Collect the connections that clients drop without closing them. They are not to warn, in this test or a later
    one. The client kafka-python 3.0 drops each socket that it is still connecting when it gives up or closes, aiokafka
    each connection that is refused. By now pytest has forgotten what was logged, which names sockets too."""
    if not item.path.is_relative_to(HERE):
        return (yield)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", DROPPED, ResourceWarning)
        result = yield
        gc.collect()
    return result


def pytest_runtest_setup(item: pytest.Item) -> None:
    served = registry.load()
    for mark in item.iter_markers("needs_apis"):
        missing = [key for key in mark.args if key not in served]
        if missing and not AGAINST:
            pytest.skip(f"not served yet: {missing}")
