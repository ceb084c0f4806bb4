"""Plans of transactions among faults: text, the same from the same seed, carried out."""

from __future__ import annotations

import pytest

from fakebroker.core.journal.journal import to_lines
from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import to_text
from fakebroker.testing.transactions.plan import (
    TransactionRun,
    random_transaction_plan,
    transaction_plan_fails,
    transaction_plan_from_text,
)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_is_the_same_history(seed: int) -> None:
    def history() -> list[str]:
        run = TransactionRun(random_transaction_plan(seed, 25), seed)
        run.run()
        return list(to_lines(run.world.journal))

    assert history() == history()


def test_a_plan_is_a_line_of_text() -> None:
    plan = random_transaction_plan(3, 60)
    assert transaction_plan_from_text(to_text(plan)) == plan
    assert random_transaction_plan(4, 60) != plan
    assert [random_transaction_plan(seed, 4)[0].arguments[2] for seed in (0, 1)] == [2, 1]


@pytest.mark.parametrize("text", ["dance", "transactions 3", "hold"])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no action of transactions"):
        transaction_plan_from_text(text)


@pytest.mark.parametrize("text", ["hold 1", "transactions 1 1 1 1; transactions 1 1 1 1"])
def test_a_plan_begins_with_its_transactions_and_has_them_once(text: str) -> None:
    with pytest.raises(ValueError, match="a plan"):
        TransactionRun(transaction_plan_from_text(text)).run()
    assert not transaction_plan_fails(transaction_plan_from_text(text), 0)


def test_a_violation_tells_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakebroker.testing.transactions.world.SETTLES_MS", 1_000)
    plan = transaction_plan_from_text("transactions 1 1 2 1; producer 0 2 3; transact 0 1 1 1; advance 2500; crashes 0")
    with pytest.raises(Violation, match=r"the end at \d+ ms: unsettled: .*\nplan: transactions 1 1 2 1; producer"):
        TransactionRun(plan).run()
    assert transaction_plan_fails(plan, 0)


@pytest.mark.parametrize(
    "text",
    [
        # Markers waited at a broker that stopped.
        "transactions 3 2 2 2; move 2 7; followers 3 4 3; producer 3 3 6; transact 7 5 2 4; drop 3; advance 5000;"
        "advance 499; transact 7 3 3 2; stop 7",
        # A request that an append completed had run the rest of the queue of actions.
        "transactions 4 3 2 1; producer 0 1 0; reader 0; transact 0 7 2 1; advance 5; transact 0 3 1 3; wakes 5;"
        "stop 3; move 6 3; pauses 7; transact 3 1 5 0; transact 1 5 7 0; producer 3 3 3; transact 4 4 7 7; hold 0;"
        "wakes 4; stop 6; advance 40; plain 0 5; crashes 5; advance 10; producer 2 5 5; advance 499; advance 5000",
        # All incarnations of a program are fenced by one that was slow to begin.
        "transactions 3 2 1 1; input 3; processor 4 2; processor 3 3; processor 0 2",
    ],
)
def test_what_was_found(text: str) -> None:
    TransactionRun(transaction_plan_from_text(text)).run()
