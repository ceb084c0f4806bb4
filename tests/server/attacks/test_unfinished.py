"""Unfinished exchanges: responses that are not read, requests that are never complete."""

from __future__ import annotations

import pytest
from support.requests import produce
from support.under_attack import hold

from benchmarks.neighbours import hostile

MIB = 1 << 20


@pytest.mark.slow
def test_clients_that_fetch_55_mib_and_do_not_read() -> None:
    fill = [produce("busy", acks=1, records=hostile.plain_batch(1_000_000))] * 56
    fetch = hostile.fetch_much("busy", 64 * MIB)
    hold(fetch, "busy:1:1", memory_mib=128, connections=30, target="busy", fill=fill, reads=False, once=True)


def test_requests_that_announce_100_mb_and_stop_half_way() -> None:
    """The broker takes no more memory than the received bytes: 20 times 4 MiB."""
    begun = (100_000_000).to_bytes(4, "big") + bytes(4 * MIB)
    hold(begun, memory_mib=80 + 48, connections=20, once=True)
