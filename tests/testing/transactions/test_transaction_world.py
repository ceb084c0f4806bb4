"""The world of transactions: what producers, processors and readers do in it, and what a late request may do."""

from __future__ import annotations

import pytest

from fakebroker.testing.history import describe
from fakebroker.testing.transactions.judge import PRECOMMITTED_READ, UNSETTLED
from fakebroker.testing.transactions.processor import Processor
from fakebroker.testing.transactions.producer import TransactionalProducer
from fakebroker.testing.transactions.world import TransactionWorld

A, B = ("t", 0), ("t", 1)

versions = pytest.mark.parametrize("version", [1, 2])


@versions
@pytest.mark.parametrize("brokers", [1, 3])
def test_commits_and_aborts(version: int, brokers: int) -> None:
    world = TransactionWorld(brokers, version=version)
    producer = world.producer("tx")
    for commits in (True, False, True):
        producer.transact({A: 2, B: 1}, commits)
    world.plain(A, 2)
    world.finish()
    assert world.history.findings == []
    assert (producer.committed, producer.aborted) == (2, 1)
    committed, everything = world.readers
    assert [len(committed.kept[place]) for place in (A, B)] == [6, 2]
    assert [len(everything.kept[place]) for place in (A, B)] == [8, 3]


@versions
def test_a_producer_with_the_same_id_fences_the_earlier_one(version: int) -> None:
    world = TransactionWorld(version=version)
    first = world.producer("tx", pace_ms=700)
    first.transact({A: 1, B: 1}, commits=True)
    world.advance(3_000)
    assert first.transaction is not None
    second = world.producer("tx")
    second.transact({A: 1}, commits=True)
    world.finish()
    assert world.history.findings == []
    assert (first.is_fenced, first.committed, second.committed) == (True, 0, 1)
    assert [value for _, value in world.readers[0].kept[A]] == [b"tx.1-1 t-0 0"]


@versions
def test_a_paused_producer_is_aborted_and_fenced(version: int) -> None:
    """Time-outs are looked at every second here. With version 2 its own late abort is answered as if it came again, and
    it goes on."""
    world = TransactionWorld(version=version)
    producer = world.producer("tx", timeout_ms=2_000, pace_ms=50)
    producer.transact({A: 1, B: 1}, commits=True)
    while producer.transaction is None or len(producer.transaction.left) > 1:
        world.advance(1)
    producer.is_paused = True
    log = world.simulation.partition(*A).leader_log
    assert (log.last_stable_offset, log.log_end_offset) == (0, 1)
    world.advance(3_100)
    assert (log.last_stable_offset, log.log_end_offset) == (2, 2)
    world.finish()
    assert (producer.is_fenced, producer.committed, producer.aborted) == (version == 1, 0, version - 1)
    assert world.readers[0].kept[A] == []
    assert world.history.findings == []


@versions
def test_a_program_that_consumes_transforms_and_produces(version: int) -> None:
    world = TransactionWorld(version=version)
    world.plain(world.source, 7)
    program = world.processor()
    world.advance(300)
    program.crash()
    world.advance(100)
    world.processor()
    world.finish()
    assert world.history.findings == []
    assert len(world.readers[0].kept[A]) == 7
    assert isinstance(program, Processor)


def second_transaction_after_a_late_end(version: int) -> tuple[TransactionWorld, TransactionalProducer]:
    """The first commit comes once more while the second transaction is open: its first try was held back."""
    world = TransactionWorld(version=version)
    world.reader(is_committed=True)
    producer = world.producer("tx", pace_ms=50)
    producer.transact({A: 1}, commits=True)
    producer.line.fault = "hold end"
    while not producer.committed:
        world.advance(1)
    producer.transact({A: 1, B: 1}, commits=True)
    while producer.transaction is None or len(producer.transaction.left) > 1:
        world.advance(1)
    assert len(world.network.held) == 1
    producer.is_paused = True
    world.deliver(0)
    world.advance(2_000)
    world.finish()
    return world, producer


def test_version_1_tears_by_a_late_message() -> None:
    world, producer = second_transaction_after_a_late_end(version=1)
    assert world.may_tear
    assert PRECOMMITTED_READ in {finding.kind for finding in world.history.findings}
    assert producer.committed == 1


def test_version_2_does_not() -> None:
    world, producer = second_transaction_after_a_late_end(version=2)
    assert not world.may_tear
    assert world.history.findings == [], describe(world.history.findings)
    assert producer.committed == 2


def test_a_transaction_that_cannot_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakebroker.testing.transactions.world.SETTLES_MS", 1_000)
    world = TransactionWorld()
    producer = world.producer("tx", timeout_ms=15_000)
    producer.transact({A: 1}, commits=True)
    while producer.transaction is None or producer.transaction.left:
        world.advance(1)
    producer.crash()
    world.finish()
    [finding] = world.history.findings
    assert finding.kind == UNSETTLED
    assert "('t', 0) is open from 0 on" in finding.sentence


@versions
@pytest.mark.parametrize("fault", ["hold", "drop", "lose"])
def test_any_request_may_go_wrong(version: int, fault: str) -> None:
    """Each one in turn, of the requests that a producer sends."""
    for step in range(6):
        world = TransactionWorld(version=version, check_every=100)
        producer = world.producer("tx", timeout_ms=15_000)
        producer.transact({A: 1, B: 1}, commits=True)
        producer.transact({A: 1, B: 1}, commits=True)
        while producer._number < step:
            world.advance(1)
        producer.line.fault = fault
        world.finish()
        assert (producer.committed, world.history.findings) == (2, []), step
