"""A trial: a simulated cluster with failing brokers, a producer, and the outcome of its records.

Theory   Brokers and producer are the real ones, in virtual time: their code decides what is lost, duplicated or
         refused, with all elections and retries. Records arrive by a Poisson process, each for a random partition, and
         one thread sends them. When the time is over all faults are healed, all records end, and a consumer's Fetch
         reads each partition to its end. Arrivals and failures depend on the seed only.
Units    milliseconds of virtual time; `took_us` microseconds of CPU.
Errors   RuntimeError with the seed if anything breaks: this is a bug, not a loss.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.fault import Fault
from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.testing.odds.availability import Availability
from fakebroker.testing.odds.failures import Failures
from fakebroker.testing.odds.model import OddsModel
from fakebroker.testing.odds.story import Story
from fakebroker.testing.odds.tally import Tally
from fakebroker.testing.producers.judge import ProducerHistory
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import START_MONO_MS, Simulation
from fakebroker.testing.transactions.frames import fetched
from fakebroker.testing.transactions.oracle import batches_in
from fakebroker.testing.wire import fetch

TOPIC: Final = "odds"
_LATENCY_MS: Final = 1  # of all bytes between producer and brokers
_LOOK_EVERY: Final = 100_000  # calls of the cluster: its invariants have their own tests, and are checked at the end
_ROUND_MS: Final = 10_000
_MARGIN_MS: Final = 600_000  # beyond the time that producer and followers may need at the end


class TrialResult(NamedTuple):
    """The outcome of the records of a seed.

    sent           records passed to the producer; `acknowledged` and `failed` (with an error) of them
    lost, duplicated, reordered, written   of them (tally.py)
    errors         the number of each error, by Kafka's name
    crashes        of brokers; `leaders_lost`: the number of partitions that these led
    partition_ms   the duration of the trial, for each partition; `unavailable_ms` of it (availability.py)
    story          what happened, as lines, if wanted
    """

    seed: int
    sent: int
    acknowledged: int
    failed: int
    lost: int
    duplicated: int
    reordered: int
    written: int
    errors: dict[str, int]
    crashes: int
    leaders_lost: int
    partition_ms: int
    unavailable_ms: int
    took_us: int
    story: list[str]


def run_trial(model: OddsModel, seed: int, tells: bool = False) -> TrialResult:
    """Run the trial of a seed. `tells`: with its story."""
    try:
        return Trial(model, seed, tells).run()
    except Exception as error:
        raise RuntimeError(f"the trial of seed {seed} broke off: {type(error).__name__}: {error}") from error


class Trial:
    """A trial; `run` it once. A `history` gets the records and results of the producer. `logs` are the numbers of the
    records in each partition at the end."""

    def __init__(
        self, model: OddsModel, seed: int, tells: bool = False, history: ProducerHistory | None = None
    ) -> None:
        self.model = model
        self.logs: list[list[int]] = []
        self._seed = seed
        self._started = time.process_time_ns()
        followers = f"lagging:{model.lag_ms}" if model.lag_ms else "instant"
        self.simulation = Simulation(model.brokers, followers, dict(model.brokers_config), seed, _LOOK_EVERY)
        self.simulation.topic(
            TOPIC,
            model.brokers,
            model.replication,
            min_insync_replicas=model.min_isr,
            unclean_leader_election_enable=str(model.unclean_leader_election).lower(),
            retention_ms=-1,
            retention_bytes=-1,
        )
        self.partitions = [self.simulation.partition(TOPIC, index) for index in range(model.brokers)]
        self._around = SimulatedProducers(self.simulation, _LATENCY_MS)
        self._config = model.producer_config()
        self.tally = Tally(keeps_places=tells)
        self._producer = self._around.add(self._config, seed, history=history)
        self._producer.producer.listen(self.tally.hear, *self.tally.kinds)
        self._caller = self._producer.caller()
        self._story = Story(self.simulation) if tells else None
        tell: Callable[[str], None] = self._story.tell if self._story is not None else lambda what: None
        self.availability = Availability(self.simulation, self.partitions, self._config.acks == -1)
        self.failures = Failures(self._around, TOPIC, model, seed, self.availability.look, tell)
        self._arrivals = Random(f"arrivals of {seed}")
        self._next_s = 0.0
        self._asked = 0
        self._await_record()

    def run(self) -> TrialResult:
        lost_answers = self._lose_answers()
        self._around.advance(self.model.duration_ms)
        self.availability.stop()
        crashes, leaders_lost = self.failures.crashes, self.failures.leaders_lost
        if lost_answers is not None:
            self.simulation.cluster.faults.remove(lost_answers)
        self.failures.end()
        self._settle()
        self.simulation.cluster.check_invariants()
        self.logs = [self._read(index) for index in range(self.model.brokers)]
        tally, counts = self.tally, self.tally.count(self.logs)
        self._tell_lost()
        return TrialResult(
            self._seed, tally.sent, tally.acknowledged, tally.failed, counts.lost, counts.duplicated, counts.reordered,
            counts.written, dict(tally.errors), crashes, leaders_lost, self.model.duration_ms * self.model.brokers,
            self.availability.unavailable_ms, (time.process_time_ns() - self._started) // 1_000,
            self._story.lines() if self._story is not None else [],
        )  # fmt: skip

    # Sending.

    def _await_record(self) -> None:
        self._next_s += self._arrivals.expovariate(self.model.rate)
        at_ms = round(self._next_s * 1_000)
        if at_ms < self.model.duration_ms:
            self._around.at(at_ms, self._send)

    def _send(self) -> None:
        partition = self._arrivals.randrange(self.model.brokers)
        value = b"%d" % self._asked
        self._asked += 1
        self._caller.send(TOPIC, value, self.simulation.now.wall_ms, partition=partition)
        self._await_record()

    def _lose_answers(self) -> Armed | None:
        if not self.model.lost_answers:
            return None
        times = {"probability": self.model.lost_answers, "seed": self._seed}
        when = {"api": "Produce", "topic": TOPIC, "at": "before_answer"}
        return self.simulation.cluster.faults.add(Fault.from_json({"when": when, "do": "disconnect", "times": times}))

    # The end.

    def _settle(self) -> None:
        """Advance the time until all records have ended and can be read."""
        config = self._config
        left_ms = config.delivery_timeout_ms + config.max_block_ms + 2 * self.model.lag_ms + _MARGIN_MS
        while not self._is_settled():
            assert left_ms > 0, f"{self.tally.open} records have not ended, or not every partition can be read"
            self._around.advance(_ROUND_MS)
            left_ms -= _ROUND_MS

    def _is_settled(self) -> bool:
        cluster = self.simulation.cluster
        return (
            not self._caller.is_blocked()
            and not self.tally.open
            and all(cluster.lives.is_running(broker_id) for broker_id in cluster.registry.broker_ids)
            and all(
                partition.leader_id != NO_LEADER and partition.high_watermark == partition.leader_log.log_end_offset
                for partition in self.partitions
            )
        )

    def _read(self, index: int) -> list[int]:
        """Return the numbers of a partition's records, in the order of its log."""
        partition, numbers = self.partitions[index], list[int]()
        client = self.simulation.connect(partition.leader_id)
        offset = 0
        while offset < partition.high_watermark:
            client.send(fetch(1, TOPIC, index, offset, 0))
            answer = fetched(client.answers.pop()[1])
            batches = batches_in(answer.records)
            assert not answer.error, answer.error
            assert batches, f"offset {offset} cannot be fetched"
            numbers += [int(value) for batch in batches for value in batch.values]
            offset = batches[-1].last + 1
        return numbers

    def _tell_lost(self) -> None:
        if self._story is not None:
            places = self.tally.places or {}
            lost = [(number, *places[number]) for number in self.tally.lost(self.logs)]
            self._story.lost([(number, at, offset, ms - START_MONO_MS) for number, at, offset, ms in lost])
