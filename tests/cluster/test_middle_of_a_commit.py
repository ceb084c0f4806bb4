"""A commit that stops in the middle: between its decision, its transaction markers and its end, and before its records.

Frozen followers delay what is to be replicated, and a stopped broker neither writes nor responds. Broker 1 is the
transaction coordinator, broker 2 leads t-0, which has no follower, and broker 3 leads t-1.
"""

from __future__ import annotations

import pytest
from support.messages import decode_response
from support.requests import metadata, request
from support.simulation import SimulatedClient, Simulation
from support.transacting import (
    fetched,
    of_transactions,
    produce,
    produce_frame,
    produced,
    read_committed,
    recorded,
)
from support.transactions import END, add, end, init

from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.journal.transaction_events import (
    MarkersRetried,
    TransitionCompleted,
    TransitionFailed,
    TransitionPrepared,
)
from fakebroker.core.journal.view import view_produce

STATE = "__transaction_state"
NONE, NOT_AVAILABLE, CONCURRENT = 0, 15, 51


class World:
    """Three brokers, a producer of transaction version 1 or 2, and consumers."""

    def __init__(self, version: int = 2, assignment: tuple[tuple[int, ...], ...] = ((2,), (3,)), **config: str) -> None:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        self.simulation = Simulation(brokers=3, config=settings)
        self._topic(STATE, ((1, 2, 3),), **{"min.insync.replicas": "2"})
        self._topic("__consumer_offsets", ((1, 2, 3),))
        self._topic("t", assignment)
        self.simulation.settle()
        self.version = version
        self.coordinator = self.simulation.connect(1)
        self.journal = recorded(self.simulation)
        error, producer_id, epoch = init(self.coordinator)
        assert error == NONE
        self.producer = producer_id, epoch

    def _topic(self, name: str, assignment: tuple[tuple[int, ...], ...], **configs: str) -> None:
        new = NewTopic(name, -1, -1, list(enumerate(assignment)), configs)
        self.simulation.cluster.admin.create_topic(new, self.simulation.now)

    def leader(self, partition: int) -> SimulatedClient:
        return self.simulation.connect(self.simulation.partition("t", partition).leader_id)

    def write(self, value: bytes = b"v", partition: int = 0) -> int:
        if self.version == 1:
            assert add(self.coordinator, self.producer, partition) == {partition: NONE}
        return produce(self.leader(partition), self.producer, value, partition, version=10 + self.version)

    @property
    def end_version(self) -> int:
        return 5 if self.version == 2 else 4

    def send_end(self, committed: bool = True, client: SimulatedClient | None = None) -> SimulatedClient:
        """Send an EndTxn; its response may come later."""
        client = client or self.simulation.connect(1)
        values = {
            "transactional_id": "tx",
            "producer_id": self.producer[0],
            "producer_epoch": self.producer[1],
            "committed": committed,
        }
        client.send(request(END, self.end_version, values, correlation_id=3))
        return client

    def ended(self, client: SimulatedClient) -> int | None:
        if not client.answers:
            return None
        ((_, frame),) = client.answers
        return int(decode_response(END, self.end_version, frame)[1].error_code)

    def read(self, partition: int) -> list[bytes]:
        return read_committed(self.leader(partition), partition)

    @property
    def state(self) -> str:
        leader = self.simulation.partition(STATE).leader_id
        entry = self.simulation.cluster.brokers[leader].transactions.states.find("tx")
        assert entry is not None
        return entry.transaction.now.state.value


@pytest.fixture(params=[1, 2])
def version(request: pytest.FixtureRequest) -> int:
    value = request.param
    assert isinstance(value, int)
    return value


