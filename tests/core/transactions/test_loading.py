"""A coordinator reads the log of its transactions in slices (core/transactions/loading.py)."""

from __future__ import annotations

from support.slices import count_slices
from support.transactions import init, with_coordinator

from fakebroker.core.transactions.loading import read_log

IDS = 300
OF_A_SLICE = 64  # records


def test_a_long_log_is_read_in_slices_once_for_its_records_and_once_for_its_transactions() -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    for number in range(IDS):
        init(client, transactional_id=f"tx-{number}")
    transactions, slices = count_slices(read_log(simulation.partition("__transaction_state").leader_log))
    assert [transaction.transactional_id for transaction in transactions] == [f"tx-{number}" for number in range(IDS)]
    assert slices == 1 + 2 * (IDS // OF_A_SLICE)
