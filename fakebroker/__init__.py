"""A stand-in Kafka cluster in one Python process that tells the truth about acks=all."""

from __future__ import annotations

from fakebroker.core.errors import KafkaError
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.fake_cluster import FakeCluster

__version__ = "0.1.0.dev0"

__all__ = ["AsyncFakeCluster", "FakeCluster", "KafkaError", "__version__"]