class TestOneLeaderIsGone:
    def test_after_the_decision_and_before_a_marker(self, version: int) -> None:
        """EndTxn succeeds, and one partition is readable. The other one has no marker and hangs: Kafka 4.4 treats a
        partition without a leader as deleted."""
        world = World(version)
        assert (world.write(b"a", 0), world.write(b"b", 1)) == (NONE, NONE)
        world.simulation.followers("frozen", STATE)
        of_transactions(world.journal)
        client = world.send_end()
        assert world.ended(client) is None
        [prepared] = of_transactions(world.journal)
        assert isinstance(prepared, TransitionPrepared)
        assert prepared.next_state == "PrepareCommit"
        assert (world.state, world.read(0), world.read(1)) == ("Ongoing", [], [])

        world.simulation.stop(3)
        world.simulation.followers(None, STATE)
        assert world.ended(client) == NONE
        assert (world.state, world.read(0)) == ("CompleteCommit", [b"a"])
        events = of_transactions(world.journal)
        assert [event.state for event in events if isinstance(event, TransitionCompleted)] == [
            "PrepareCommit",
            "CompleteCommit",
        ]

        world.simulation.start(3)
        world.simulation.advance(1_000)
        log = world.simulation.partition("t", 1).leader_log
        assert (log.last_stable_offset, log.log_end_offset) == (0, 1)
        assert world.read(1) == []

    def test_while_its_marker_is_being_replicated(self, version: int) -> None:
        """A request to a broker that dies has no result for the coordinator: it is sent again, to the next leader."""
        world = World(version, assignment=((2, 1), (3, 2)))
        assert (world.write(b"a", 0), world.write(b"b", 1)) == (NONE, NONE)
        world.simulation.followers("frozen", "t", 1, 2)
        client = world.send_end()
        assert world.ended(client) == NONE
        log = world.simulation.partition("t", 1).leader_log
        assert (log.log_end_offset, log.high_watermark, world.state) == (2, 1, "PrepareCommit")

        world.simulation.stop(3)
        world.simulation.advance(100)
        assert (world.state, world.read(1)) == ("CompleteCommit", [b"b"])

    def test_a_marker_is_written_again_if_the_leader_restarts_before_its_replication(self, version: int) -> None:
        """The existing marker is written once more; a log may have it twice."""
        world = World(version, assignment=((2, 1), (3, 2)), replica_lag_time_max_ms="600000")
        assert (world.write(b"a", 0), world.write(b"b", 1)) == (NONE, NONE)
        world.simulation.followers("frozen", "t", 1, 2)
        world.send_end()
        world.simulation.stop(3)
        world.simulation.start(3)
        world.simulation.followers(None, "t")
        world.simulation.advance(100)
        assert (world.state, world.read(1)) == ("CompleteCommit", [b"b"])

    def test_a_marker_that_too_few_can_have(self, version: int) -> None:
        world = World(version, assignment=((2, 1), (3, 2)))
        assert world.write(b"b", 1) == NONE
        world.simulation.cluster.admin.alter_topic_configs("t", {"min.insync.replicas": "2"}, world.simulation.now)
        world.simulation.stop(2)
        of_transactions(world.journal)
        assert world.ended(world.send_end()) == NONE
        events = of_transactions(world.journal)
        assert [event.reason for event in events if isinstance(event, MarkersRetried)] == ["NOT_ENOUGH_REPLICAS"]
        assert (world.state, world.read(1)) == ("PrepareCommit", [])
        world.simulation.start(2)
        world.simulation.advance(1_000)
        assert (world.state, world.read(1)) == ("CompleteCommit", [b"b"])


