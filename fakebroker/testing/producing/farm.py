"""A thousand producers and a cluster with many faults, for any duration, without keeping anything.

Theory   Producers of several kinds (`KINDS`) send records at random times, some by key, some in bursts; each is checked
         (watch.py). Brokers stop, crash, pause and return; followers freeze; leaders move; connections break. A fault
         lasts up to 150 s, longer than `delivery.timeout.ms`, so that records sometimes expire. Everything is drawn
         from one seed. It goes into a journal of which only the hash is kept: all bytes, the end of each record, and
         the events of each producer's journal (`with_decisions`).
Units    milliseconds of virtual time.
Errors   AssertionError if a promise (watch.py) or an invariant is broken, or for a bug of the broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final, NamedTuple

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.run_journal import JournaledSimulation, RunJournal
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.producing.watch import ProducerWatch

TOPIC: Final = "t"
HOUR_MS: Final = 3_600_000
_MEMORY: Final = 64 * 1024  # buffer.memory: four batches of batch.size
_PADDING: Final = bytes(100)
_END_MS: Final = 300_000  # Until all records have a response or have expired, at the end.
_LOOK_EVERY: Final = 10_000  # Calls of the cluster, unless invariants are checked at each.
# To limit the logs: a segment of 1 MiB is deleted ten minutes after its last record.
_TOPIC_CONFIG: Final = {"retention_ms": 600_000, "segment_bytes": 1 << 20, "min_insync_replicas": 2}


class ProducerKind(NamedTuple):
    """The settings of some of the producers, and the number of records that each sends at once."""

    settings: dict[str, object]
    burst: int = 1


KINDS: Final = (
    ProducerKind({}),  # idempotent by Kafka's defaults
    ProducerKind({"enable.idempotence": False, "max.in.flight.requests.per.connection": 1}),
    ProducerKind({"enable.idempotence": False, "acks": "1", "linger.ms": 0}),
    ProducerKind({"linger.ms": 50, "batch.size": 1_000}, 12),
)


class _Caller:
    """A user of a producer, which sends `burst` records at once, one after the other."""

    def __init__(self, producer: SimulatedProducer, burst: int) -> None:
        self.producer = producer
        self.burst = burst
        self.last: Sending | None = None


class Farm:
    """The farm. Call `advance` to let time pass, then `end`. `every_ms` is the average pause of a producer,
    `fault_every_ms` that between faults (None for no faults). `looks_always`: check invariants after every event.
    `latency_ms` applies to all messages."""

    def __init__(
        self,
        producers: int,
        brokers: int = 3,
        seed: int = 0,
        every_ms: int = 60_000,
        partitions: int = 12,
        fault_every_ms: int | None = 600_000,
        latency_ms: int = 1,
        looks_always: bool = False,
        journal: RunJournal | None = None,
        with_decisions: bool = True,
    ) -> None:
        self._random = Random(seed)
        self._fault_random = Random(seed + 1)
        self.journal = journal or RunJournal()
        self._with_decisions = with_decisions
        self.simulation = JournaledSimulation(brokers, seed=seed, check_every=1 if looks_always else _LOOK_EVERY)
        self.simulation.journal = self.journal
        self.simulation.topic(TOPIC, partitions, min(3, brokers), **_TOPIC_CONFIG)
        self.around = SimulatedProducers(self.simulation, latency_ms)
        self._partitions = partitions
        self._brokers = brokers
        self._every_ms = every_ms
        self._fault_every_ms = fault_every_ms
        self._away: set[int] = set()
        self._is_ending = False
        self.faults: Counter[str] = Counter()
        self.producers: list[SimulatedProducer] = []
        self.watches: list[ProducerWatch] = []
        if looks_always:
            self.around.on_settled = _look
        for at in range(producers):
            self._add(at, seed)
        if fault_every_ms is not None:
            self._later(self._fault_random, fault_every_ms, self._fault)

    # Measurements.

    @property
    def batches(self) -> int:
        """Return the number of acknowledged batches."""
        return sum(watch.batches for watch in self.watches)

    @property
    def refused(self) -> int:
        """Return the number of errors that brokers returned for batches."""
        return sum(watch.refused for watch in self.watches)

    @property
    def records(self) -> int:
        """Return the number of records sent, acknowledged or not."""
        return sum(watch.sent for watch in self.watches)

    def outcomes(self) -> Counter[str]:
        """Return the number of records by the name of their error."""
        counts: Counter[str] = Counter()
        for watch in self.watches:
            counts.update(watch.outcomes)
        return counts

    # Time.

    def advance(self, ms: int) -> None:
        """Advance the time, with all events until then."""
        self.around.advance(ms)

    def end(self) -> None:
        """Stop faults and records, and wait for the end of all records. Raises AssertionError if a record does not
        end."""
        self._is_ending = True
        for broker_id in sorted(self._away):
            self._return(broker_id)
        self.simulation.followers("instant")
        self.advance(_END_MS)
        for producer, watch in zip(self.producers, self.watches, strict=True):
            _look(producer)
            assert not watch.open, f"{watch.open} records were never called back"
            producer.producer.close(self.around.now_ms, 0)
            producer.settle()
        self.advance(1_000)
        self.simulation.cluster.check_invariants()

    # Actions of producers.

    def _add(self, at: int, seed: int) -> None:
        kind = KINDS[at % len(KINDS)]
        config = ProducerConfig("4.3", {"client.id": f"producer-{at}", "buffer.memory": _MEMORY} | kind.settings)

        def journal_outcome(number: int, partition: int, offset: int, error: str) -> None:
            elapsed_ms = self.simulation.elapsed_ms
            self.journal.add(elapsed_ms, f"record {number} of producer {at}: {error} {partition} {offset}")

        watch = ProducerWatch(config, journal_outcome)
        journal = None
        if self._with_decisions:
            journal = self.around.new_journal(config, size=0, on_event=self.journal.add_producer_event)
        producer = self.around.add(config, seed * 1_000_003 + at, journal)
        producer.producer.listen(watch.hear, *watch.kinds)
        self.producers.append(producer)
        self.watches.append(watch)
        self._later(self._random, self._every_ms, partial(self._send, _Caller(producer, kind.burst)))

    def _send(self, caller: _Caller) -> None:
        if self._is_ending:
            return
        random, producer = self._random, caller.producer
        for _ in range(caller.burst):
            if caller.last is not None and not caller.last.is_done:
                break  # it is blocked, and continues another time
            number = random.getrandbits(30)
            key = b"%d" % (number & 63) if number & 64 else None
            caller.last = producer.producer.send(
                TOPIC, b"%d" % number + _PADDING, self.simulation.now.wall_ms, self.around.now_ms, key
            )
        producer.settle()
        self._later(random, self._every_ms, partial(self._send, caller))

    def _later(self, random: Random, mean_ms: int, do: Callable[[], None]) -> None:
        self.around.at(self.simulation.elapsed_ms + 1 + random.randrange(2 * mean_ms), do)

    # Faults.

    def _fault(self) -> None:
        if self._is_ending:
            return
        random, simulation = self._fault_random, self.simulation
        what = random.choice(("stop", "kill", "pause", "freeze", "move", "cut", "cut"))
        lasts_ms = random.choice((200, 5_000, 40_000, 150_000))
        if what in ("stop", "kill", "pause"):
            broker_id = random.randint(1, self._brokers)
            is_running = simulation.cluster.lives.state_of(broker_id) == "running"
            if not is_running or len(self._away) >= self._brokers - 1:
                what = "nothing"
            else:
                self._away.add(broker_id)
                {"stop": simulation.stop, "kill": simulation.kill, "pause": simulation.pause}[what](broker_id)
                self._after(lasts_ms, partial(self._return, broker_id))
        elif what == "freeze":
            simulation.followers("frozen")
            self._after(lasts_ms, partial(simulation.followers, "instant"))
        elif what == "move":
            partition = random.randrange(self._partitions)
            others = sorted(set(simulation.partition(TOPIC, partition).isr) - self._away)
            if others:
                simulation.move_leader(random.choice(others), TOPIC, partition)
        else:
            for producer in random.sample(self.producers, max(1, len(self.producers) // 20)):
                producer.cut()
        self.faults[what] += 1
        assert self._fault_every_ms is not None
        self._later(random, self._fault_every_ms, self._fault)

    def _after(self, ms: int, do: partial[None]) -> None:
        self.around.at(self.simulation.elapsed_ms + ms, do)

    def _return(self, broker_id: int) -> None:
        if broker_id not in self._away:
            return
        self._away.remove(broker_id)
        state = self.simulation.cluster.lives.state_of(broker_id)
        if state == "paused":
            self.simulation.resume(broker_id)
            return
        if state == "stopping":  # the stop takes too long for an operator
            self.simulation.kill(broker_id)
        self.simulation.start(broker_id)


def _look(producer: SimulatedProducer) -> None:
    producer.producer.check_invariants()
    assert producer.producer.sender.uncaught is None, producer.producer.sender.uncaught
