"""Limits of which Kafka says `>`: what has taken exactly as long as it may is not over yet.

The sender sleeps until exactly then where the same setting is its time-out of a poll (`request.timeout.ms`), or a
multiple of it. Kafka's `select` comes back a fraction of a millisecond late, so the limit is over; a virtual clock is
on the millisecond, so the sender would look, find nothing, and sleep for as long again.

| limit                                            | is over                                  |
|--------------------------------------------------|------------------------------------------|
| request.timeout.ms of any request in flight      | > after it was sent                      |
| socket.connection.setup.timeout.ms (2.7)         | > after the attempt began                |
| connections.max.idle.ms                          | > after the last activity                |
| metadata.recovery.rebootstrap.trigger.ms (4.0)   | > after the first attempt                |
| request.timeout.ms of a batch in the queue (2.0) | > after the last append, and two others  |
| linger.ms, retry.backoff.ms, throttle times      | >=, so a wait that ends there is no harm |
| delivery.timeout.ms (KIP-91)                     | >=                                       |
| reconnect.backoff.ms, metadata.max.age.ms        | >=                                       |
| max.block.ms of metadata, memory, transactions   | >=                                       |
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fakebroker.core.faults.fault import Fault
from fakebroker.producer.client.effects import CloseConnection
from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.journal.events import Disconnected, RequestSent
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

T_MS = 500
INIT_PRODUCER_ID = "InitProducerId"
START_MS = 1_000_000  # of the machine's clock: 0 is never
GENERATIONS = ("2.0", "2.1", "3.0", "4.0", "4.4")
each_generation = pytest.mark.parametrize("generation", GENERATIONS)


class World:
    """A producer of one topic with one broker. `told` has the time of each callback, since `start`."""

    def __init__(
        self, generation: str, brokers: int = 1, partitions: int = 1, replicas: int = 1, **settings: object
    ) -> None:
        self.broker_ids = range(1, brokers + 1)
        self.simulation = Simulation(brokers)
        self.simulation.topic("t", max(brokers, partitions), replicas)
        self.producers = SimulatedProducers(self.simulation)
        given = {"acks": "1", "enable.idempotence": False, "linger.ms": 0, "retries": 0, "request.timeout.ms": T_MS}
        given |= {name.replace("_", "."): value for name, value in settings.items()}
        config = ProducerConfig(generation, given)
        self.journal: ProducerJournal = self.producers.new_journal(config)
        self.client = self.producers.add(config, journal=self.journal)
        self.told: list[int] = []
        self.start_ms = 0

    def send(self, partition: int = 0) -> None:
        producers = self.producers
        self.client.producer.send(
            "t", b"v", 0, producers.now_ms, None, partition, (),
            lambda metadata, error: self.told.append(producers.now_ms - self.start_ms),
        )  # fmt: skip
        self.client.settle()

    def settle(self, ms: int = 100) -> None:
        """Let the producer get its metadata. The clock is at `start_ms`, and no callback has been called."""
        self.send()
        self.advance(ms)
        self.told.clear()
        self.start_ms = self.producers.now_ms

    def send_to_both_partitions_in_silence(self, apart_ms: int) -> None:
        """Pause all brokers. The second record follows the first so much later; both limits have passed then."""
        for broker_id in self.broker_ids:
            self.simulation.pause(broker_id)
        self.send(partition=0)
        self.advance(apart_ms)
        self.send(partition=1)
        self.advance(2 * T_MS)

    def advance(self, ms: int) -> None:
        self.producers.advance(ms)
        self.client.producer.check_invariants()

    def gone(self) -> list[int]:
        """Return when each connection ended, since `start_ms`."""
        ended = (event.mono_ms - self.start_ms for event in self.journal if isinstance(event, Disconnected))
        return [at_ms for at_ms in ended if at_ms >= 0]


@each_generation
def test_a_lone_request_to_a_silent_broker_is_given_up_a_millisecond_after_its_limit(generation: str) -> None:
    world = World(generation)
    world.settle()
    world.simulation.pause(1)
    world.send()
    world.advance(T_MS)
    assert world.told == []
    world.advance(1)
    assert world.told == [T_MS + 1]


@each_generation
@pytest.mark.parametrize(("limit_ms", "late_ms"), [(1_999, 1), (30_000, 30), (200_000, 100)])
def test_a_long_wait_is_late_by_a_thousandth(generation: str, limit_ms: int, late_ms: int) -> None:
    """Linux allows `select` this: 28 ms with 30 s, measured with Java's."""
    settings: dict[str, Any] = {} if generation == "2.0" else {"delivery_timeout_ms": 10 * limit_ms}
    world = World(generation, request_timeout_ms=limit_ms, **settings)
    world.settle()
    world.simulation.pause(1)
    world.send()
    world.advance(limit_ms + 200)
    assert world.told == [limit_ms + late_ms]


@each_generation
@pytest.mark.parametrize(("limit_ms", "is_answered"), [(1_000, False), (30_000, True)])
def test_a_broker_that_parks_a_request_for_as_long_answers_first_if_that_is_long(
    generation: str, limit_ms: int, is_answered: bool
) -> None:
    """The broker's timeout begins when it has the request, 1 ms later, and its response takes 1 ms."""
    world = World(generation, brokers=2, replicas=2, acks="all", request_timeout_ms=limit_ms)
    world.settle()
    world.simulation.followers("frozen")
    world.send()
    world.advance(limit_ms + 10)
    assert world.told == [limit_ms + (2 if is_answered else 1)]
    assert bool(world.gone()) != is_answered