class TestBeforeTheRecords:
    def test_nothing_comes_after_the_partitions(self, version: int) -> None:
        """The transaction is aborted at its timeout, and later requests are refused."""
        world = World(version)
        assert add(world.coordinator, world.producer, 0, 1) == {0: NONE, 1: NONE}
        world.simulation.advance(70_001)
        assert world.state == "CompleteAbort"
        error = produce(world.leader(0), world.producer, version=10 + version)
        assert error == 47  # INVALID_PRODUCER_EPOCH: another one is the current one
        assert (world.read(0), world.read(1)) == ([], [])

    def test_the_records_wait_for_the_partition_to_be_added(self) -> None:
        """Version 2: the leader verifies the producer, and appends once all replicas of __transaction_state have the
        partition."""
        world = World()
        world.simulation.followers("frozen", STATE)
        leader = world.leader(0)
        leader.send(produce_frame(world.producer, b"v"))
        log = world.simulation.partition("t", 0).leader_log
        assert (leader.answers, log.log_end_offset) == ([], 0)
        world.simulation.followers(None, STATE)
        ((_, frame),) = leader.answers
        assert (produced(frame), log.log_end_offset, log.last_stable_offset) == (NONE, 1, 0)

    def test_their_time_begins_when_they_are_appended(self) -> None:
        """The journal has the producer of each of them."""
        world = World(assignment=((2, 1), (3, 1)), replica_lag_time_max_ms="600000")
        world.simulation.followers("lagging:5000", STATE)
        world.simulation.followers("frozen", "t")
        leader, other = world.leader(0), world.leader(0)
        leader.send(produce_frame(world.producer, b"v"))
        other.send(metadata(["t"]))
        world.simulation.advance(34_999)
        assert leader.answers == []
        world.simulation.advance(1)
        ((_, frame),) = leader.answers
        assert produced(frame) == 7  # REQUEST_TIMED_OUT
        [entry] = view_produce(world.journal, 0, "t", None, None)
        assert (entry.error, entry.records, entry.waited_ms) == ("REQUEST_TIMED_OUT", 1, 35_000)

    def test_the_coordinator_goes_while_a_leader_waits_for_it(self) -> None:
        """The leader's connection to the coordinator ends. Its producer gets the error of an unreachable coordinator,
        which is retriable."""
        world = World()
        world.simulation.followers("frozen", STATE)
        leader = world.leader(0)
        leader.send(produce_frame(world.producer, b"v"))
        world.simulation.stop(1)
        ((_, frame),) = leader.answers
        assert produced(frame) == 19  # NOT_ENOUGH_REPLICAS
        assert world.simulation.partition("t", 0).leader_log.log_end_offset == 0

    def test_the_coordinator_does_not_answer(self) -> None:
        """The leader treats the coordinator as gone after request.timeout.ms, whatever the timeout of the transaction
        is."""
        world = World()
        world.simulation.followers("frozen", STATE)
        leader = world.leader(0)
        leader.send(produce_frame(world.producer, b"v"))
        world.simulation.advance(29_999)
        assert leader.answers == []
        world.simulation.advance(1)
        ((_, frame),) = leader.answers
        assert produced(frame) == 19  # NOT_ENOUGH_REPLICAS
        world.simulation.followers(None, STATE)
        world.simulation.advance(1_000)
        assert world.simulation.partition("t", 0).leader_log.log_end_offset == 0

    @pytest.mark.parametrize("back_after_ms", [0, 50, None])
    def test_the_last_transaction_is_not_over(self, back_after_ms: int | None) -> None:
        """Version 2: the leader retries every 20 ms, and gives up after 100."""
        world = World(assignment=((2, 1), (3, 2)), replica_lag_time_max_ms="600000")
        assert (world.write(b"a", 0), world.write(b"b", 1)) == (NONE, NONE)
        world.simulation.followers("frozen", "t", 1, 2)
        assert world.ended(world.send_end()) == NONE
        world.producer = world.producer[0], 1
        if back_after_ms == 0:
            world.simulation.followers(None, "t")
        leader, began_ms = world.leader(0), world.simulation.elapsed_ms
        leader.send(produce_frame(world.producer, b"next"))
        if back_after_ms is not None:
            world.simulation.advance(back_after_ms)
            world.simulation.followers(None, "t")
        world.simulation.advance(200)
        ((answered_ms, frame),) = leader.answers
        error, waited_ms = {0: (NONE, 20), 50: (NONE, 80), None: (CONCURRENT, 100)}[back_after_ms]
        assert produced(frame) == error
        assert waited_ms - 20 <= answered_ms - began_ms <= waited_ms

    def test_a_commit_overtakes_records(self) -> None:
        """Version 1: the commit does not wait for the producer. The guard keeps its record out of the next
        transaction."""
        world = World(1)
        assert world.write(b"a", 0) == NONE
        assert world.ended(world.send_end()) == NONE
        assert produce(world.leader(0), world.producer, b"late", 0, 1, version=11) == 120
        assert world.read(0) == [b"a"]


