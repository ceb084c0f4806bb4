"""AddOffsetsToTxn, every version (apis/transactions/add_offsets_to_txn.py)."""

from __future__ import annotations

import pytest
from support.asking import ask, served_versions
from support.transactions import ADD_OFFSETS, end, init, with_coordinator

MAPPING, FENCED_EPOCH, FENCED = 49, 47, 90


@pytest.mark.parametrize("version", served_versions(ADD_OFFSETS))
def test_the_partition_of_the_group_gets_a_marker(version: int) -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    values = {"transactional_id": "tx", "producer_id": producer_id, "producer_epoch": epoch, "group_id": "g"}
    assert int(ask(client, ADD_OFFSETS, version, **values).error_code) == 0
    end(client, (producer_id, epoch), version=4)
    assert simulation.partition("__consumer_offsets").leader_log.log_end_offset == 1
    other = values | {"producer_id": producer_id + 1}
    assert int(ask(client, ADD_OFFSETS, version, **other).error_code) == MAPPING
    other = values | {"producer_epoch": epoch + 1}
    assert int(ask(client, ADD_OFFSETS, version, **other).error_code) == (FENCED_EPOCH if version < 2 else FENCED)
