"""Neighbours over TLS, in the benchmark of TLS."""

from __future__ import annotations

import pytest
from support.watchdog import wait_until

from benchmarks.tls.neighbours import neighbours
from conformance import frames
from fakebroker import FakeCluster


@pytest.mark.parametrize("protocol", ["SSL", "PLAINTEXT"])
def test_neighbours_send_again_and_again(protocol: str) -> None:
    pytest.importorskip("cryptography", reason="the extra security is not installed")
    with FakeCluster(brokers=1, listeners=["SSL", "PLAINTEXT"]) as kafka:
        host, _, port = kafka.bootstrap(protocol).rpartition(":")
        ca = kafka.tls.ca if protocol == "SSL" else None
        with neighbours((host, int(port)), frames.api_versions(version=0), 3, ca) as others:
            others.begin()
            wait_until(lambda: len(kafka.journal.requests(api="ApiVersions")) > 12, "their requests")
            assert others.end() > 0
