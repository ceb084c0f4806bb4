"""The cluster of a test: created as requested, with its topics, the behaviour of their followers, and its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fakebroker.core.errors import KafkaError
from fakebroker.server.fake_cluster import FakeCluster
from fakebroker.testing.plugin.cluster_request import ClusterRequest, ClusterRequestError

T = TypeVar("T")


@contextmanager
def made(cluster_request: ClusterRequest) -> Iterator[FakeCluster]:
    """Run the cluster as long as the block. Raises ClusterRequestError for an invalid request."""
    arguments = dict(cluster_request.arguments)
    if "" in cluster_request.followers:
        arguments["followers"] = cluster_request.followers[""]
    with _told(lambda: FakeCluster(**arguments)) as kafka:
        for topic in cluster_request.topics:
            _told(lambda: kafka.create_topic(topic.name, **topic.arguments))  # noqa: B023  called at once
        for name, behaviour in cluster_request.followers.items():
            if name:
                _told(lambda: kafka.followers.script([(0, behaviour)], name))  # noqa: B023
        for fault in cluster_request.faults:
            _told(lambda: kafka.faults.add(fault))  # noqa: B023
        yield kafka


def _told(make: Callable[[], T]) -> T:
    try:
        return make()
    except (KafkaError, ValueError, TypeError) as error:
        raise ClusterRequestError(str(error)) from None
