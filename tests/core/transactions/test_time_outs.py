"""Expired transactions are found without a full scan, and many are ended in slices (core/transactions/time_outs.py)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask
from support.requests import batch, produce
from support.simulation import Simulation
from support.slices import count_slices
from support.transactions import TRANSACTIONAL, init, with_coordinator

from fakebroker.core.clock import NEVER_MS
from fakebroker.core.transactions.metadata import TransactionMetadata
from fakebroker.core.transactions.states import TransactionState
from fakebroker.core.transactions.time_outs import TimeOuts

S = TransactionState
MANY = 40


def transaction(number: int) -> TransactionMetadata:
    return TransactionMetadata.empty(str(number), number, 1, 0)


steps = st.lists(
    st.tuples(st.sampled_from(["begin", "end", "forget", "look"]), st.integers(0, 3), st.integers(1, 9)), max_size=40
)


@given(steps)
def test_the_expired_transactions_are_those_of_a_full_scan(taken: list[tuple[str, int, int]]) -> None:
    known = {number: transaction(number) for number in range(4)}
    time_outs = TimeOuts(lambda transaction_: known.get(transaction_.now.producer_id) is transaction_)
    now_ms = 0
    for what, number, value in taken:
        now_ms += 1
        current = known[number]
        if what == "begin":
            current.now = current.now.but(state=S.ONGOING, start_ms=now_ms, timeout_ms=value)
            time_outs.note(current)
        elif what == "end":
            current.now = current.now.but(state=S.COMPLETE_COMMIT)
        elif what == "forget":
            known[number] = transaction(number)
        else:
            now_ms += value
            late = {
                transaction_.transactional_id
                for transaction_ in known.values()
                if transaction_.now.state is S.ONGOING
                and transaction_.now.start_ms + transaction_.now.timeout_ms < now_ms
            }
            assert {
                transaction_.transactional_id for transaction_ in time_outs.over(now_ms) if transaction_ is not None
            } == late
    ends = [
        transaction_.now.start_ms + transaction_.now.timeout_ms
        for transaction_ in known.values()
        if transaction_.now.state is S.ONGOING
    ]
    assert time_outs.first_ms() == min(ends, default=NEVER_MS)


def test_an_id_stands_in_it_once() -> None:
    transaction_ = transaction(1)
    time_outs = TimeOuts(lambda _: True)
    for start_ms in range(1_000):
        transaction_.now = transaction_.now.but(state=S.ONGOING, start_ms=start_ms, timeout_ms=60_000)
        time_outs.note(transaction_)
    assert len(time_outs) == 1
    assert time_outs.first_ms() == 60_999


def open_many(simulation: Simulation) -> None:
    client = simulation.connect()
    for number in range(MANY):
        transactional_id = f"tx-{number}"
        _, producer_id, epoch = init(client, transactional_id=transactional_id)
        records = batch(producer_id=producer_id, producer_epoch=epoch, base_sequence=0, attributes=TRANSACTIONAL)
        client.send(produce("t", records=records, version=12, transactional_id=transactional_id))


def states_of(simulation: Simulation) -> set[str]:
    return {entry.transaction.now.state.value for entry in simulation.cluster.brokers[1].transactions.states.all()}


def test_those_that_are_late_at_once_are_ended_in_slices() -> None:
    simulation = with_coordinator()
    open_many(simulation)
    assert states_of(simulation) == {"Ongoing"}
    coordinator = simulation.cluster.brokers[1].transactions.coordinator
    simulation.cluster.now = simulation.now.at(simulation.now.mono_ms + 60_001)
    _, slices = count_slices(coordinator.abort_timed_out_transactions())
    assert slices > MANY / 4
    assert states_of(simulation) == {"CompleteAbort"}


def test_the_tick_ends_them_all() -> None:
    simulation = with_coordinator()
    open_many(simulation)
    simulation.advance(70_001)
    assert states_of(simulation) == {"CompleteAbort"}
    assert simulation.partition("t").leader_log.last_stable_offset == 2 * MANY


def test_ids_expire_some_at_a_time() -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    for number in range(300):
        init(client, transactional_id=f"tx-{number}")
    states = simulation.cluster.brokers[1].transactions.states
    _, slices = count_slices(states.remove_expired(0))
    assert slices == 3
    simulation.settle()
    assert not list(states.all())


def test_a_list_of_many_is_told_in_slices() -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    for number in range(300):
        init(client, transactional_id=f"tx-{number}")
    answer = ask(client, 66, 2, state_filters=(), producer_id_filters=(), duration_filter=-1)
    assert len(answer.transaction_states) == 300
