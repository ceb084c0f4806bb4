"""The tests of TLS run on uvloop and on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from fakebroker import FakeCluster
from fakebroker.server import fake_cluster

pytest.importorskip("cryptography", reason="the extra security is not installed")


@pytest.fixture(params=["uvloop", "asyncio"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let clusters run on that loop."""
    if request.param == "asyncio":
        monkeypatch.setattr(fake_cluster, "new_event_loop", asyncio.new_event_loop)
    return str(request.param)


@pytest.fixture
def kafka(loop: str) -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"]) as cluster:
        yield cluster
