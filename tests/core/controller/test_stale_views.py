"""Brokers without metadata from the controller: leaders that do not know of their successor."""

from __future__ import annotations

from typing import Any

import pytest
from support.answers import NONE, NOT_LEADER, TIMED_OUT, UNKNOWN_TOPIC, answers
from support.asking import ask
from support.batches import batch_of
from support.messages import decode_response
from support.offsets import commit_values, with_coordinator
from support.requests import batch, fetch, metadata, produce, request
from support.simulation import SimulatedClient
from support.simulation import Simulation as Plain
from support.transacting import produce as in_transaction
from support.transacting import read_committed
from support.transactions import end, init
from support.transactions import with_coordinator as with_transactions

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.faults.presets import NetworkPartition
from fakebroker.core.journal.broker_events import LeaderStale, MetadataCaughtUp
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.record_batch import Record
from fakebroker.testing.history import check_history

METADATA, DESCRIBE_CLUSTER, FETCH, OFFSET_COMMIT = 3, 60, 1, 8
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 15, 16
SESSION_MS, HEARS_MS = 9_000, 15


class Simulation(Plain):
    def __init__(self, **settings: Any) -> None:
        self.journal = Journal()
        super().__init__(journal=self.journal, **settings)


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation()
    made.topic()
    return made


def cut(simulation: Plain, *a: int, b: tuple[int, ...] = (2, 3), controller: str = "b") -> StateFault:
    arisen = simulation.cluster.faults.arising.arise(NetworkPartition(a or (1,), b, controller))
    simulation.settle()
    return arisen


def heal(simulation: Plain, arisen: StateFault, wait_ms: int = HEARS_MS) -> None:
    simulation.cluster.now = simulation.now
    simulation.cluster.faults.arising.remove(arisen)
    simulation.settle()
    simulation.advance(wait_ms)


def isolated(simulation: Simulation) -> StateFault:
    """Cut off broker 1 until its session ends; broker 2 leads then."""
    arisen = cut(simulation)
    simulation.advance(SESSION_MS)
    assert leads(simulation) == (2, 1, [2, 3])
    return arisen


def leads(simulation: Simulation) -> tuple[int, int, list[int]]:
    partition = simulation.partition()
    return partition.leader_id, partition.leader_epoch, partition.isr_ids


def told(simulation: Simulation, broker_id: int) -> tuple[int, int, list[int], list[int], list[int]]:
    """Return a broker's metadata: leader, epoch, ISR, offline replicas, brokers."""
    client = simulation.connect(broker_id)
    client.send(metadata(["t"], 9))
    _, answer = decode_response(METADATA, 9, client.answers[-1][1])
    [[partition]] = [topic.partitions for topic in answer.topics]
    ids = (list(partition.isr_nodes), list(partition.offline_replicas), [broker.node_id for broker in answer.brokers])
    return (partition.leader_id, partition.leader_epoch, *ids)


def read(client: SimulatedClient, offset: int, version: int = 12) -> tuple[int, int, bytes]:
    """Return error, high watermark and bytes of a fetch that is completed at once."""
    client.send(fetch("t", offset=offset, version=version))
    _, answer = decode_response(FETCH, version, client.answers[-1][1])
    [[partition]] = [topic.partitions for topic in answer.responses]
    return partition.error_code, partition.high_watermark, partition.records or b""


def ends(simulation: Simulation) -> list[int]:
    return [replica.log.log_end_offset for replica in simulation.partition().replicas.values()]


def kinds(simulation: Simulation) -> list[str]:
    return [type(event).__name__ for event in simulation.journal.events()]


