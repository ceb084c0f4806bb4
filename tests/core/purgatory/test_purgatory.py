"""The cases of Kafka's DelayedOperationTest, in virtual time, and those that follow from the algorithm."""

from __future__ import annotations

import pytest

from fakebroker.core.clock import HasNow, Now
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.core.purgatory.purgatory import DelayedOperationPurgatory
from fakebroker.protocol.topic_partition import TopicPartition

KEY_1, KEY_2, KEY_3 = (TopicPartition("t", index) for index in range(3))
START_MS = 1_000


class Operation(DelayedOperation):
    """An operation that completes when it may. `log` records its calls, in order."""

    def __init__(self, delay_ms: int = 100_000, completable: bool = False) -> None:
        super().__init__(delay_ms)
        self.completable = completable
        self.log: list[str] = []

    def try_complete(self) -> bool:
        self.log.append("try")
        return self.completable and self.force_complete()

    def on_complete(self) -> None:
        self.log.append("complete")

    def on_expiration(self) -> None:
        self.log.append("expire")


@pytest.fixture
def purgatory() -> DelayedOperationPurgatory[Operation]:
    return DelayedOperationPurgatory("mock", START_MS)


Purgatory = DelayedOperationPurgatory[Operation]


def test_request_satisfaction(purgatory: Purgatory) -> None:
    first, second = Operation(), Operation()
    assert purgatory.check_and_complete(KEY_1) == 0
    assert not purgatory.try_complete_else_watch(first, [KEY_1], START_MS)
    assert purgatory.check_and_complete(KEY_1) == 0
    assert not purgatory.try_complete_else_watch(second, [KEY_2], START_MS)
    assert purgatory.check_and_complete(KEY_2) == 0
    first.completable = True
    assert purgatory.check_and_complete(KEY_1) == 1
    assert purgatory.check_and_complete(KEY_1) == 0
    second.completable = True
    assert purgatory.check_and_complete(KEY_2) == 1
    assert purgatory.check_and_complete(KEY_2) == 0
    assert (purgatory.watched(), purgatory.num_delayed()) == (0, 0)
    purgatory.check_invariants()


def test_request_expiry(purgatory: Purgatory) -> None:
    soon, late = Operation(20), Operation(200_000)
    for operation in (soon, late):
        purgatory.try_complete_else_watch(operation, [KEY_1], START_MS)
    purgatory.advance_clock(START_MS + 19)
    assert not soon.is_completed()
    purgatory.advance_clock(START_MS + 20)
    assert soon.log == ["try", "try", "complete", "expire"]
    assert not late.is_completed()
    assert purgatory.num_delayed() == 1


def test_a_skip_brings_what_waits_without_skips_no_nearer() -> None:
    clock = HasNow(Now(START_MS, 0))
    clock.skipped_ms = 300
    purgatory = Purgatory("mock", START_MS, without_skips=clock)
    operation = Operation(20)
    purgatory.try_complete_else_watch(operation, [KEY_1], START_MS)
    assert purgatory.next_deadline_ms() == START_MS + 20
    assert purgatory.moves_with_skips
    assert purgatory.num_awaited() == 0
    clock.skipped_ms += 5_000
    assert purgatory.next_deadline_ms() == START_MS + 5_020
    purgatory.advance_clock(START_MS + 5_019)
    assert not operation.is_completed()
    purgatory.advance_clock(START_MS + 5_020)
    assert operation.log == ["try", "try", "complete", "expire"]


def test_request_purge(purgatory: Purgatory) -> None:
    one, two, three = Operation(), Operation(), Operation()
    purgatory.try_complete_else_watch(one, [KEY_1], START_MS)
    purgatory.try_complete_else_watch(two, [KEY_1, KEY_2], START_MS)
    purgatory.try_complete_else_watch(three, [KEY_1, KEY_2, KEY_3], START_MS)
    assert (purgatory.num_delayed(), purgatory.watched()) == (3, 6)
    two.force_complete()
    assert purgatory.num_delayed() == 2
    three.force_complete()
    assert purgatory.num_delayed() == 1
    purgatory.check_and_complete(KEY_1)
    assert purgatory.watched() == 4
    purgatory.check_and_complete(KEY_2)
    assert purgatory.watched() == 2
    purgatory.check_and_complete(KEY_3)
    assert purgatory.watched() == 1


def test_cancel_for_key_returns_what_was_watched_there(purgatory: Purgatory) -> None:
    first, second, other = Operation(10_000), Operation(10_000), Operation(10_000)
    for operation in (first, second):
        purgatory.try_complete_else_watch(operation, [KEY_1], START_MS)
    purgatory.try_complete_else_watch(other, [KEY_2], START_MS)
    assert purgatory.cancel_for_key(KEY_1) == [first, second]
    assert (purgatory.num_delayed(), purgatory.watched()) == (1, 1)
    assert "complete" not in first.log


def test_cancel_for_an_unknown_key_returns_nothing(purgatory: Purgatory) -> None:
    assert purgatory.cancel_for_key(KEY_1) == []


