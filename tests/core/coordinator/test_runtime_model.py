"""The runtime against a model: writes, failures, frozen followers, leaders that move and brokers that stop."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.coordinator_harness import CoordinatorHarness, Name, Text, Texts

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

NAMES = st.sampled_from("abc")
LOST = (ErrorCode.not_coordinator, ErrorCode.request_timed_out)


class Write:
    """A write, and its results by `then` and by `on_complete`."""

    def __init__(self, texts: dict[str, str | None]) -> None:
        self.texts = texts
        self.answers: list[Any] = []
        self.appended: list[KafkaError | None] = []


class Coordinators(RuleBasedStateMachine):
    """The model: the order of the writes that the log may hold. What was acknowledged is a state that was reached by a
    prefix of them; what is read is one as well, and never an older one than was acknowledged or read before."""

    def __init__(self) -> None:
        super().__init__()
        self.harness = CoordinatorHarness()
        self.number = 0
        self.writes: list[Write] = []
        self.read_up_to = 0  # how many texts of the log were read, at the least

    # What may have happened: each write that was not refused is in the log, or is lost with those behind it.

    @rule(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), deletes=st.booleans())
    def write(self, names: list[str], deletes: bool) -> None:
        self.number += 1
        texts = {name: None if deletes else str(self.number) for name in names}
        self._write(Write(texts))

    def _write(self, write: Write) -> None:
        records = [
            CoordinatorRecord(Name(name), None if text is None else Text(text)) for name, text in write.texts.items()
        ]

        def operation(shard: Texts) -> CoordinatorResult[str]:
            return CoordinatorResult(records, "written", write.appended.append)

        self.writes.append(write)
        self.harness.runtime.schedule_write_operation("write", 0, operation, write.answers.append)
        self.harness.simulation.settle()

    @rule(name=NAMES)
    def refused(self, name: str) -> None:
        before = self.harness.latest
        self.harness.refuse_append(ErrorCode.kafka_storage_error)
        write = Write({name: "refused"})
        self._write(write)
        self.harness.refuse_append(None)
        assert [answer.code for answer in write.answers] == [ErrorCode.kafka_storage_error]
        assert self.harness.latest == before

    @rule()
    def nothing(self) -> None:
        """An operation without records is completed when the state that it has read is committed."""
        self._write(Write({}))

    @rule(broker=st.sampled_from((2, 3)))
    def freeze(self, broker: int) -> None:
        if self.harness.partition.leader_id != broker:
            self.harness.simulation.followers("frozen", "kv", broker=broker)

    @rule()
    def thaw(self) -> None:
        self.harness.simulation.followers(None, "kv")

    @rule(ms=st.sampled_from((1, 400, 6_000, 31_000)))
    def advance(self, ms: int) -> None:
        self.harness.simulation.advance(ms)

    @precondition(lambda self: len(self.harness.partition.isr) > 1)
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        self.harness.simulation.move_leader(data.draw(st.sampled_from(sorted(self.harness.partition.isr))), "kv")

    # What must hold.

    @invariant()
    def each_is_told_at_most_once(self) -> None:
        assert not self.harness.bugs
        for write in self.writes:
            assert len(write.answers) <= 1
            assert len(write.appended) == len(write.answers)

    @invariant()
    def what_is_read_is_what_the_committed_log_says(self) -> None:
        harness = self.harness
        assert harness.read() == self._replayed(harness.partition.high_watermark)
        assert harness.latest == self._replayed(harness.partition.leader_log.log_end_offset)

    @invariant()
    def what_was_acknowledged_is_committed(self) -> None:
        committed = self._committed_values()
        for write in self.writes:
            if write.answers == ["written"]:
                assert {text for text in write.texts.values() if text is not None} <= committed

    def _replayed(self, up_to: int) -> dict[str, str]:
        texts: dict[str, str] = {}
        for offset, name, text in self.harness.log_entries():
            if offset < up_to:
                texts.pop(name, None)
                if text is not None:
                    texts[name] = text
        return texts

    def _committed_values(self) -> set[str]:
        high_watermark = self.harness.partition.high_watermark
        return {text for offset, _, text in self.harness.log_entries() if offset < high_watermark and text is not None}

    def teardown(self) -> None:
        self.harness.simulation.followers(None)
        self.harness.simulation.advance(60_000)
        for write in self.writes:
            assert len(write.answers) == 1
            [answer] = write.answers
            assert answer == "written" or answer.code in (*LOST, ErrorCode.kafka_storage_error)
        self.what_was_acknowledged_is_committed()


TestCoordinators = Coordinators.TestCase
TestCoordinators.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
