"""Transactions as a Hypothesis state machine, in virtual time: the actions of a plan, with the judge and the oracle of
the logs' bytes after every step.

    TestTransactions = TransactionMachine.TestCase

A failure ends with the command that runs it again without Hypothesis: `fakebroker replay 0 --transactions --plan
"..."`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import Action, to_text
from fakebroker.testing.transactions.plan import ACTIONS, TransactionRun


def _step(name: str) -> st.SearchStrategy[Action]:
    numbers = st.tuples(*[st.integers(0, 7)] * len(ACTIONS[name][1]))
    return numbers.map(lambda drawn: Action(name, drawn))


def _steps(*names: str) -> st.SearchStrategy[Action]:
    return st.one_of(*map(_step, names))


class TransactionMachine(RuleBasedStateMachine):
    """Producers, processors and readers, with faults of them and of their cluster. `steps` counts the steps of all
    machines."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.run = TransactionRun()

    def perform(self, step: Action) -> None:
        """Perform a step, and check everything that must hold after it."""
        type(self).steps += 1
        self._guarded(lambda: self.run.perform(step))

    @initialize(brokers=st.sampled_from([1, 3]), partitions=st.integers(1, 2), version=st.sampled_from([2, 1]))
    def begin(self, brokers: int, partitions: int, version: int) -> None:
        self.perform(Action("transactions", (brokers, partitions, version, 1)))
        self.perform(Action("reader", (0,)))

    @rule(step=_steps("producer", "processor", "reader"))
    def come(self, step: Action) -> None:
        self.perform(step)

    @rule(step=_steps("transact"), ms=st.sampled_from([0, 5, 40, 100]))
    def transact(self, step: Action, ms: int) -> None:
        """Start a transaction of an existing producer, or of a new one."""
        if not self.run.world.producers:
            self.perform(Action("producer", (0, 1, 0)))
        self.perform(step)
        self.perform(Action("advance", (ms,)))

    @rule(step=_steps("plain", "input"))
    def write_without_a_transaction(self, step: Action) -> None:
        self.perform(step)

    @rule(step=_steps("crashes", "pauses", "wakes", "sleeps"))
    def fail_a_client(self, step: Action) -> None:
        self.perform(step)

    @rule(step=_steps("hold", "lateend", "drop", "lose", "deliver"))
    def fail_a_message(self, step: Action) -> None:
        self.perform(step)

    @rule(step=_steps("followers", "stop", "start", "move", "coordinator", "group"))
    def fail_the_cluster(self, step: Action) -> None:
        self.perform(step)

    @rule(ms=st.sampled_from([1, 5, 10, 40, 100, 500, 2_500, 8_000]))
    def advance(self, ms: int) -> None:
        self.perform(Action("advance", (ms,)))

    def teardown(self) -> None:
        if self.run.performed:
            self._guarded(self.run.finish)

    def _guarded(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Violation as violation:
            plan = shlex.quote(to_text(self.run.performed))
            violation.add_note(f"Again: fakebroker replay {self.run.seed} --transactions --plan {plan}")
            raise
