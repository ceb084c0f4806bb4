"""Transactional producers while brokers die and leaders move: of a transaction all is seen, or nothing."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from support import doses
from support.transactional_world import PARTITIONS, World

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.client.transaction_calls import TransactionCall
from fakebroker.producer.errors import (
    ProducerTimeoutError,
)

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
_SEEDS = doses.count(2, 12)
_STEPS = 60


class Run:
    """Two producers that begin, send, commit and abort, while brokers die and leaders move. `ended`: the records of
    each transaction, and whether its commit was confirmed (True), its abort (False), or neither (None)."""

    def __init__(self, generation: str, seed: int) -> None:
        self._random = Random(seed)
        self.world = World(generation, seed)
        settings: dict[str, object] = {"request_timeout_ms": 400, "max_block_ms": 60_000}
        if generation != "2.0":
            settings["delivery_timeout_ms"] = 30_000
        self.clients = [self.world.add(f"tx{at}", at, **settings) for at in range(2)]
        self.calls: list[TransactionCall | None] = [None, None]
        self.records: list[list[int] | None] = [None, None]  # of the transaction that is open
        self.is_dead = [False, False]
        self._sending: list[Sending | None] = [None, None]  # the last: sending waits for metadata
        self.ended: list[tuple[list[int], bool | None]] = []
        self._down: int | None = None
        self._count = 0
        for at in range(2):
            assert self.world.init(self.clients[at]).error is None

    def step(self) -> None:
        random = self._random
        match random.randrange(12):
            case 0:
                self._fault(random.randint(1, 3))
            case 1:
                in_sync = set(self.world.simulation.partition("t", 0).isr) - {self._down}
                if in_sync:
                    self.world.simulation.move_leader(random.choice(sorted(in_sync)), "t", 0)
            case 2:
                self.world.producers.advance(random.choice([100, 500]))
            case _:
                self._use(random.randrange(2))
                self.world.producers.advance(random.choice([0, 1, 10]))
        for client in self.clients:
            client.producer.check_invariants()

    def end(self) -> None:
        if self._down is not None:
            self.world.simulation.start(self._down)
        self.world.producers.advance(20_000)
        for at, client in enumerate(self.clients):
            if self.records[at] is not None and self.calls[at] is None:
                self._end(at, False)
            client.producer.close(self.world.producers.now_ms, 60_000)
            client.settle()
        self.world.producers.advance(90_000)  # a transaction that is not ended times out

    def _use(self, at: int) -> None:
        if self.is_dead[at] or self.calls[at] is not None:
            return
        client, records, sending = self.clients[at], self.records[at], self._sending[at]
        if sending is not None and not sending.is_done:
            return
        if records is None:
            client.producer.begin_transaction()
            self.records[at] = []
            return
        match self._random.randrange(6):
            case 0:
                self._end(at, True)
            case 1:
                self._end(at, False)
            case _:
                self._count += 1
                records.append(self._count)
                self._sending[at] = self.world.send(client, self._count, self._random.randrange(PARTITIONS))

    def _end(self, at: int, commits: bool) -> None:
        records = self.records[at]
        assert records is not None
        producer = self.clients[at].producer
        now_ms = self.world.producers.now_ms
        done = partial(self._ended, at, commits)
        call = producer.commit_transaction(now_ms, done) if commits else producer.abort_transaction(now_ms, done)
        if not call.is_done:
            self.calls[at] = call
        self.clients[at].settle()

    def _ended(self, at: int, commits: bool, call: TransactionCall) -> None:
        self.calls[at] = None
        records = self.records[at]
        assert records is not None
        if call.error is None:
            self.ended.append((records, commits))
            self.records[at] = None
        elif commits and not isinstance(call.error, ProducerTimeoutError):
            self.world.producers.later(partial(self._abort_failed, at))  # from without, as an application does
        else:
            self._give_up(at)

    def _abort_failed(self, at: int) -> None:
        if self.records[at] is not None and self.calls[at] is None and not self.clients[at].producer.is_closed:
            self._end(at, False)

    def _give_up(self, at: int) -> None:
        records = self.records[at]
        assert records is not None
        self.is_dead[at] = True
        self.ended.append((records, None))
        self.records[at] = None

    def _fault(self, broker_id: int) -> None:
        simulation = self.world.simulation
        if self._down is not None:
            simulation.start(self._down)
            self._down = None
        else:
            self._random.choice([simulation.stop, simulation.kill])(broker_id)
            self._down = broker_id


@both
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_all_or_nothing_whatever_happens_to_the_brokers(generation: str, seed: int) -> None:
    run = Run(generation, seed)
    for _ in range(_STEPS):
        run.step()
    run.end()
    seen = run.world.committed()
    assert len(seen) == len(set(seen)), "no record is seen twice"
    for records, is_committed in run.ended:
        seen_records = [record for record in records if record in seen]
        match is_committed:
            case True:
                assert seen_records == records
            case False:
                assert seen_records == []
            case None:
                assert seen_records in ([], records)
    assert set(seen) <= {record for records, _ in run.ended for record in records}


@both
def test_a_seed_always_gives_the_same(generation: str) -> None:
    tapes = []
    for _ in range(2):
        run = Run(generation, 1)
        for _ in range(_STEPS):
            run.step()
        run.end()
        tapes.append(run.world.simulation.tape_text())
    assert tapes[0] == tapes[1]
