"""Requests of partition leaders to transaction coordinators, one at a time (AddPartitionsToTxnManagerTest)."""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.transactions.add_partitions_manager import AddPartitionsToTxnManager, Answered, Question
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

T0 = TopicPartition("t", 0)
NONE, FENCED_EPOCH, NETWORK = ErrorCode.none, ErrorCode.invalid_producer_epoch, ErrorCode.network_exception


class World:
    """A manager with two brokers. `asked` are pending verifications, `told` their results."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str, Answered]] = []
        self.told: list[tuple[str, int, ErrorCode]] = []
        self.later: list[tuple[int, Callable[[], None]]] = []
        self.manager = AddPartitionsToTxnManager(
            lambda broker_id, question, answered: self.asked.append((broker_id, question.transactional_id, answered)),
            lambda delay_ms, call: self.later.append((delay_ms, call)),
            lambda: 30_000,
        )

    def ask(self, transactional_id: str, epoch: int = 0, broker_id: int = 1) -> None:
        question = Question(
            transactional_id,
            ProducerIdAndEpoch(7, epoch),
            frozenset({T0}),
            True,
            lambda errors: self.told.append((transactional_id, epoch, errors[T0])),
        )
        self.manager.add_or_verify_transaction(broker_id, question)

    def answer(self, code: ErrorCode = NONE) -> None:
        """Answer the oldest pending verification."""
        self.asked.pop(0)[2]({T0: code})

    def at(self) -> list[tuple[int, str]]:
        return [(broker_id, transactional_id) for broker_id, transactional_id, _ in self.asked]


def test_one_request_to_each_broker() -> None:
    world = World()
    world.ask("a")
    world.ask("b")
    world.ask("c")
    world.ask("d", broker_id=2)
    assert world.at() == [(1, "a"), (2, "d")]
    world.answer()
    assert world.told == [("a", 0, NONE)]
    assert world.at() == [(2, "d"), (1, "b"), (1, "c")]


def test_what_goes_together_is_answered_together() -> None:
    world = World()
    for transactional_id in "abc":
        world.ask(transactional_id)
    world.answer()
    world.answer(ErrorCode.concurrent_transactions)
    assert len(world.told) == 1
    world.answer()
    assert world.told[1:] == [("b", 0, ErrorCode.concurrent_transactions), ("c", 0, NONE)]


def test_a_pending_verification_with_an_older_epoch_is_replaced() -> None:
    world = World()
    world.ask("a")
    world.ask("b", epoch=1)
    world.ask("b", epoch=1)
    assert world.told == [("b", 1, NETWORK)]
    world.ask("b", epoch=2)
    assert world.told[1:] == [("b", 1, FENCED_EPOCH)]
    world.ask("b", epoch=1)
    assert world.told[2:] == [("b", 1, FENCED_EPOCH)]
    world.answer()
    world.answer()
    assert world.told[3:] == [("a", 0, NONE), ("b", 2, NONE)]


def test_no_answer_in_time() -> None:
    world = World()
    world.ask("a")
    world.ask("b")
    [(delay_ms, timed_out)] = world.later
    assert delay_ms == 30_000
    timed_out()
    assert world.told == [("a", 0, NETWORK)]
    assert world.at() == [(1, "a"), (1, "b")]
    world.answer()  # too late
    assert world.told == [("a", 0, NETWORK)]
    world.answer()
    assert world.told == [("a", 0, NETWORK), ("b", 0, NONE)]
    timed_out()
    assert len(world.told) == 2


def test_whose_broker_stops() -> None:
    world = World()
    world.ask("a")
    world.ask("b")
    world.manager.close()
    world.answer()
    assert (world.told, world.asked) == ([], [])