class TestADeposedLeader:
    def test_acks_1_is_acknowledged_and_lost(self, simulation: Simulation) -> None:
        simulation.connect().send(produce("t", records=batch(b"kept")))
        arisen = isolated(simulation)
        client = simulation.connect()
        client.send(produce("t", acks=1, records=batch(b"lost")))
        assert answers(client) == [(SESSION_MS, NONE, 1)]
        simulation.connect(2).send(produce("t", records=batch(b"new")))
        assert ends(simulation) == [2, 2, 2]
        heal(simulation, arisen)
        partition = simulation.partition()
        assert [
            [log_batch.leader_epoch for log_batch in replica.log.batches] for replica in partition.replicas.values()
        ] == [[0, 1]] * 3
        assert leads(simulation) == (2, 1, [1, 2, 3])

    def test_acks_all_waits_until_its_timeout(self, simulation: Simulation) -> None:
        isolated(simulation)
        client = simulation.connect()
        client.send(produce("t", timeout_ms=1_234))
        simulation.advance(1_233)
        assert answers(client) == []
        simulation.advance(1)
        assert answers(client) == [(SESSION_MS + 1_234, TIMED_OUT, 0)]

    def test_a_stale_leader_keeps_requests_parked_until_it_gets_the_metadata(self, simulation: Simulation) -> None:
        arisen = isolated(simulation)
        client = simulation.connect()
        client.send(produce("t", timeout_ms=60_000))
        simulation.advance(40_000)  # beyond replica.lag.time.max.ms: it can change no ISR
        assert answers(client) == []
        heal(simulation, arisen, HEARS_MS - 1)
        assert answers(client) == []
        simulation.advance(1)
        assert answers(client) == [(SESSION_MS + 40_000 + HEARS_MS, NOT_LEADER, 0)]
        assert ends(simulation) == [0, 0, 0]

    def test_a_request_parked_at_a_stale_leader_stays_parked(self, simulation: Simulation) -> None:
        arisen = cut(simulation)
        clients = [simulation.connect() for _ in range(2)]
        clients[0].send(produce("t", timeout_ms=9_500))
        clients[1].send(produce("t", timeout_ms=60_000))
        simulation.advance(SESSION_MS + 1_000)
        assert [answers(client) for client in clients] == [[(9_500, TIMED_OUT, 0)], []]
        heal(simulation, arisen)
        assert answers(clients[1]) == [(SESSION_MS + 1_000 + HEARS_MS, NOT_LEADER, 1)]

    def test_reads_go_up_to_its_old_watermark(self, simulation: Simulation) -> None:
        simulation.connect().send(produce("t", records=batch(b"kept")))
        arisen = isolated(simulation)
        client = simulation.connect()
        client.send(produce("t", acks=1, records=batch(b"lost")))
        simulation.connect(2).send(produce("t", records=batch(b"new")))
        error, watermark, records = read(client, 0, 10)
        assert (error, watermark) == (NONE, 1)
        assert b"kept" in records
        assert b"lost" not in records
        assert read(client, 1, 10) == (NONE, 1, b"")
        heal(simulation, arisen)
        assert read(client, 1, 10)[0] == NOT_LEADER
        assert b"new" in read(client, 1, 12)[2]

    def test_its_metadata_is_old(self, simulation: Simulation) -> None:
        arisen = isolated(simulation)
        assert told(simulation, 1) == (1, 0, [1, 2, 3], [], [1, 2, 3])
        assert told(simulation, 2) == (2, 1, [2, 3], [1], [2, 3])
        fenced = {"include_fenced_brokers": True, "include_cluster_authorized_operations": False, "endpoint_type": 1}
        for broker_id, ids in ((1, []), (2, [1])):
            answer = ask(simulation.connect(broker_id), DESCRIBE_CLUSTER, 2, **fenced)
            assert [broker.broker_id for broker in answer.brokers if broker.is_fenced] == ids
        heal(simulation, arisen)
        assert told(simulation, 1) == told(simulation, 2) == (2, 1, [1, 2, 3], [], [1, 2, 3])

    def test_the_isr_in_the_metadata_of_an_isolated_broker_is_stale(self, simulation: Simulation) -> None:
        """Broker 3 is dead, so the ISR has changed, whichever broker leads."""
        simulation.kill(3)
        simulation.advance(1_000)
        arisen = cut(simulation, b=())
        simulation.advance(SESSION_MS - 1_000)
        assert told(simulation, 2)[:4] == (1, 0, [1, 2], [3])
        assert told(simulation, 1)[:4] == (1, 0, [1, 2, 3], [])
        simulation.advance(1_000)
        assert told(simulation, 2)[:4] == (2, 1, [2], [1, 3])
        assert told(simulation, 1)[:4] == (1, 0, [1, 2, 3], [])
        heal(simulation, arisen)
        assert told(simulation, 1)[:4] == (2, 1, [1, 2], [3])

    def test_topics_that_are_made_meanwhile_it_does_not_know(self, simulation: Simulation) -> None:
        arisen = cut(simulation)
        simulation.topic("u", 3)
        client = simulation.connect()
        client.send(produce("u", acks=1))
        assert answers(client) == [(0, UNKNOWN_TOPIC, -1)]
        heal(simulation, arisen)
        client.send(produce("u"))
        assert answers(client)[1:] == [(HEARS_MS, NONE, 0)]

    def test_a_topic_that_is_deleted_is_gone_there_too(self, simulation: Simulation) -> None:
        arisen = isolated(simulation)
        clients = [simulation.connect() for _ in range(2)]
        clients[0].send(produce("t", timeout_ms=60_000))
        simulation.delete_topic()
        clients[1].send(produce("t", acks=1))
        assert [answers(client) for client in clients] == [
            [(SESSION_MS, UNKNOWN_TOPIC, 0)],
            [(SESSION_MS, UNKNOWN_TOPIC, -1)],
        ]
        simulation.topic()
        heal(simulation, arisen)
        clients[1].send(produce("t", acks=1))
        assert answers(clients[1])[1:] == [(SESSION_MS + HEARS_MS, NOT_LEADER, -1)]  # of the new one, which 2 leads

    def test_killed_it_knows_when_it_is_back(self, simulation: Simulation) -> None:
        arisen = isolated(simulation)
        simulation.connect().send(produce("t", acks=1))
        simulation.kill(1)
        heal(simulation, arisen)
        simulation.start(1)
        assert leads(simulation) == (2, 1, [1, 2, 3])
        assert ends(simulation) == [0, 0, 0]
        assert told(simulation, 1)[0] == 2

    def test_it_may_miss_several(self, simulation: Simulation) -> None:
        arisen = isolated(simulation)
        simulation.move_leader(3)
        client = simulation.connect()
        client.send(produce("t", acks=1))
        assert answers(client) == [(SESSION_MS, NONE, 0)]
        assert told(simulation, 1)[:2] == (1, 0)
        heal(simulation, arisen)
        assert leads(simulation) == (3, 2, [1, 2, 3])
        assert ends(simulation) == [0, 0, 0]

    def test_heard_and_cut_off_again_it_still_does_not_know(self, simulation: Simulation) -> None:
        arisen = isolated(simulation)
        heal(simulation, arisen, HEARS_MS - 1)
        cut(simulation)
        simulation.advance(1_000)
        assert told(simulation, 1)[:2] == (1, 0)
        assert leads(simulation) == (2, 1, [2, 3])

    def test_without_another_replica_a_stale_leader_loses_no_record(self) -> None:
        simulation = Simulation(brokers=2)
        simulation.topic(replicas=1)
        arisen = cut(simulation, b=(2,))
        simulation.advance(SESSION_MS)
        assert simulation.partition().leader_id == -1
        client = simulation.connect()
        client.send(produce("t"))  # it is alone in sync
        assert answers(client) == [(SESSION_MS, NONE, 0)]
        heal(simulation, arisen)
        assert leads(simulation) == (1, 2, [1])
        assert ends(simulation) == [1]
        assert check_history(simulation.journal) == []


