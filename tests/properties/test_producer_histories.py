"""Brokers pause, die and restart, followers freeze, leaders move: the table of errors is right for producers with and
without retries."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from support.answers import answers
from support.requests import batch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.error_code import kafka_name
from fakebroker.testing import ProducerHistory, check_history, describe
from fakebroker.testing.producers import calls
from fakebroker.testing.producers.calls import CallOutcome, ProducerCall
from fakebroker.testing.producers.certainty import CERTAINTY, ErrorCertainty, is_definite
from fakebroker.testing.producers.findings import DUPLICATE, GAP, LOST, REORDERED
from fakebroker.testing.producers.judge import MISPLACED, WRITTEN
from fakebroker.testing.producers.rebuilt import logs_of

BROKERS = (1, 2, 3)
STEPS = 60
PARTITIONS = 2
MOST_TRIES = 3
CONFIG = {"broker.session.timeout.ms": "2000", "replica.lag.time.max.ms": "5000"}


class Idempotent:
    """Has one record on its way, and sends it again until it is acknowledged or tried often enough."""

    def __init__(self, world: World, producer_id: int) -> None:
        self.world = world
        self.producer_id = producer_id
        self.sequence = 0
        self.tries = 0
        self.sent: tuple[ProducerCall, bytes, SimulatedClient] | None = None

    def step(self) -> None:
        if self.sent is None:
            value = self.world.value()
            call = self.world.history.invokes(f"producer {self.producer_id}", "t", value)
            data = self.world.batch(value, producer_id=self.producer_id, producer_epoch=0, base_sequence=self.sequence)
            self.tries = 0
            self.send(call, data)
            return
        call, data, client = self.sent
        error, offset = answer(client)
        if error == "NONE":
            call.ok(0, offset)
            self.sent = None
            self.sequence += 1
        elif self.tries == MOST_TRIES:
            call.failed(error, self.tries)
            self.sent = None
            self.producer_id += 1_000  # its sequence is in doubt
            self.sequence = 0
        else:
            self.send(call, data)

    def send(self, call: ProducerCall, data: bytes) -> None:
        self.tries += 1
        client = self.world.simulation.connect(self.world.leader(0))
        client.send(produce("t", 0, timeout_ms=300, records=data))
        self.sent = call, data, client


def answer(client: SimulatedClient) -> tuple[str, int]:
    for _, error, offset in answers(client):
        return kafka_name(error), offset
    return "nothing was answered", -1


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.journal = Journal(1_000_000)
        self.history = ProducerHistory()
        self.simulation = Simulation(config=CONFIG, seed=seed, journal=self.journal)
        self.simulation.topic(partitions=PARTITIONS, min_insync_replicas=self.random.choice((1, 2, 3)))
        self.sent: list[tuple[ProducerCall, SimulatedClient, int]] = []
        self.producer = Idempotent(self, 7)

    def value(self) -> bytes:
        return b"%d" % (len(self.history.calls) + 1)

    def batch(self, value: bytes, **header: int) -> bytes:
        return batch(value, timestamp_ms=self.simulation.now.wall_ms, **header)

    def leader(self, partition: int) -> int:
        leader_id = self.simulation.partition("t", partition).leader_id
        return leader_id if leader_id in self.simulation.listening else self.running()

    def running(self) -> int:
        return self.random.choice(sorted(self.simulation.listening))

    def write(self) -> None:
        """Send a record once, to any broker."""
        value, acks, partition = self.value(), self.random.choice((-1, -1, 1)), self.random.randrange(PARTITIONS)
        broker = self.leader(partition) if self.random.random() < 0.8 else self.running()
        client = self.simulation.connect(broker)
        self.sent.append((self.history.invokes(f"acks={acks}", "t", value), client, partition))
        timeout_ms = self.random.choice((0, 300, 6_000))
        client.send(produce("t", partition, acks=acks, timeout_ms=timeout_ms, records=self.batch(value)))

    def produce(self) -> None:
        self.producer.step()

    def freeze(self) -> None:
        how = self.random.choice(("frozen", "instant", "instant", "lagging:200"))
        self.simulation.followers(how, broker=self.random.choice(BROKERS))

    def move(self) -> None:
        partition = self.random.randrange(PARTITIONS)
        inside = [
            node_id
            for node_id in self.simulation.partition("t", partition).isr_ids
            if node_id in self.simulation.listening
        ]
        if inside:
            self.simulation.move_leader(self.random.choice(inside), "t", partition)

    def process(self) -> None:
        broker = self.random.choice(BROKERS)
        state = self.simulation.cluster.lives.state_of(broker)
        if state == "running":
            if len(self.simulation.listening) > 1:
                self.random.choice((self.simulation.pause, self.simulation.kill, self.simulation.stop))(broker)
        elif state == "paused":
            self.simulation.resume(broker)
        else:
            self.simulation.start(broker)

    def rest(self) -> None:
        self.simulation.advance(self.random.choice((1, 10, 400, 1_999, 2_500, 6_000)))

    def finish(self) -> None:
        for broker in BROKERS:
            if self.simulation.cluster.lives.state_of(broker) == "paused":
                self.simulation.resume(broker)
            self.simulation.start(broker)
        self.simulation.followers("instant")
        self.simulation.advance(20_000)
        while self.producer.sent is not None:
            self.producer.step()
            self.simulation.advance(400)
        for call, client, partition in self.sent:
            error, offset = answer(client)
            if error == "NONE":
                call.ok(partition, offset)
            else:
                call.failed(error)


STEP = ("write", "write", "write", "produce", "produce", "freeze", "move", "process", "rest", "rest")


def play(seed: int) -> Counter[tuple[CallOutcome, bool]]:
    """Return the number of records by outcome, and by whether a log has them."""
    world = World(seed)
    for _ in range(STEPS):
        getattr(world, world.random.choice(STEP))()
    world.finish()
    assert check_history(world.journal, {GAP}) == []
    findings = world.history.check(world.journal)
    # Those of one try come over connections of their own, which have no order; acks=1 promises nothing.
    accused = [
        finding
        for finding in findings
        if finding.kind in (MISPLACED, WRITTEN, DUPLICATE)
        or (finding.kind == LOST and "acks=1" not in finding.sentence)
        or (finding.kind == REORDERED and "producer" in finding.sentence)
    ]
    assert accused == [], f"seed {seed}: {describe(accused)}"
    there = {
        record.fingerprint
        for life in logs_of(world.journal)
        for log in life.values()
        for record in log.records.values()
    }
    return Counter((call.outcome, call.fingerprint in there) for call in world.history.calls)


def play_all(seeds: int) -> Counter[tuple[CallOutcome, bool]]:
    return sum((play(seed) for seed in range(seeds)), Counter())


def test_no_broker_and_no_client_is_accused() -> None:
    seen = play_all(30)
    assert set(seen) >= {
        (CallOutcome.OK, True),
        (CallOutcome.FAILED, False),
        (CallOutcome.UNKNOWN, True),
        (CallOutcome.UNKNOWN, False),
    }
    assert (CallOutcome.FAILED, True) not in seen


@pytest.mark.parametrize("error", ["REQUEST_TIMED_OUT", "NOT_LEADER_OR_FOLLOWER"])
def test_a_judge_that_takes_an_open_error_for_a_definite_one_is_found(
    error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slip: a client, or a table, that says it is not written."""
    monkeypatch.setitem(CERTAINTY, error, ErrorCertainty(True, "a slip"))
    with pytest.raises(AssertionError, match=f"written: .* is not written .{error}.*, and it stands here"):
        play_all(60)


def test_a_judge_that_forgets_earlier_tries_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "is_definite", lambda error, tries: is_definite(error))
    with pytest.raises(AssertionError, match=r"written: .* client 'producer \d+' was told that it is not written"):
        play_all(200)
