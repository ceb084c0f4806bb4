"""EndTxn, every version (apis/transactions/end_txn.py)."""

from __future__ import annotations

import pytest
from support.asking import served_versions
from support.transactions import END, add, end, init, with_coordinator

FENCED_EPOCH, FENCED, MAPPING, INVALID_STATE = 47, 90, 49, 48


@pytest.mark.parametrize("version", served_versions(END))
@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_ends(version: int, committed: bool) -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    add(client, (producer_id, epoch), 0, 1)
    expected = (0, producer_id, epoch + 1) if version >= 5 else (0, -1, -1)
    assert end(client, (producer_id, epoch), committed, version) == expected
    for partition in (0, 1):
        log = simulation.partition("t", partition).leader_log
        assert (log.log_end_offset, log.last_stable_offset) == (1, 1)  # the mark


@pytest.mark.parametrize("version", served_versions(END))
def test_end_txn_refuses_another_producer_id_or_epoch(version: int) -> None:
    client = with_coordinator().connect()
    _, producer_id, epoch = init(client)
    add(client, (producer_id, epoch), 0)
    assert end(client, (producer_id + 1, epoch), version=version)[0] == MAPPING
    code = end(client, (producer_id, epoch + 1), version=version)[0]
    assert code == (FENCED_EPOCH if version < 2 else FENCED)


@pytest.mark.parametrize("version", served_versions(END))
def test_nothing_is_open(version: int) -> None:
    client = with_coordinator().connect()
    _, producer_id, epoch = init(client)
    assert end(client, (producer_id, epoch), version=version)[0] == INVALID_STATE