@each_generation
def test_each_request_of_two_nodes_is_given_up_by_its_own_limit(generation: str) -> None:
    """The poll ends when the first limit is over, and the second not quite."""
    world = World(generation, brokers=2)
    world.settle()
    world.send(partition=1)
    world.advance(20)
    world.told.clear()
    world.start_ms = world.producers.now_ms
    world.send_to_both_partitions_in_silence(1)
    assert world.told == [T_MS + 2, T_MS + 2]


@each_generation
def test_every_request_of_a_producer_that_learns_nothing_is_given_up_in_time(generation: str) -> None:
    """The requests are ApiVersions, over a new connection each time, to a broker that is silent from the start."""
    world = World(generation, reconnect_backoff_ms=0, reconnect_backoff_max_ms=0, retry_backoff_ms=0)
    world.simulation.pause(1)
    world.send()
    world.advance(8 * T_MS)
    gaps = [later - earlier for earlier, later in pairwise(world.gone())]
    assert len(gaps) >= 6
    assert all(T_MS < gap < T_MS + 10 for gap in gaps)


@each_generation
@pytest.mark.parametrize("transactional_id", [None, "me"])
def test_a_request_for_a_producer_id_is_given_up_in_time(generation: str, transactional_id: str | None) -> None:
    """2.0 waits for the response within its turn, and sleeps for the back-off."""
    given: dict[str, Any] = {"enable_idempotence": True, "acks": "all", "retries": 10, "retry_backoff_ms": 50}
    if transactional_id is not None:
        given["transactional_id"] = transactional_id
    world = World(generation, reconnect_backoff_ms=0, reconnect_backoff_max_ms=0, **given)
    world.simulation.cluster.faults.add(Fault({"api": "InitProducerId"}, "blackhole", times="every_time"))
    if transactional_id is None:
        world.send()
    else:
        world.client.producer.init_transactions(world.producers.now_ms)
        world.client.settle()
    world.advance(4 * T_MS)
    times_ms = [
        event.mono_ms for event in world.journal if isinstance(event, RequestSent) and event.api == INIT_PRODUCER_ID
    ]
    gaps = [later - earlier for earlier, later in pairwise(times_ms)]
    assert len(gaps) >= 2
    assert all(T_MS < gap < 1.5 * T_MS for gap in gaps)


def ended(generation: str, until_ms: int, **settings: object) -> list[int]:
    """Return when a producer ended its attempts to connect to an address that neither accepts nor refuses."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    machine = KafkaProducer(ProducerConfig(generation, given), [("host", 9092)], lambda: 0, lambda: 0.5, START_MS)
    machine.send("t", b"v", 0, START_MS)
    seen = []
    while (now_ms := machine.next_deadline_ms()) is not None and now_ms < START_MS + until_ms:
        machine.advance_to(now_ms)
        seen += [now_ms - START_MS for effect in machine.take_effects() if isinstance(effect, CloseConnection)]
    return seen


@pytest.mark.parametrize("generation", [one for one in GENERATIONS if one not in ("2.0", "2.1")])
@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("reconnect_ms", [50, 1_000])
def test_an_attempt_to_connect_is_given_up_a_millisecond_after_its_limit(
    generation: str, reconnect_ms: int, idempotent: bool
) -> None:
    """The limit is a multiple of the waits of a client without metadata. An idempotent one sleeps between them."""
    settings: dict[str, object] = {"enable_idempotence": idempotent, "socket_connection_setup_timeout_ms": 1_000}
    settings |= {"socket_connection_setup_timeout_max_ms": 1_000}
    settings |= {"reconnect_backoff_ms": reconnect_ms, "reconnect_backoff_max_ms": reconnect_ms}
    assert ended(generation, 1_200, **settings) == [1_001]


@pytest.mark.parametrize("generation", ["4.0", "4.4"])
def test_a_client_that_learns_nothing_begins_anew_a_millisecond_after_its_limit(generation: str) -> None:
    """KIP-1102."""
    settings = {"socket_connection_setup_timeout_ms": 60_000, "metadata_recovery_rebootstrap_trigger_ms": 20_000}
    settings |= {"socket_connection_setup_timeout_max_ms": 60_000}
    assert ended(generation, 21_000, enable_idempotence=False, **settings) == [20_001]


@each_generation
def test_an_idle_connection_is_closed_a_millisecond_after_its_limit(generation: str) -> None:
    """The limit is a multiple of the waits of an idle sender."""
    world = World(generation, connections_max_idle_ms=3 * T_MS)
    world.settle(5 * T_MS)  # no connection is left
    world.send()
    world.advance(T_MS)
    [answered_ms] = world.told
    assert world.gone() == []
    world.advance(3 * T_MS)
    assert world.gone() == [answered_ms + 3 * T_MS + 1]


def test_a_batch_in_the_queue_of_2_0_expires_a_millisecond_after_its_limit() -> None:
    """The batch waits for the only request that may be in flight. The connection of that one is closed at the same
    moment."""
    world = World("2.0", partitions=2, max_in_flight_requests_per_connection=1)
    world.settle()
    world.send_to_both_partitions_in_silence(10)
    assert world.told == [T_MS + 11, T_MS + 11]


@each_generation
def test_an_inclusive_limit_is_over_on_the_millisecond(generation: str) -> None:
    """linger.ms, and since KIP-91 delivery.timeout.ms."""
    world = World(generation, linger_ms=30)
    world.settle()
    world.send()
    world.advance(40)
    assert world.told == [32]
    if generation == "2.0":
        return
    world = World(generation, delivery_timeout_ms=T_MS, request_timeout_ms=T_MS - 100, retries=10)
    world.settle()
    world.simulation.pause(1)
    world.send()
    world.advance(2 * T_MS)
    assert world.told == [T_MS]