class TestFollowersThatDoNotHearEither:
    def test_they_go_on_fetching_from_it(self, simulation: Simulation) -> None:
        """Brokers 1 and 2 are cut off, 3 leads: 2 copies the records of 1, and acks=all waits for 3."""
        arisen = cut(simulation, 1, 2, b=(3,))
        simulation.advance(SESSION_MS)
        assert leads(simulation)[0] == 3
        client = simulation.connect()
        client.send(produce("t", acks=1), produce("t", timeout_ms=1_000))
        assert ends(simulation) == [2, 2, 0]
        simulation.advance(1_000)
        assert answers(client) == [(SESSION_MS, NONE, 0), (SESSION_MS + 1_000, TIMED_OUT, 1)]
        simulation.connect(3).send(produce("t", acks=1))
        heal(simulation, arisen)
        assert ends(simulation) == [1, 1, 1]

    def test_one_that_hears_of_it_first_fetches_no_more(self, simulation: Simulation) -> None:
        first, second = cut(simulation, 1, b=(3,)), cut(simulation, 2, b=(3,))
        simulation.advance(SESSION_MS)
        heal(simulation, second)
        assert leads(simulation)[2] == [2, 3]
        simulation.connect().send(produce("t", acks=1))
        assert ends(simulation) == [1, 0, 0]
        heal(simulation, first)
        assert ends(simulation) == [0, 0, 0]

    def test_a_follower_that_does_not_know_the_new_leader_does_not_fetch_from_it(self, simulation: Simulation) -> None:
        arisen = cut(simulation, 3, b=(1, 2))
        simulation.move_leader(2)
        client = simulation.connect(2)
        client.send(produce("t", timeout_ms=60_000))
        simulation.advance(1_000)
        assert answers(client) == []
        heal(simulation, arisen)
        assert answers(client) == [(1_000 + HEARS_MS, NONE, 0)]

    def test_an_elected_leader_with_stale_metadata_refuses_produce(self, simulation: Simulation) -> None:
        arisen = cut(simulation, 2, b=(1, 3))
        simulation.move_leader(2)
        client = simulation.connect(2)
        client.send(produce("t"))
        assert answers(client) == [(0, NOT_LEADER, -1)]
        heal(simulation, arisen)
        client.send(produce("t"))
        assert answers(client)[1:] == [(HEARS_MS, NONE, 0)]