class TestFrozenFollowersOfTheStateTopic:
    def test_the_decision_is_answered_when_they_have_it(self, version: int) -> None:
        world = World(version)
        assert world.write() == NONE
        world.simulation.followers("lagging:250", STATE)
        started_ms = world.simulation.elapsed_ms
        client = world.send_end()
        world.simulation.advance(1_000)
        ((answered_ms, _),) = client.answers
        assert (answered_ms - started_ms, world.ended(client)) == (250, NONE)

    def test_requests_during_the_commit_get_concurrent_transactions(self, version: int) -> None:
        world = World(version)
        assert world.write() == NONE
        world.simulation.followers("frozen", STATE)
        client = world.send_end()
        assert end(world.coordinator, world.producer, True, world.end_version)[0] == CONCURRENT
        assert init(world.coordinator)[0] == CONCURRENT
        world.simulation.followers(None, STATE)
        assert world.ended(client) == NONE

    def test_its_time_is_the_transactions(self, version: int) -> None:
        """The timeout is 60 s. Before that the ISR shrinks below min.insync.replicas, so the high watermark does not
        move."""
        world = World(version)
        assert world.write() == NONE
        world.simulation.followers("frozen", STATE)
        started_ms = world.simulation.elapsed_ms
        client = world.send_end()
        world.simulation.advance(59_999)
        assert client.answers == []
        world.simulation.advance(1)
        ((answered_ms, _),) = client.answers
        assert (answered_ms - started_ms, world.ended(client)) == (60_000, NOT_AVAILABLE)
        assert [event.error for event in of_transactions(world.journal) if isinstance(event, TransitionFailed)] == [
            "COORDINATOR_NOT_AVAILABLE"
        ]
        assert (world.state, world.read(0)) == ("Ongoing", [])
        assert world.ended(world.send_end()) == NOT_AVAILABLE  # NOT_ENOUGH_REPLICAS, at once

    def test_one_that_is_frozen_leaves_the_isr(self, version: int) -> None:
        """Two of three replicas are enough: the response comes after replica.lag.time.max.ms."""
        world = World(version)
        assert world.write() == NONE
        world.simulation.followers("frozen", STATE, broker=3)
        client = world.send_end()
        world.simulation.advance(60_000)
        assert world.ended(client) == NONE
        assert 30_000 <= client.answers[0][0] <= 45_000

    def test_a_decision_that_timed_out_stands_in_the_log(self, version: int) -> None:
        """Error 15 does not mean "not decided": the next coordinator loads the decision and completes it."""
        world = World(version)
        assert world.write(b"a") == NONE
        world.simulation.followers("frozen", STATE)
        client = world.send_end()
        world.simulation.advance(60_000)
        assert (world.ended(client), world.state) == (NOT_AVAILABLE, "Ongoing")
        world.simulation.followers(None, STATE)
        world.simulation.advance(1_000)
        world.simulation.move_leader(2, STATE)
        world.simulation.advance(1_000)
        assert (world.state, world.read(0)) == ("CompleteCommit", [b"a"])


def test_an_open_transaction_holds_back_read_committed_consumers() -> None:
    """The journal has the positions of the consumers."""
    world = World()
    assert world.write(b"a", 0) == NONE
    answer = fetched(world.leader(0))
    assert (answer.last_stable_offset, answer.high_watermark) == (0, 1)
