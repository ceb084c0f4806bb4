"""A topic that exists."""

from __future__ import annotations

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.controller.topics import Topic


def topic_of(cluster: Cluster, name: str = "t") -> Topic:
    metadata = cluster.metadata.topic(name)
    assert metadata is not None, name
    return metadata