class TestOnlyTheController:
    """Broker 1 loses its connection to the controller only."""

    def test_until_others_lead_its_followers_have_all_that_it_takes(self, simulation: Simulation) -> None:
        arisen = cut(simulation, 1, b=())
        client = simulation.connect()
        client.send(produce("t"))
        simulation.advance(SESSION_MS)
        client.send(produce("t", acks=1), produce("t", timeout_ms=1_000))
        simulation.advance(1_000)
        assert [answer[1:] for answer in answers(client)] == [(NONE, 0), (NONE, 1), (TIMED_OUT, 2)]
        assert ends(simulation) == [3, 1, 1]
        heal(simulation, arisen)
        assert ends(simulation) == [1, 1, 1]

    def test_transaction_markers_go_to_the_new_leader(self) -> None:
        simulation = with_transactions(3)
        coordinator = simulation.connect(1)
        error, producer_id, epoch = init(coordinator)
        arisen = cut(simulation, 2, b=())
        assert in_transaction(simulation.connect(2), (producer_id, epoch), partition=1) == NONE
        simulation.advance(SESSION_MS)
        assert end(coordinator, (producer_id, epoch))[0] == error == NONE
        simulation.advance(1_000)
        logs = {id_: replica.log for id_, replica in simulation.partition("t", 1).replicas.items()}
        assert simulation.partition("t", 1).leader_id == 3
        assert {id_: log.log_end_offset for id_, log in logs.items()} == {1: 2, 2: 1, 3: 2}
        assert read_committed(simulation.connect(3), 1) == [b"v"]
        heal(simulation, arisen)
        assert {log.log_end_offset for log in logs.values()} == {2}

    def test_its_groups_are_coordinated_twice_and_the_old_one_commits_nothing(self) -> None:
        simulation = Simulation(config={"offsets.commit.timeout.ms": "500"})
        with_coordinator(simulation, replicas=3)
        simulation.topic()
        offsets = {("t", 0): 7}
        assert simulation.partition("__consumer_offsets").leader_id == 1
        arisen = cut(simulation, 1, b=())
        simulation.advance(SESSION_MS)
        old, new = simulation.connect(1), simulation.connect(2)
        old.send(request(OFFSET_COMMIT, 8, commit_values(simulation, "g", offsets)))
        assert old.answers == []
        simulation.advance(500)
        assert codes(old) == [COORDINATOR_NOT_AVAILABLE]
        new.send(request(OFFSET_COMMIT, 8, commit_values(simulation, "g", offsets)))
        assert codes(new) == [NONE]
        heal(simulation, arisen)
        old.send(request(OFFSET_COMMIT, 8, commit_values(simulation, "g", offsets)))
        assert codes(old)[1:] == [NOT_COORDINATOR]


def codes(client: SimulatedClient) -> list[int]:
    """Return the error codes of the responses to commits of one partition."""
    errors = []
    for _, frame in client.answers:
        _, answer = decode_response(OFFSET_COMMIT, 8, frame)
        [[partition]] = [topic.partitions for topic in answer.topics]
        errors.append(int(partition.error_code))
    return errors


