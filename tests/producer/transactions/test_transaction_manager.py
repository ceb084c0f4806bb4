"""Stories of idempotent and transactional producers: their ids, their requests, and their ends.

tests/producer/test_producer_golden.py shows that every decision is Kafka's. These tests describe what happens."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.producer.ours import Player
from fakebroker.producer.transactions.requests import EndTxn

Json = dict[str, Any]

GENERATIONS = ("2.0", "4.3")
OUT_OF_ORDER, FENCED, INVALID_EPOCH, TIMED_OUT, GROUP_REFUSED = 45, 90, 47, 7, 30
both = pytest.mark.parametrize("generation", GENERATIONS)


class Story:
    """A player with short names. `sent` has the requests that no test has checked yet."""

    def __init__(self, generation: str, mode: str, **config: object) -> None:
        self.player = Player(
            generation,
            {
                "mode": mode, "acks": -1, "retries": 2**31 - 1, "guarantee_order": False, "max_request_size": 1_000_000,
                "batch_size": 1, "buffer_memory": 100_000, "linger_ms": 0, "retry_backoff_ms": 5,
                "retry_backoff_max_ms": 5, "request_timeout_ms": 50, "delivery_timeout_ms": 100, "adaptive": False,
                "availability_timeout_ms": 0, "randoms": [0], "partitions": [["t", 0, 1, 0]], **config,
            },
        )  # fmt: skip
        self.events: list[Json] = []

    def do(self, what: str, **command: object) -> Json:
        answer = self.player.play({"do": what, **command})
        self.events += answer["events"]
        return answer

    def append(self, record: int) -> None:
        self.do(
            "append", record=record, partition=["t", 0], timestamp=0, key=None, value=8, headers=[], block_ms=0,
        )  # fmt: skip

    def run(self) -> list[Any]:
        """Return the requests of a turn: the name of a request with its details, or the states of batches."""
        self.events = []
        self.do("run", ids=[])
        return [event.get("asks") or list(event["states"]["t-0"][:3]) for event in self.events if "send" in event]

    def answer(self, code: int = 0, which: int = 0, **fields: object) -> None:
        values = {
            "errors": [code],
            "txn_errors": [code],
            "refused": [],
            "throttle_ms": 0,
            "node": 1,
            "id": 7,
            "epoch": 0,
        }
        self.do("respond", which=which, **values | {"base": 1_000, "log_start": 0} | fields)

    def call(self, op: str, **details: object) -> None:
        self.do("txn", op=op, **details)

    def state(self) -> str:
        return str(self.player.play({"do": "tick", "ms": 0})["manager"][0])

    def begin(self) -> None:
        """initTransactions, beginTransaction."""
        self.call("init")
        while self.state() != "READY":
            self.run()
            self.answer()
        self.call("await", which=0)
        self.call("begin")

    def what(self, name: str) -> list[Any]:
        return [event[name] for event in self.events if name in event]


@both
def test_batches_are_numbered_as_they_are_sent(generation: str) -> None:
    story = Story(generation, "idempotent")
    if generation == "4.3":  # 2.0's thread waits for the id within the turn
        assert story.run() == [["InitProducerId", "", 2**31 - 1, -1, -1]]
        story.answer()
    story.append(1)
    [first] = [one for one in story.run() if isinstance(one[0], int)]
    assert first[1:] == [0, 0]
    story.append(2)
    assert story.run() == [[*first[:2], 1]]


@both
def test_the_first_of_a_retry_goes_alone(generation: str) -> None:
    """Later batches get OUT_OF_ORDER_SEQUENCE_NUMBER, and wait until the first one is written."""
    story = Story(generation, "idempotent")
    story.run()
    if generation == "4.3":
        story.answer()
    for record in range(3):
        story.append(record)
        story.run()
    story.answer(TIMED_OUT)
    story.answer(OUT_OF_ORDER)
    story.answer(OUT_OF_ORDER)
    story.do("tick", ms=5)
    [[*_, sequence]] = story.run()
    assert sequence == 0
    assert story.run() == []
    story.answer()
    assert story.run()[0][2] == 1


@both
def test_a_batch_that_may_have_been_written_is_the_end_of_its_sequence(generation: str) -> None:
    """The batch was sent, sent again, and expired. 2.0 requests another id; 4.3 takes the next epoch."""
    story = Story(generation, "idempotent")
    story.run()
    if generation == "4.3":
        story.answer()
    story.append(1)
    story.run()
    story.answer(TIMED_OUT)
    story.do("unready", node=1, ms=300)
    story.do("tick", ms=150)
    story.append(2)
    story.run()
    assert story.what("failed") == ["TimeoutException"]
    story.do("tick", ms=150)
    story.append(3)
    sent = [one for _ in range(2) for one in story.run() if isinstance(one[0], int)]
    producer_id, epoch, sequence = sent[0]
    assert sequence == 0
    assert (producer_id, epoch) == ((7001, 0) if generation == "2.0" else (7, 1))


def test_a_transaction_of_2_0_and_of_4_3_without_version_2() -> None:
    for generation in GENERATIONS:
        story = Story(generation, "transactional")
        story.begin()
        story.append(1)
        assert story.run() == [["AddPartitionsToTxn", 7, 0, "t-0"]]
        story.answer()
        assert story.run() == [[7, 0, 0]]
        story.call("commit")
        assert story.run() == []  # the batch first
        story.answer()
        assert story.run() == [["EndTxn", 7, 0, True, False]]
        story.answer()
        assert story.what("done") == [1]
        assert story.state() == "READY"


def test_version_2_adds_no_partitions_and_has_an_epoch_for_each_transaction() -> None:
    story = Story("4.3", "transactional")
    story.do("versions", node=1, init=6, epoch=1, level=2)
    story.begin()
    story.append(1)
    assert story.run() == [[7, 0, 0]]
    story.answer()
    story.call("commit")
    assert story.run() == [["EndTxn", 7, 0, True, True]]
    story.answer(epoch=1)
    story.call("await", which=0)
    story.call("begin")
    story.append(2)
    assert story.run() == [[7, 1, 0]]


@both
def test_offsets_go_to_the_coordinator_of_the_group(generation: str) -> None:
    story = Story(generation, "transactional")
    story.begin()
    story.call("offsets", offsets=[[0, 5], [2, 9]])
    commands = []
    for _ in range(6):
        commands += story.run()
        story.answer()
    assert commands == [
        ["AddOffsetsToTxn", 7, 0, "g"],
        ["FindCoordinator", "GROUP", "g"],
        ["TxnOffsetCommit", 7, 0, "g", False, "in-0", 5, "in-2", 9],
    ]


@both
def test_without_anything_sent_nothing_is_asked_at_the_end(generation: str) -> None:
    story = Story(generation, "transactional")
    story.begin()
    story.call("commit")
    assert story.run() == []
    assert story.what("done") == [1]


@both
def test_an_abortable_error_is_over_with_the_abort(generation: str) -> None:
    story = Story(generation, "transactional")
    story.begin()
    story.call("offsets", offsets=[[0, 5]])
    story.run()
    story.answer(GROUP_REFUSED)
    assert story.state() == "ABORTABLE_ERROR"
    story.call("commit")
    assert story.what("threw") == ["KafkaException"]
    story.call("abort")
    story.run()
    assert story.state() == "READY"


@both
def test_a_fenced_producer_is_finished(generation: str) -> None:
    story = Story(generation, "transactional")
    story.begin()
    story.append(1)
    story.run()
    story.answer(INVALID_EPOCH)
    assert story.state() == "FATAL_ERROR"
    story.run()
    name = f"code {INVALID_EPOCH if generation == '2.0' else FENCED}"
    assert story.what("failed") == [name]
    story.call("abort")
    assert story.what("threw") == ["KafkaException" if generation == "2.0" else name]
    assert story.state() == "FATAL_ERROR"


def test_a_call_that_was_not_waited_for_is_in_the_way_since_it_is_remembered() -> None:
    """The call gives the same result again, and no other may be made (4.3)."""
    story = Story("4.3", "transactional")
    story.begin()
    story.call("commit")
    story.call("commit")
    story.call("abort")
    assert story.what("threw") == ["IllegalStateException"]
    story.run()
    story.call("await", which=0)
    story.call("begin")
    assert story.state() == "IN_TRANSACTION"


@both
def test_a_coordinator_that_cannot_be_reached_is_looked_for_again(generation: str) -> None:
    story = Story(generation, "transactional")
    story.begin()
    story.append(1)
    story.do("unready", node=1, ms=10_000)
    assert story.run() == []  # it waits for request.timeout.ms
    assert story.do("tick", ms=0)["manager"][-1] >= 50
    story.do("unready", node=1, ms=0)
    assert story.run() == [["FindCoordinator", "TRANSACTION", "tx"]]


def test_the_end_of_a_transaction_knows_its_version() -> None:
    story = Story("4.3", "transactional")
    story.do("versions", node=1, init=6, epoch=1, level=1)
    story.begin()
    story.append(1)
    story.run()
    story.answer()
    story.run()
    story.answer()
    story.do("versions", node=1, init=6, epoch=2, level=2)
    story.call("commit")
    assert story.run() == [[EndTxn.__name__, 7, 0, True, False]]  # it began without
    story.answer()
    assert story.run() == [["InitProducerId", "tx", 60_000, 7, 0]]  # and the next begins with another epoch
