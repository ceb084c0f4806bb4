"""What an append costs while a fetch waits for more: no more than without it, however long the log is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.batches import keyed
from support.requests import fetch, produce
from support.simulation import Simulation

from fakebroker.core.log.log import Log, LoggedBatch

APPENDS = 300


@pytest.mark.interpreted
@pytest.mark.parametrize("readers", [0, 3])
def test_an_append_does_not_look_at_all_that_a_parked_fetch_could_read(
    readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    walk = Log.batches_from

    def counted(log: Log, offset: int) -> Iterator[LoggedBatch]:
        nonlocal looked_at
        for batch in walk(log, offset):
            looked_at += 1
            yield batch

    monkeypatch.setattr(Log, "batches_from", counted)
    simulation = Simulation()
    simulation.topic()
    waiting = [simulation.connect() for _ in range(readers)]
    for reader in waiting:
        reader.send(fetch("t", min_bytes=1 << 19, max_wait_ms=60_000))
    writer = simulation.connect()
    for _ in range(APPENDS):
        writer.send(produce("t", records=keyed(), acks=1))
    assert len(writer.answers) == APPENDS
    assert [reader.answers for reader in waiting] == [[]] * readers
    # Two followers copy each batch.
    assert looked_at <= 4 * APPENDS