class TestAPauseThatIsTooLong:
    def test_requests_that_were_sent_to_a_paused_leader_are_handled_when_it_resumes(
        self, simulation: Simulation
    ) -> None:
        """Kafka 4.4 does so: a record with acks=1 is acknowledged and lost; acks=all gets error 6 with its base
        offset."""
        simulation.connect().send(produce("t"))
        simulation.pause(1)
        one, every, fetcher = (simulation.connect() for _ in range(3))
        simulation.advance(6_000)
        one.send(produce("t", acks=1))
        every.send(produce("t", timeout_ms=60_000))
        simulation.advance(SESSION_MS)
        simulation.resume(1)
        assert answers(one) == [(15_000, NONE, 1)]
        assert answers(every) == []
        assert read(fetcher, 0, 10)[:2] == (NONE, 1)
        one.send(produce("t", acks=1))
        assert answers(one)[1:] == [(15_000, NONE, 3)]
        simulation.advance(HEARS_MS)
        assert answers(every) == [(15_000 + HEARS_MS, NOT_LEADER, 2)]
        assert ends(simulation) == [1, 1, 1]
        assert leads(simulation) == (2, 1, [1, 2, 3])

    def test_a_pause_shorter_than_the_session_delays_no_request(self, simulation: Simulation) -> None:
        simulation.pause(1)
        simulation.advance(SESSION_MS - 1)
        simulation.resume(1)
        client = simulation.connect()
        client.send(produce("t"))
        assert answers(client) == [(SESSION_MS - 1, NONE, 0)]

    def test_without_the_delay_it_knows_before_it_handles_anything(self) -> None:
        simulation = Simulation(config={"fakebroker.metadata.delay.ms": "0"})
        simulation.topic()
        simulation.pause(1)
        client = simulation.connect()
        client.send(produce("t", acks=1))
        simulation.advance(SESSION_MS)
        simulation.resume(1)
        assert answers(client) == [(SESSION_MS, NOT_LEADER, -1)]

    def test_paused_again_before_it_knew(self, simulation: Simulation) -> None:
        simulation.pause(1)
        simulation.advance(SESSION_MS)
        simulation.resume(1)
        simulation.pause(1)
        simulation.advance(HEARS_MS)
        simulation.resume(1)
        client = simulation.connect()
        client.send(produce("t", acks=1))
        assert answers(client) == [(SESSION_MS + HEARS_MS, NONE, 0)]


class TestWhatIsToldOfIt:
    def lose_one(self, simulation: Simulation, acks: int) -> Any:
        arisen = isolated(simulation)
        simulation.connect().send(produce("t", acks=acks, records=batch(b"old"), timeout_ms=100))
        simulation.connect(2).send(produce("t", records=batch(b"new")))
        simulation.advance(100)
        heal(simulation, arisen)
        return check_history(simulation.journal)

    def test_the_journal_has_the_begin_and_end_of_stale_leadership(self, simulation: Simulation) -> None:
        self.lose_one(simulation, 1)
        events = [event for event in simulation.journal if isinstance(event, LeaderStale | MetadataCaughtUp)]
        assert [(type(event).__name__, event.broker) for event in events] == [
            ("LeaderStale", 1),
            ("MetadataCaughtUp", 1),
        ]
        assert events[0][3:] == ("t", 0, 0)

    def test_acks_1_is_found_lost(self, simulation: Simulation) -> None:
        [finding] = self.lose_one(simulation, 1)
        assert (finding.kind, finding.offset) == ("lost", 0)
        assert "by broker 1, which did not know that it led no more" in finding.sentence

    def test_records_of_acks_all_are_not_lost(self, simulation: Simulation) -> None:
        assert self.lose_one(simulation, -1) == []

    def test_an_idempotent_producer_that_asks_the_new_leader_writes_once(self, simulation: Simulation) -> None:
        first, second = (
            batch_of([Record(b"k", b"%d" % number)], producer_id=1, producer_epoch=0, base_sequence=number)
            for number in range(2)
        )
        simulation.connect().send(produce("t", records=first))
        arisen = isolated(simulation)
        old = simulation.connect()
        old.send(produce("t", records=second, timeout_ms=60_000))
        heal(simulation, arisen)
        assert answers(old) == [(SESSION_MS + HEARS_MS, NOT_LEADER, 1)]
        new = simulation.connect(2)
        new.send(produce("t", records=second), produce("t", records=second))
        assert [answer[1:] for answer in answers(new)] == [(NONE, 1), (NONE, 1)]
        assert ends(simulation) == [2, 2, 2]
        assert check_history(simulation.journal) == []
