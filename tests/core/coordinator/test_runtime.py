"""Operations of a coordinator, and the fate of their records."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.coordinator_harness import POISON, TIMEOUT_MS, CoordinatorHarness, Name, Text, Texts

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch
from fakebroker.protocol.slices import Slices


@pytest.fixture
def harness() -> CoordinatorHarness:
    return CoordinatorHarness()


def _just(result: CoordinatorResult[str], shard: Texts) -> CoordinatorResult[str]:
    return result


def codes(answers: list[Any]) -> list[ErrorCode]:
    return [answer.code for answer in answers]


def test_what_is_committed_is_answered_and_read(harness: CoordinatorHarness) -> None:
    assert harness.write(a="1", b="2") == [["a", "b"]]
    assert harness.read() == {"a": "1", "b": "2"}
    assert harness.write(a=None) == [["a"]]
    assert harness.read() == {"b": "2"}
    assert harness.shard.offsets == [0, 1, 2]


def test_an_operation_is_one_batch_with_the_time_of_now(harness: CoordinatorHarness) -> None:
    harness.simulation.advance(7)
    harness.write(a="1", b="2")
    [batch] = harness.partition.leader_log.batches
    records = decode_records(batch.records)
    assert [(record.key, record.value) for record in records] == [(b"\0\1a", b"\0\0001"), (b"\0\1b", b"\0\0002")]
    assert {record.timestamp_ms for record in records} == {harness.simulation.now.wall_ms}
    assert batch.leader_epoch == 0


class TestHeld:
    """Followers that have no records yet."""

    @pytest.fixture
    def harness(self) -> CoordinatorHarness:
        harness = CoordinatorHarness()
        harness.write(a="1")
        harness.simulation.followers("frozen")
        return harness

    def test_an_uncommitted_write_is_neither_confirmed_nor_read(self, harness: CoordinatorHarness) -> None:
        answers = harness.write(a="2")
        assert answers == []
        assert harness.latest == {"a": "2"}
        assert harness.read() == {"a": "1"}
        harness.simulation.followers(None)
        assert answers == [["a"]]
        assert harness.read() == {"a": "2"}

    def test_they_are_answered_in_order(self, harness: CoordinatorHarness) -> None:
        order: list[Any] = []
        for text in "xyz":
            result = CoordinatorResult([CoordinatorRecord(Name(text), Text(text))], text)
            harness.runtime.schedule_write_operation("write", 0, partial(_just, result), order.append)
        assert order == []
        harness.simulation.followers(None)
        assert order == ["x", "y", "z"]

    def test_a_write_operation_that_read_uncommitted_state_waits_for_its_commit(
        self, harness: CoordinatorHarness
    ) -> None:
        first = harness.write(a="2")
        answers = harness.operate(lambda shard: CoordinatorResult((), shard.texts.get("a")))
        assert answers == []
        harness.simulation.followers(None)
        assert (first, answers) == ([["a"]], ["2"])
        assert harness.operate(lambda shard: CoordinatorResult((), shard.texts.get("a"))) == ["2"]

    def test_a_timeout_is_answered_and_changes_nothing_else(self, harness: CoordinatorHarness) -> None:
        answers = harness.write(a="2")
        harness.simulation.advance(TIMEOUT_MS - 1)
        assert answers == []
        harness.simulation.advance(1)
        assert codes(answers) == [ErrorCode.request_timed_out]
        assert answers[0].message == "CoordinatorWriteEvent(name=write) timed out after 5000ms"
        assert harness.latest == {"a": "2"}
        harness.simulation.followers(None)
        assert len(answers) == 1
        assert harness.read() == {"a": "2"}

    def test_pending_operations_fail_when_the_leader_stops(self, harness: CoordinatorHarness) -> None:
        answers = harness.write(a="2")
        shard = harness.shard
        harness.simulation.stop(1)
        assert codes(answers) == [ErrorCode.not_coordinator]
        assert shard.unloaded == 1
        assert harness.read() == {"a": "1"}  # at the new leader, which never had the other

    def test_what_the_new_leader_has_is_there(self, harness: CoordinatorHarness) -> None:
        harness.simulation.followers(None)
        harness.write(b="2")
        old = harness.runtime
        harness.simulation.move_leader(2, "kv")
        assert old.context(0) is None
        assert harness.runtime is not old
        assert harness.shard.loaded == 1
        assert harness.read() == {"a": "1", "b": "2"}
        assert harness.read(1) is ErrorCode.not_coordinator

    def test_what_the_new_leader_has_above_the_watermark_is_not_committed(self, harness: CoordinatorHarness) -> None:
        harness.simulation.followers("external", "kv", broker=3)  # keeps the watermark down
        harness.simulation.followers("instant", "kv", broker=2)
        assert harness.write(b="2", c="3") == []
        harness.simulation.move_leader(2, "kv")
        assert harness.latest == {"a": "1", "b": "2", "c": "3"}
        assert harness.read() == {"a": "1"}


class TestFailing:
    """A log that refuses appends."""

    def test_nothing_has_happened(self, harness: CoordinatorHarness) -> None:
        harness.write(a="1")
        harness.refuse_append(ErrorCode.message_too_large)
        seen: list[KafkaError | None] = []
        answers = harness.operate(
            lambda _: CoordinatorResult([CoordinatorRecord(Name("a"), Text("2"))], "x", seen.append)
        )
        assert codes(answers) == [ErrorCode.message_too_large]
        assert [error and error.code for error in seen] == [ErrorCode.message_too_large]
        assert harness.latest == harness.read() == {"a": "1"}
        harness.refuse_append(None)
        assert harness.write(a="3") == [["a"]]
        assert harness.read() == {"a": "3"}

    def test_what_need_not_be_together_is_cut(self) -> None:
        harness = CoordinatorHarness(max_message_bytes=1_000)
        records = [CoordinatorRecord(Name(f"n{number}"), Text("x" * 100)) for number in range(20)]
        assert harness.operate(lambda _: CoordinatorResult(records, "done", is_atomic=False)) == ["done"]
        assert len(harness.partition.leader_log.batches) == 3
        assert len(harness.latest) == 20

    def test_an_error_of_the_operation_is_its_answer(self, harness: CoordinatorHarness) -> None:
        def operation(shard: Texts) -> CoordinatorResult[None]:
            raise KafkaError(ErrorCode.illegal_generation, "no")

        assert codes(harness.operate(operation)) == [ErrorCode.illegal_generation]

    def test_a_bug_is_loud(self, harness: CoordinatorHarness) -> None:
        def operation(shard: Texts) -> CoordinatorResult[None]:
            raise ZeroDivisionError

        assert codes(harness.operate(operation)) == [ErrorCode.unknown_server_error]
        assert len(harness.bugs) == 1

    def test_a_bug_in_replay_undoes_the_whole_operation(self, harness: CoordinatorHarness) -> None:
        assert codes(harness.write(a="1", b="bug")) == [ErrorCode.unknown_server_error]
        assert harness.latest == {}
        assert len(harness.bugs) == 1
        assert harness.write(a="1") == [["a"]]

    def test_an_error_in_a_callback_is_reported_and_later_operations_succeed(self, harness: CoordinatorHarness) -> None:
        def then(answer: object) -> None:
            raise ZeroDivisionError

        harness.runtime.schedule_write_operation("write", 0, lambda _: CoordinatorResult((), None), then)
        assert len(harness.bugs) == 1
        assert harness.write(a="1") == [["a"]]


def test_without_replay_records_are_written_and_applied_at_the_next_load(harness: CoordinatorHarness) -> None:
    records = [CoordinatorRecord(Name("a"), Text("1"))]
    assert harness.operate(lambda _: CoordinatorResult(records, "ok", replay_records=False)) == ["ok"]
    assert harness.latest == {}
    harness.simulation.move_leader(2, "kv")
    assert harness.latest == {"a": "1"}


def test_an_operation_from_an_answer_runs_after_what_runs(harness: CoordinatorHarness) -> None:
    order: list[Any] = []

    def then(answer: Any) -> None:
        order.append(f"{answer} begins")
        if answer == "first":
            harness.runtime.schedule_write_operation("write", 0, lambda _: CoordinatorResult((), "second"), then)
        order.append(f"{answer} ends")

    harness.runtime.schedule_write_operation("write", 0, lambda _: CoordinatorResult((), "first"), then)
    assert order == ["first begins", "first ends", "second begins", "second ends"]


class TestLoading:
    def _append(self, harness: CoordinatorHarness, *records: Record) -> None:
        """Append a record without the coordinator, as a tool might."""
        batch = encode_batch(records, base_timestamp_ms=1)
        replicas = harness.simulation.cluster.brokers[harness.partition.leader_id].replicas
        replicas.append_records_to_leader(harness.partition, batch, False, 1, harness.simulation.now)

    def test_unknown_kinds_are_left_out(self, harness: CoordinatorHarness) -> None:
        self._append(harness, Record(b"\0\7what", b"x"), Record(b"\0\1a", b"\0\0001"))
        harness.simulation.move_leader(2, "kv")
        assert harness.latest == {"a": "1"}
        assert harness.shard.offsets == [1]

    def test_what_cannot_be_read_makes_it_fail(self, harness: CoordinatorHarness) -> None:
        self._append(harness, Record(b"\0\1" + POISON.encode(), b"\0\0001"))
        harness.simulation.move_leader(2, "kv")
        assert harness.read() is ErrorCode.not_coordinator
        assert len(harness.bugs) == 1

    def test_a_large_log_is_loaded_in_slices(self, harness: CoordinatorHarness) -> None:
        harness.write(**{f"n{number}": "x" for number in range(500)})
        harness.simulation.cluster.admin.move_leader("kv", 0, 2, harness.simulation.now)
        assert harness.read() is ErrorCode.coordinator_load_in_progress
        assert codes(harness.write(a="1")) == [ErrorCode.coordinator_load_in_progress]
        harness.simulation.advance(0)
        assert len(harness.read()) == 500

    def test_loading_ends_when_the_broker_no_longer_leads(self, harness: CoordinatorHarness) -> None:
        harness.write(**{f"n{number}": "x" for number in range(500)})
        harness.simulation.cluster.admin.move_leader("kv", 0, 2, harness.simulation.now)
        harness.simulation.cluster.admin.move_leader("kv", 0, 3, harness.simulation.now)
        harness.simulation.advance(0)
        assert harness.runtimes[2].context(0) is None
        assert len(harness.read()) == 500

    def test_records_of_another_writer_are_loaded_with_the_next_operation(self, harness: CoordinatorHarness) -> None:
        harness.write(a="1")
        self._append(harness, Record(b"\0\1b", b"\0\0002"))
        assert codes(harness.write(c="3")) == [ErrorCode.not_coordinator]
        harness.simulation.advance(0)
        assert harness.latest == {"a": "1", "b": "2", "c": "3"}
        assert harness.write(d="4") == [["d"]]


class TestTimers:
    def test_it_runs_as_a_write_operation(self, harness: CoordinatorHarness) -> None:
        record = CoordinatorRecord(Name("t"), Text("timer"))
        harness.shard.timer.schedule("k", 100, lambda: CoordinatorResult([record], None))
        assert harness.shard.timer.is_scheduled("k")
        harness.simulation.advance(99)
        assert harness.latest == {}
        harness.simulation.advance(1)
        assert harness.read() == {"t": "timer"}
        assert not harness.shard.timer.is_scheduled("k")
        assert harness.deadlines.num_awaited() == 0

    def test_it_is_replaced_and_cancelled(self, harness: CoordinatorHarness) -> None:
        ran: list[str] = []

        def note(what: str) -> CoordinatorResult[None]:
            ran.append(what)
            return CoordinatorResult((), None)

        timer = harness.shard.timer
        timer.schedule("k", 10, lambda: note("first"))
        timer.schedule("k", 20, lambda: note("second"), is_awaited=True)
        assert harness.deadlines.num_awaited() == 1
        timer.schedule_if_absent("k", 5, lambda: note("third"))
        timer.schedule("gone", 5, lambda: note("gone"))
        timer.cancel("gone")
        harness.simulation.advance(100)
        assert ran == ["second"]
        assert (harness.deadlines.num_pending(), harness.client_deadlines.num_pending()) == (0, 0)

    @pytest.mark.parametrize(("retry", "expected"), [(True, {"t": "timer"}), (False, {})])
    def test_what_could_not_be_written_is_tried_again(
        self, harness: CoordinatorHarness, retry: bool, expected: dict[str, str]
    ) -> None:
        record = CoordinatorRecord(Name("t"), Text("timer"))
        harness.shard.timer.schedule("k", 100, lambda: CoordinatorResult([record], None), retry=retry)
        harness.refuse_append(ErrorCode.not_enough_replicas)
        harness.simulation.advance(100)
        harness.refuse_append(None)
        harness.simulation.advance(499)
        assert harness.latest == {}
        harness.simulation.advance(1)
        assert harness.latest == expected

    def test_they_go_with_the_leader(self, harness: CoordinatorHarness) -> None:
        harness.shard.timer.schedule("k", 100, lambda: CoordinatorResult((), None))
        harness.simulation.move_leader(2, "kv")
        assert (harness.deadlines.num_pending(), harness.client_deadlines.num_pending()) == (0, 0)


class TestExecutor:
    def test_a_task_runs_behind_what_is_under_way(self, harness: CoordinatorHarness) -> None:
        order: list[Any] = []

        def operation(shard: Texts) -> CoordinatorResult[str]:
            def write(text: str) -> CoordinatorResult[None]:
                return CoordinatorResult([CoordinatorRecord(Name("found"), Text(text))], None)

            def task() -> Slices[str]:
                yield from ()
                order.append("task")
                return "it"

            assert shard.executor.schedule("k", task, write)
            assert not shard.executor.schedule("k", task, write)
            assert shard.executor.is_scheduled("k")
            return CoordinatorResult((), "answer")

        harness.runtime.schedule_write_operation("write", 0, operation, order.append)
        assert order == ["answer", "task"]
        assert harness.read() == {"found": "it"}
        assert not harness.shard.executor.is_scheduled("k")

    def test_requests_are_answered_between_the_slices_of_a_task(self, harness: CoordinatorHarness) -> None:
        order = self.start_slices(harness, 3)
        assert order == ["slice 0"]
        written = harness.write(a="1")
        assert written == [["a"]]
        harness.simulation.advance(0)
        assert order == ["slice 0", "slice 1", "slice 2", "found"]
        assert harness.read() == {"a": "1", "found": "it"}

    def test_a_task_that_is_cancelled_between_two_slices_ends_there(self, harness: CoordinatorHarness) -> None:
        order = self.start_slices(harness, 3)
        harness.shard.executor.cancel("k")
        assert order == ["slice 0"]
        harness.simulation.advance(0)
        assert order == ["slice 0"]
        assert harness.read() == {}

    def start_slices(self, harness: CoordinatorHarness, count: int) -> list[str]:
        order: list[str] = []

        def task() -> Slices[str]:
            for number in range(count):
                if number:
                    yield
                order.append(f"slice {number}")
            return "it"

        def write(text: str) -> CoordinatorResult[None]:
            order.append("found")
            return CoordinatorResult([CoordinatorRecord(Name("found"), Text(text))], None)

        def operation(shard: Texts) -> CoordinatorResult[str]:
            shard.executor.schedule("k", task, write)
            return CoordinatorResult((), "answer")

        harness.runtime.schedule_write_operation("write", 0, operation, lambda answer: None)
        return order


class TestLinger:
    def test_records_wait_for_each_other(self) -> None:
        harness = CoordinatorHarness(linger_ms=10)
        first = harness.write(a="1")
        harness.simulation.advance(5)
        second = harness.write(b="2")
        assert harness.latest == {"a": "1", "b": "2"}
        assert (first, second, harness.read()) == ([], [], {})
        harness.simulation.advance(5)
        assert (first, second, harness.read()) == ([["a"]], [["b"]], {"a": "1", "b": "2"})
        assert len(harness.partition.leader_log.batches) == 1

    def test_all_fail_together(self) -> None:
        harness = CoordinatorHarness(linger_ms=10)
        harness.refuse_append(ErrorCode.kafka_storage_error)
        answers = harness.write(a="1") + harness.write(b="2")
        waiting = harness.operate(lambda _: CoordinatorResult((), "read"))
        harness.simulation.advance(10)
        assert codes(waiting) == [ErrorCode.kafka_storage_error]
        assert answers == []
        assert harness.latest == {}

    def test_without_linger_each_is_written_at_once(self) -> None:
        harness = CoordinatorHarness(linger_ms=0)
        assert harness.write(a="1") == [["a"]]

    def test_a_parked_write_gets_an_error_when_the_leader_moves(self) -> None:
        harness = CoordinatorHarness(linger_ms=10)
        answers = harness.write(a="1")
        harness.simulation.move_leader(2, "kv")
        assert codes(answers) == [ErrorCode.not_coordinator]
        harness.simulation.advance(10)
        assert harness.latest == {}


def test_all_partitions_are_asked_together(harness: CoordinatorHarness) -> None:
    answers: list[Any] = []
    harness.runtime.schedule_read_all_operation("all", lambda shard, committed: committed, answers.append)
    harness.runtimes[2].schedule_read_all_operation("all", lambda shard, committed: committed, answers.append)
    harness.runtime.schedule_write_all_operation("all", lambda shard: CoordinatorResult((), "x"), answers.append)
    assert answers == [[0], [], ["x"]]


def test_a_closed_runtime_fails_pending_and_later_operations() -> None:
    harness = CoordinatorHarness()
    harness.simulation.followers("frozen")
    answers = harness.write(a="1")
    harness.runtime.close()
    assert codes(answers + harness.write(b="1")) == [ErrorCode.not_coordinator] * 2
    assert harness.read() is ErrorCode.not_coordinator
