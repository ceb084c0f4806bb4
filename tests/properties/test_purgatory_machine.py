"""The purgatory against a model: a dict of operations that wait, each with its keys and its deadline."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.core.purgatory.purgatory import DelayedOperationPurgatory
from fakebroker.protocol.topic_partition import TopicPartition

START_MS = 7_000
KEYS = [TopicPartition("t", index) for index in range(4)]


class Operation(DelayedOperation):
    """Completes once all of its keys are satisfied."""

    def __init__(self, delay_ms: int, keys: list[TopicPartition], satisfied: set[TopicPartition]) -> None:
        super().__init__(delay_ms)
        self.keys = keys
        self.satisfied = satisfied
        self.completions = 0
        self.expirations = 0

    def try_complete(self) -> bool:
        assert not self.is_completed(), "a completed operation was tried again"
        return self.satisfied.issuperset(self.keys) and self.force_complete()

    def on_complete(self) -> None:
        self.completions += 1

    def on_expiration(self) -> None:
        assert self.completions == 1, "the answer comes first"
        self.expirations += 1


class PurgatoryMachine(RuleBasedStateMachine):
    @initialize(purge_interval=st.integers(0, 6))
    def begin(self, purge_interval: int) -> None:
        self.now_ms = START_MS
        self.purge_interval = purge_interval
        self.purgatory: DelayedOperationPurgatory[Operation] = DelayedOperationPurgatory(
            "test", START_MS, purge_interval
        )
        self.satisfied: set[TopicPartition] = set()
        self.waiting: dict[Operation, int] = {}  # with their deadlines
        self.done: dict[Operation, str] = {}  # and how
        self.watched_under: dict[TopicPartition, list[Operation]] = {}
        self.late: list[Operation] = []  # had no time at all

    @rule(
        delay_ms=st.sampled_from([-3, 0, 1, 5, 20, 21, 399, 400, 9_000]),
        keys=st.sets(st.sampled_from(KEYS), min_size=1),
    )
    def wait(self, delay_ms: int, keys: set[TopicPartition]) -> None:
        operation = Operation(delay_ms, sorted(keys), self.satisfied)
        completed = self.purgatory.try_complete_else_watch(operation, operation.keys, self.now_ms)
        assert completed == self.satisfied.issuperset(keys)
        if completed:
            self.done[operation] = "completed"
            return
        self.waiting[operation] = self.now_ms + delay_ms
        if delay_ms <= 0:
            self.late.append(operation)
        self.little_is_left_over()

    @rule(key=st.sampled_from(KEYS), is_satisfied=st.booleans())
    def change(self, key: TopicPartition, is_satisfied: bool) -> None:
        """Change a key, and check the operations that are watched under it."""
        (self.satisfied.add if is_satisfied else self.satisfied.discard)(key)
        ready = [o for o in self.waiting if key in o.keys and self.satisfied.issuperset(o.keys)]
        assert self.purgatory.check_and_complete(key) == len(ready)
        for operation in ready:
            del self.waiting[operation]
            self.done[operation] = "completed"

    @rule()
    def end_of_request(self) -> None:
        self.purgatory.expire_at_once()
        for operation in self.late:
            if operation not in self.done:
                self.waiting.pop(operation, None)
                self.done[operation] = "expired"
        self.late.clear()

    @rule()
    def forget_all_keys(self) -> None:
        """Cancel the operations of all keys, without a completion. An operation with no time left is already due, and
        expires."""
        cancelled = [operation for key in KEYS for operation in self.purgatory.cancel_for_key(key)]
        assert {o for o in cancelled if not o.is_completed()} == self.waiting.keys()
        for operation in self.waiting:
            if operation not in self.late:
                self.done[operation] = "cancelled"
        self.waiting.clear()
        self.end_of_request()

    @rule(ms=st.sampled_from([0, 1, 4, 19, 20, 380, 9_000]))
    def advance(self, ms: int) -> None:
        self.now_ms += ms
        self.purgatory.advance_clock(self.now_ms)
        for operation, deadline_ms in list(self.waiting.items()):
            if deadline_ms <= self.now_ms:
                del self.waiting[operation]
                self.done[operation] = "expired"
        self.little_is_left_over()

    def little_is_left_over(self) -> None:
        """Completed operations stay on lists; after a watch and an advance there are at most as many as the interval
        allows."""
        waiting = sum(len(operation.keys) for operation in self.waiting)
        assert waiting <= self.purgatory.watched() <= waiting + self.purge_interval * len(KEYS)

    @invariant()
    def counts_are_exact(self) -> None:
        if not hasattr(self, "purgatory"):
            return
        purgatory = self.purgatory
        purgatory.check_invariants()
        assert purgatory.num_delayed() == len(self.waiting)
        for operation in self.waiting:
            assert (operation.completions, operation.expirations) == (0, 0)
            assert operation.is_pending
        for operation, how in self.done.items():
            assert operation.completions == (how != "cancelled")
            assert operation.expirations == (how == "expired")
            assert not operation.is_pending
        deadline_ms = purgatory.next_deadline_ms()
        earliest = min(self.waiting.values(), default=None)
        assert (deadline_ms is None) == (earliest is None)
        assert earliest is None or (deadline_ms is not None and deadline_ms <= max(earliest, self.now_ms))

    def teardown(self) -> None:
        if hasattr(self, "purgatory"):
            self.advance(20_000)
            self.end_of_request()
            self.counts_are_exact()
            assert self.purgatory.num_delayed() == 0


TestPurgatoryMachine = PurgatoryMachine.TestCase
