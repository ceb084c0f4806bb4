"""Idempotent producers beside a cluster with brokers that die and leaders that move. Each record is in the log once, in
the order in which it was sent, or its sender got an error that allows its absence."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import Callback, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.record_batch import decode_records
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

_SEEDS = 8
_STEPS = 40
_PARTITIONS = 2
_LONG_MS = 20_000


class Run:
    """Two producers, each record a number of its own. `told`: the offset of each, or its error."""

    def __init__(self, generation: str, seed: int, expires: bool) -> None:
        random = self._random = Random(seed)
        self.generation = generation
        self.simulation = Simulation(3, seed=seed, check_every=50, with_tape=True)
        self.simulation.topic("t", _PARTITIONS)
        self.producers = SimulatedProducers(self.simulation, latency_ms=random.choice([0, 1, 7]))
        settings: dict[str, object] = {
            "enable.idempotence": True,
            "batch.size": random.choice([0, 300]),
            "linger.ms": random.choice([0, 10]),
            "max.block.ms": 60_000,
            "max.in.flight.requests.per.connection": random.choice([1, 2, 5]),
            "request.timeout.ms": 400,
            "retries": 2**31 - 1,
        }
        if generation == "2.0":
            settings["request.timeout.ms"] = 400 if expires else 2_000_000
        else:
            settings["delivery.timeout.ms"] = 1_000 if expires else 2_000_000
        self.clients = [self.producers.add(ProducerConfig(generation, settings), at) for at in range(2)]
        self.sent: dict[tuple[int, int], list[int]] = {}  # by producer and partition
        self.told: dict[int, int | ProducerError] = {}
        self._down: set[int] = set()
        self.count = 0

    def step(self) -> None:
        random = self._random
        match random.randrange(10):
            case 0:
                self._fault(random.randint(1, 3))
            case 1:
                self._move_leader()
            case 2:
                self.simulation.followers(random.choice(["instant", "frozen", "lagging:20"]))
            case 3:
                self.producers.advance(random.choice([50, 401, 1_100]))
            case _:
                self._send(random.randrange(2), random.randrange(_PARTITIONS))
                self.producers.advance(random.choice([0, 0, 1, 10]))
        for client in self.clients:
            client.producer.check_invariants()
            assert client.producer.sender.uncaught is None

    def end(self) -> None:
        for broker_id in sorted(self._down):
            self.simulation.start(broker_id)
        self.simulation.followers("instant")
        self.producers.advance(_LONG_MS)

    def _fault(self, broker_id: int) -> None:
        if broker_id in self._down:
            self.simulation.start(broker_id)
            self._down.remove(broker_id)
        elif len(self._down) < 2:
            self._random.choice([self.simulation.stop, self.simulation.kill])(broker_id)
            self._down.add(broker_id)

    def _move_leader(self) -> None:
        at = self._random.randrange(_PARTITIONS)
        in_sync = self.simulation.partition("t", at).isr
        others = sorted(set(in_sync) - self._down)
        if others:
            self.simulation.move_leader(self._random.choice(others), "t", at)

    def _send(self, who: int, partition: int) -> None:
        record = self.count
        self.count += 1
        self.sent.setdefault((who, partition), []).append(record)
        client = self.clients[who]
        client.producer.send(
            "t", b"%d " % record + bytes(self._random.choice([1, 100])), self.simulation.now.wall_ms,
            self.producers.now_ms, partition=partition, callback=self._callback(record),
        )  # fmt: skip
        client.settle()

    def _callback(self, record: int) -> Callback:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            assert record not in self.told, "a record is called back once"
            result = metadata.offset if metadata is not None else error
            assert result is not None
            self.told[record] = result

        return told

    def logs(self) -> list[list[tuple[int, int]]]:
        """(offset, record) of each partition."""
        logs_ = []
        for at in range(_PARTITIONS):
            log: list[tuple[int, int]] = []
            for batch in self.simulation.partition("t", at).leader_log.batches_from(0):
                for index, record in enumerate(decode_records(batch.data)):
                    assert record.value is not None
                    log.append((batch.base_offset + index, int(record.value.split(b" ")[0])))
            logs_.append(log)
        return logs_


def check(run: Run) -> None:
    assert len(run.told) == sum(len(records) for records in run.sent.values())
    for partition, log in enumerate(run.logs()):
        places = {record: offset for offset, record in log}
        copies = Counter(record for _, record in log)
        for who in range(2):
            sent = run.sent.get((who, partition), [])
            first_failed = next((record for record in sent if isinstance(run.told[record], ProducerError)), run.count)
            is_bumping = run.generation != "2.0"
            twice = [record for record in sent if copies[record] > 1]
            assert not [one for one in twice if not is_bumping or one <= first_failed], (twice, first_failed)
            if twice:
                continue
            for record in sent:
                result = run.told[record]
                assert isinstance(result, ProducerError) or result in (places[record], -1), (record, result)
            written = [record for record in sent if record in places]
            acknowledged = [record for record in written if not isinstance(run.told[record], ProducerError)]
            assert sorted(acknowledged, key=lambda record: places[record]) == acknowledged


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_what_may_take_its_time_is_written_once_and_in_order(generation: str, seed: int) -> None:
    run = Run(generation, seed, expires=False)
    for _ in range(_STEPS):
        run.step()
    run.end()
    check(run)
    assert not [result for result in run.told.values() if isinstance(result, ProducerError)]


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_what_expires_is_there_once_or_not_at_all(generation: str, seed: int) -> None:
    run = Run(generation, seed, expires=True)
    for _ in range(_STEPS):
        run.step()
    run.end()
    check(run)


def test_what_was_in_flight_behind_a_record_that_expired_may_be_there_twice() -> None:
    """Kafka's behaviour: 4.3 takes the next epoch (KIP-360) and sends records in flight again, from sequence 0. They
    may have been written already."""
    run = Run("4.3", 0x225CE7C0, expires=True)
    for _ in range(_STEPS):
        run.step()
    run.end()
    check(run)
    copies = Counter(record for log in run.logs() for _, record in log)
    assert [record for record, count in copies.items() if count > 1] == [16]
    assert all(isinstance(run.told[record], ProducerError) for record in (15, 16))


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_a_seed_always_gives_the_same(generation: str) -> None:
    for seed in range(2):
        tapes = []
        for _ in range(2):
            run = Run(generation, seed, expires=bool(seed % 2))
            for _ in range(_STEPS):
                run.step()
            run.end()
            tapes.append(run.simulation.tape_text())
        assert tapes[0] == tapes[1]