def test_what_is_satisfied_at_once_leaves_no_trace(purgatory: Purgatory) -> None:
    operation = Operation(completable=True)
    assert purgatory.try_complete_else_watch(operation, [KEY_1], START_MS)
    assert operation.log == ["try", "complete"]
    assert (purgatory.watched(), purgatory.num_delayed()) == (0, 0)
    assert purgatory.next_deadline_ms() is None


def test_an_event_between_the_first_try_and_the_watching_is_not_lost(purgatory: Purgatory) -> None:
    class Late(Operation):
        def try_complete(self) -> bool:
            done = super().try_complete()
            self.completable = True  # the event comes right after the first look
            return done

    operation = Late()
    assert purgatory.try_complete_else_watch(operation, [KEY_1, KEY_2], START_MS)
    assert operation.log == ["try", "try", "complete"]
    assert purgatory.num_delayed() == 0


def test_an_operation_completed_elsewhere_while_it_is_added_returns_false_and_starts_no_timer(
    purgatory: Purgatory,
) -> None:
    class Stolen(Operation):
        def try_complete(self) -> bool:
            self.force_complete()
            return False

    operation = Stolen()
    assert not purgatory.try_complete_else_watch(operation, [KEY_1], START_MS)
    assert operation.log == ["complete"]
    assert purgatory.num_delayed() == 0


def test_a_key_is_needed(purgatory: Purgatory) -> None:
    with pytest.raises(ValueError, match="watch key list can't be empty"):
        purgatory.try_complete_else_watch(Operation(), [], START_MS)


def test_expiry_after_completion_changes_nothing() -> None:
    operation = Operation()
    assert operation.force_complete()
    operation.run()
    assert operation.log == ["complete"]
    assert not operation.force_complete()


def test_timeout_zero_expires_at_the_same_millisecond_but_not_inside_the_call(purgatory: Purgatory) -> None:
    operation = Operation(0)
    assert not purgatory.try_complete_else_watch(operation, [KEY_1], START_MS)
    assert not operation.is_completed()
    deadline_ms = purgatory.next_deadline_ms()
    assert deadline_ms is not None
    assert deadline_ms <= START_MS
    purgatory.advance_clock(START_MS)
    assert operation.log == ["try", "try", "complete", "expire"]


def test_leftovers_are_purged_once_they_exceed_the_interval() -> None:
    purgatory = Purgatory("mock", START_MS, purge_interval=10)
    for count in range(1, 31):
        operation = Operation()
        purgatory.try_complete_else_watch(operation, [KEY_1, KEY_2], START_MS)
        operation.force_complete()
        assert purgatory.watched() <= 2 * 12, f"after {count} operations"
    assert purgatory.num_delayed() == 0


def leave_over(purgatory: Purgatory) -> None:
    """Complete an operation through one of its keys, so that it stays on the list of the other."""
    operation = Operation()
    purgatory.try_complete_else_watch(operation, [KEY_1, KEY_2], START_MS)
    operation.completable = True
    assert purgatory.check_and_complete(KEY_1) == 1


def test_watched_operations_are_not_purged() -> None:
    purgatory = Purgatory("mock", START_MS, purge_interval=2)
    leave_over(purgatory)
    for _ in range(5):
        purgatory.try_complete_else_watch(Operation(), [KEY_3], START_MS)
    assert (purgatory.watched(), purgatory.num_delayed()) == (6, 5)


def test_after_a_purge_the_count_of_leftovers_begins_anew() -> None:
    purgatory = Purgatory("mock", START_MS, purge_interval=2)
    for _ in range(3):
        leave_over(purgatory)
    purgatory.advance_clock(START_MS + 1)
    assert purgatory.watched() == 0
    leave_over(purgatory)
    purgatory.advance_clock(START_MS + 2)
    assert purgatory.watched() == 1


def test_a_completed_operation_is_not_tried_again(purgatory: Purgatory) -> None:
    operation = Operation()
    purgatory.try_complete_else_watch(operation, [KEY_1, KEY_2], START_MS)
    operation.completable = True
    assert purgatory.check_and_complete(KEY_1) == 1
    tries = operation.log.count("try")
    assert purgatory.check_and_complete(KEY_2) == 0
    assert operation.log.count("try") == tries


def test_a_completion_that_watches_a_new_operation_under_the_same_key(purgatory: Purgatory) -> None:
    follow_up = Operation()

    class Chained(Operation):
        def on_complete(self) -> None:
            super().on_complete()
            purgatory.try_complete_else_watch(follow_up, [KEY_1], START_MS)

    chained = Chained()
    purgatory.try_complete_else_watch(chained, [KEY_1], START_MS)
    chained.completable = True
    assert purgatory.check_and_complete(KEY_1) == 1
    assert not follow_up.is_completed()
    assert (purgatory.watched(), purgatory.num_delayed()) == (1, 1)
    follow_up.completable = True
    assert purgatory.check_and_complete(KEY_1) == 1
