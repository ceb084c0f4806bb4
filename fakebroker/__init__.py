"""A stand-in Kafka cluster in one Python process that tells the truth about acks=all."""

from __future__ import annotations

from fakebroker.core import plain_append
from fakebroker.core.errors import KafkaError
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.fake_cluster import FakeCluster

COMPILED = not str(plain_append.__file__).endswith(".py")
"""Whether the hot modules are compiled (setup.py names them), or the whole package runs as it is written."""

__version__ = "0.1.0.dev0"

__all__ = ["COMPILED", "AsyncFakeCluster", "FakeCluster", "KafkaError", "__version__"]
