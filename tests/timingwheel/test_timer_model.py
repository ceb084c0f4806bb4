"""The timer against a sorted list, under anything a program can do to it.

The model keeps (deadline, order of adding) of every pending task. A timer has the tick T and starts anywhere. An
advance to `now` must run exactly the tasks that were pending when it began, with a deadline in or before the tick of
`now`. They run in the order of the list, except for those that a callback removed meanwhile.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from timingwheel import SystemTimer, TimerTask

YEAR_MS = 365 * 86_400_000

delays = st.one_of(
    st.integers(-5, 5),
    st.integers(0, 100),
    st.integers(0, 100_000),
    st.integers(-YEAR_MS, YEAR_MS),
    st.sampled_from([2**31, 2**53 + 1, 2**63 - 1]),
)
steps = st.one_of(
    st.just(0), st.integers(0, 3), st.integers(0, 500), st.integers(0, 100_000), st.integers(0, 20 * YEAR_MS)
)
limits = st.one_of(st.none(), st.integers(0, 4))
picks = st.integers(0, 1_000)


class Action(NamedTuple):
    """The action of a callback: a word, the task that it concerns, and the delay."""

    word: str
    pick: int
    delay_ms: int


actions = st.builds(Action, st.sampled_from(["add", "twin", "again", "cancel", "move", "raise"]), picks, delays)
programs = st.one_of(st.just(()), st.lists(actions, max_size=3).map(tuple))


class Told(Exception):
    """An exception that the program of a callback raises."""


class Task(TimerTask):
    __slots__ = ("machine", "program")

    def __init__(self, delay_ms: int, machine: TimerModel, program: tuple[Action, ...]) -> None:
        super().__init__(delay_ms)
        self.machine = machine
        self.program = program

    def run(self) -> None:
        self.machine.on_run(self)


class TimerModel(RuleBasedStateMachine):
    steps_done = 0
    may_answer_early = False

    @initialize(
        tick_ms=st.sampled_from([1, 1, 2, 3, 10, 29]),
        wheel_size=st.sampled_from([2, 3, 4, 7, 20]),
        start_ms=st.integers(-1_000, 10**10),
    )
    def start(self, tick_ms: int, wheel_size: int, start_ms: int) -> None:
        self.timer = SystemTimer(start_ms, tick_ms, wheel_size)
        self.tick_ms = tick_ms
        self.now_ms = start_ms
        self.adds = 0
        self.pending: dict[Task, tuple[int, int]] = {}
        self.idle: list[Task] = []
        self.expected: list[Task] = []
        self.ran = 0

    # What the rules and the callbacks do, to the timer and to the model alike.

    def add(self, task: Task, delay_ms: int) -> None:
        task.delay_ms = delay_ms
        self.adds += 1
        self.pending[task] = (self.now_ms + delay_ms, self.adds)
        if task in self.expected:
            self.expected.remove(task)
        self.timer.add(task, self.now_ms)
        assert task.is_pending
        assert task.deadline_ms == self.now_ms + delay_ms

    def cancel(self, task: Task) -> None:
        assert task.cancel() is (self.pending.pop(task, None) is not None)
        assert not task.is_pending
        assert task.deadline_ms is None
        if task in self.expected:
            self.expected.remove(task)
        self.idle.append(task)

    def add_twin(self, task: Task) -> None:
        delay_ms = self.pending[task][0] - self.now_ms
        self.add(Task(delay_ms, self, ()), delay_ms)

    def pick(self, number: int) -> Task | None:
        return list(self.pending)[number % len(self.pending)] if self.pending else None

    def due(self) -> list[Task]:
        tick = self.now_ms // self.tick_ms
        tasks = [task for task, (deadline_ms, _) in self.pending.items() if deadline_ms // self.tick_ms <= tick]
        return sorted(tasks, key=self.pending.__getitem__)

    def on_run(self, task: Task) -> None:
        assert self.expected, "a task ran that was not due, or that was added during the advance"
        assert self.expected.pop(0) is task, "out of order"
        deadline_ms, _ = self.pending.pop(task)
        assert deadline_ms - self.now_ms < self.tick_ms, "too early"
        assert not task.is_pending
        assert self.timer.size == len(self.pending)
        self.ran += 1
        self.idle.append(task)
        for word, number, delay_ms in task.program:
            other = self.pick(number)
            if word == "add":
                self.add(Task(delay_ms, self, ()), delay_ms)
            elif word == "twin" and other is not None:
                self.add_twin(other)
            elif word == "again":
                self.add(task, delay_ms)
            elif word == "cancel" and other is not None:
                self.cancel(other)
            elif word == "move" and other is not None:
                self.add(other, delay_ms)
            elif word == "raise":
                raise Told
            self.timer.check_invariants()

    # The rules.

    @rule(delay_ms=delays, program=programs)
    def add_one(self, delay_ms: int, program: tuple[Action, ...]) -> None:
        self.add(Task(delay_ms, self, program), delay_ms)

    @rule(delay_ms=delays, count=st.integers(2, 6), program=programs)
    def add_several_with_one_deadline(self, delay_ms: int, count: int, program: tuple[Action, ...]) -> None:
        for _ in range(count):
            self.add(Task(delay_ms, self, program), delay_ms)

    @precondition(lambda self: self.pending)
    @rule(number=picks, delay_ms=delays)
    def reschedule(self, number: int, delay_ms: int) -> None:
        task = self.pick(number)
        assert task is not None
        self.add(task, delay_ms)

    @precondition(lambda self: self.pending)
    @rule(number=picks)
    def same_deadline_as_another(self, number: int) -> None:
        task = self.pick(number)
        assert task is not None
        self.add_twin(task)

    @precondition(lambda self: self.idle)
    @rule(number=picks, delay_ms=delays)
    def use_a_task_again(self, number: int, delay_ms: int) -> None:
        self.add(self.idle.pop(number % len(self.idle)), delay_ms)

    @precondition(lambda self: self.pending)
    @rule(number=picks)
    def cancel_one(self, number: int) -> None:
        task = self.pick(number)
        assert task is not None
        self.cancel(task)

    @rule(step_ms=steps, limit=limits)
    def advance(self, step_ms: int, limit: int | None) -> None:
        self.now_ms += step_ms
        promised_ms = self.timer.next_deadline_ms()
        self.expected = self.due()
        if self.expected:
            assert promised_ms is not None
            assert promised_ms <= self.now_ms, "it would not have been woken"
        self.ran = 0
        try:
            count = self.timer.advance_clock(self.now_ms, limit)
        except Told:
            assert limit is None or self.ran <= limit
        else:
            assert count == self.ran
            assert limit is None or count <= limit
            if self.may_answer_early and limit is not None and self.expected:
                next_ms = self.timer.next_deadline_ms()
                assert next_ms is not None
                assert next_ms <= self.now_ms, "a due task was left without a wake-up"
            else:
                assert count == limit or not self.expected, "a due task was left"
        finally:
            self.expected = []

    @precondition(lambda self: self.timer.next_deadline_ms() is not None)
    @rule(limit=limits)
    def advance_to_the_next_deadline(self, limit: int | None) -> None:
        deadline_ms = self.timer.next_deadline_ms()
        assert deadline_ms is not None
        self.advance(max(0, deadline_ms - self.now_ms), limit)

    @rule(step_ms=steps)
    def pop(self, step_ms: int) -> None:
        self.now_ms += step_ms
        due = self.due()
        task = self.timer.pop_due(self.now_ms)
        assert task is (due[0] if due else None)
        if isinstance(task, Task):
            del self.pending[task]
            self.idle.append(task)

    @invariant()
    def agrees(self) -> None:
        type(self).steps_done += 1
        if not hasattr(self, "timer"):
            return
        self.timer.check_invariants()
        assert self.timer.size == len(self.pending)
        first_ms = min((deadline_ms for deadline_ms, _ in self.pending.values()), default=None)
        next_ms = self.timer.next_deadline_ms()
        if first_ms is None:
            assert next_ms is None
        else:
            assert next_ms is not None
            assert next_ms <= first_ms
        del self.idle[:-20]


class CrowdedModel(TimerModel):
    """A model with so little work allowed per advance that buckets are left half moved."""

    may_answer_early = True


def run_model(model: type[TimerModel], thorough_examples: int, thorough_steps: int) -> None:
    thorough = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
    model.steps_done = 0
    run_state_machine_as_test(
        model,
        settings=settings(
            max_examples=thorough_examples if thorough else 60,
            stateful_step_count=100 if thorough else 50,
            derandomize=not thorough,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
    # A test of the test: Hypothesis may end examples early, and takes as many steps as are claimed all the same.
    assert model.steps_done >= (thorough_steps if thorough else 1_500), f"only {model.steps_done} steps"


@pytest.mark.slow
def test_the_timer_is_a_sorted_list() -> None:
    run_model(TimerModel, thorough_examples=3_000, thorough_steps=200_000)


@pytest.mark.slow
def test_the_timer_is_a_sorted_list_when_work_is_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timingwheel.timer.MIN_MOVES", 2)
    run_model(CrowdedModel, thorough_examples=800, thorough_steps=50_000)
