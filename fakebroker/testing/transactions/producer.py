"""A simulated transactional producer: it performs one transaction after the other, as Kafka's producers do.

Theory   It finds its coordinator and gets producer id and epoch. In each transaction it adds its partitions (version
         1), writes, and sends EndTxn when all records are acknowledged. It sends one request at a time and pauses in
         between, so that faults can happen at any step. A request without a response is retried with the same sequences
         and epoch. What cannot be written is aborted; with version 1 it then gets a new epoch, as requests may still be
         in flight (KIP-360). A fenced producer stops. A paused producer does nothing, like a paused process. A crashed
         producer is gone.
Units    milliseconds since the start of the simulation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from fakebroker.testing.simulation import START_WALL_MS
from fakebroker.testing.transactions import frames
from fakebroker.testing.transactions.frames import Place, ProducerIdentity
from fakebroker.testing.transactions.job import Job, Transaction
from fakebroker.testing.transactions.judge import TransactionHistory
from fakebroker.testing.transactions.network import Line, Network
from fakebroker.testing.wire import PRODUCE

DELIVERY_MS, PRODUCE_MS = 12_000, 2_000
REQUEST_MS, BACKOFF_MS = 4_000, 100
NONE, CONCURRENT_TRANSACTIONS = 0, 51
OF_COORDINATOR = frozenset({14, 15, 16})  # loading, not available, not coordinator
# Retriable: unknown topic or partition, leader not available, not leader, timed out, not enough replicas, ... after
# append, unknown topic id.
AGAIN = frozenset({3, 5, 6, 7, 19, 20, 100, CONCURRENT_TRANSACTIONS})
BATCH = 2  # records
DUPLICATE_SEQUENCE = 46
FENCED = frozenset({47, 48, 49, 53, 90})  # invalid epoch, invalid state, unknown producer id


class TransactionalProducer:
    """A producer. `line` is its connection to all brokers; `pace_ms` is its pause between two steps. `version` is that
    of transactions. `group` is the group of its offsets."""

    group = ""

    def __init__(
        self,
        name: str,
        transactional_id: str,
        network: Network,
        history: TransactionHistory,
        version: int,
        timeout_ms: int,
        pace_ms: int = 5,
    ) -> None:
        self.name, self.version, self.timeout_ms = name, version, timeout_ms
        self.transactional_id, self.pace_ms = transactional_id, pace_ms
        self.is_alive, self.is_paused, self.is_fenced = True, False, False
        self.line = Line(network)
        self.jobs: deque[Job] = deque()
        self.transaction: Transaction | None = None
        self.committed = self.aborted = 0  # as reported by the coordinator
        self._simulation, self._history = network.simulation, history
        self._coordinators: dict[int, int | None] = {frames.TRANSACTION: None, frames.GROUP: None}
        self._finding = frames.TRANSACTION
        self._not_before_ms = 0
        self._number = self._turn = 0
        self._id = ProducerIdentity(transactional_id, -1, -1, version)
        self._wants_id = True
        self._sequences: dict[Place, int] = {}
        self._begun = 0

    # Actions of a plan.

    def transact(self, places: Mapping[Place, int], commits: bool) -> None:
        """Queue a transaction with this number of records for each partition, in batches."""
        number = self._begun + len(self.jobs) + 1
        writes: list[tuple[Place, tuple[bytes, ...]]] = []
        for first in range(0, max(places.values()), BATCH):
            for place, count in places.items():
                last = min(first + BATCH, count)
                values = [f"{self.name}-{number} {place[0]}-{place[1]} {n}".encode() for n in range(first, last)]
                if values:
                    writes.append((place, tuple(values)))
        self.jobs.append(Job(tuple(writes), commits))

    def crash(self) -> None:
        """Crash: the connections close, without an abort."""
        self._give_up()
        self.is_alive = False
        self.line.close()

    # Behaviour.

    @property
    def is_busy(self) -> bool:
        """True if the producer has unfinished work."""
        return self.is_alive and (self._wants_id or self.transaction is not None or bool(self.jobs))

    def next_wake_ms(self) -> int | None:
        """Return when it next has something to do by itself."""
        if not self.is_alive or self.is_paused:
            return None
        at_ms = self._not_before_ms if self.line.is_idle else self.line.gives_up_ms
        return at_ms if at_ms is not None and at_ms > self._now_ms else None

    def act(self) -> bool:
        """Handle responses and send what is due. Return True if there was anything to do."""
        if not self.is_alive or self.is_paused:
            return False
        did = False
        answer = self.line.take()
        if answer is not None:
            did = True
            if answer.frame is None:
                self._on_nothing()
            else:
                self._on_answer(answer.api, self._decoded(answer.api, answer.frame))
        if self.is_alive and self.line.is_idle and self._now_ms >= self._not_before_ms:
            did = self._ask() or did
        return did

    @property
    def _now_ms(self) -> int:
        return self._simulation.elapsed_ms

    # Requests.

    def _ask(self) -> bool:
        if self._coordinators[frames.TRANSACTION] is None:
            self._find(frames.TRANSACTION)
        elif self._wants_id:
            self._to_coordinator(frames.INIT, frames.init(self._next(), self._id, self.timeout_ms))
        elif self.transaction is not None:
            self._ask_next(self.transaction)
        elif self.jobs:
            self._begun += 1
            self._begin(f"{self.name}-{self._begun}", self.jobs.popleft())
        else:
            return False
        return True

    def _begin(self, name: str, job: Job) -> None:
        self.transaction = Transaction(name, job)
        self._history.begins(name, self.transactional_id)
        for place, values in job.writes:
            for value in values:
                self._history.writes(name, place, value)
        self._think()

    def _ask_next(self, now: Transaction) -> None:
        if now.since_ms < 0:
            now.since_ms = self._now_ms
        is_over = now.end_asked or now.is_given_up or not (now.left or now.offsets_left)
        if not is_over and self._now_ms - now.since_ms > DELIVERY_MS:
            self._abort(now)
        elif is_over:
            self._ask_end(now)
        elif self.version == 1 and now.left and now.left[0][0] not in now.added:
            now.has_begun = True
            places = sorted({place for place, _ in now.left})
            self._to_coordinator(frames.ADD, frames.add_partitions(self._next(), self._id, places))
        elif now.left:
            self._ask_produce(now)
        elif self.version == 1 and not now.has_added_group:
            now.has_begun = True
            self._to_coordinator(frames.ADD_OFFSETS, frames.add_offsets(self._next(), self._id, self.group))
        elif self._coordinators[frames.GROUP] is None:
            self._find(frames.GROUP)
        else:
            now.has_begun = True
            frame = frames.commit_offsets(self._next(), self._id, self.group, now.job.offsets)
            self._to_coordinator(frames.COMMIT, frame, frames.GROUP)

    def _ask_produce(self, now: Transaction) -> None:
        place, values = now.left[0]
        leader = self._simulation.partition(*place).leader_id
        if leader < 0:
            self._back_off()
            return
        now.has_begun = now.is_unsure = True
        sequence = self._sequences.get(place, 0)
        wall_ms = START_WALL_MS + now.since_ms
        frame = frames.produce(self._next(), self._id, place, values, sequence, wall_ms, PRODUCE_MS)
        self.line.ask(leader, PRODUCE, frame, REQUEST_MS)

    def _ask_end(self, now: Transaction) -> None:
        if not now.has_begun:
            self._end(now, committed=False)  # the coordinator does not know of it
            return
        now.end_asked += 1
        self._history.asks(now.name, now.commits)
        self._to_coordinator(frames.END, frames.end(self._next(), self._id, now.commits))

    def _find(self, key_type: int) -> None:
        self._turn += 1
        self._finding = key_type
        brokers = list(self._simulation.cluster.registry.broker_ids)
        key = self.transactional_id if key_type == frames.TRANSACTION else self.group
        frame = frames.find_coordinator(self._next(), key, key_type)
        self.line.ask(brokers[self._turn % len(brokers)], frames.FIND, frame, REQUEST_MS)

    def _to_coordinator(self, api: int, frame: bytes, key_type: int = frames.TRANSACTION) -> None:
        broker = self._coordinators[key_type]
        assert broker is not None
        self.line.ask(broker, api, frame, REQUEST_MS)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _think(self) -> None:
        self._not_before_ms = self._now_ms + self.pace_ms

    def _back_off(self) -> None:
        self._not_before_ms = self._now_ms + BACKOFF_MS

    # Responses.

    def _on_nothing(self) -> None:
        """Handle a lost connection or a client timeout."""
        self._coordinators = dict.fromkeys(self._coordinators)
        self._back_off()

    def _on_answer(self, api: int, answer: Any) -> None:
        now = self.transaction
        if api == frames.FIND:
            self._on_found(answer)
        elif api == frames.INIT:
            self._on_id(answer)
        elif now is None:
            raise AssertionError(f"{self.name} has no transaction, but got {answer}")
        elif api == frames.ADD:
            if self._is_fine(now, frames.added(answer)):
                now.added |= {place for place, _ in now.left}
        elif api == frames.ADD_OFFSETS:
            now.has_added_group = self._is_fine(now, {int(answer.error_code)})
        elif api == PRODUCE:
            self._on_produced(now, *frames.produced(answer))
        elif api == frames.COMMIT:
            now.offsets_left = not self._is_fine(now, frames.offsets_committed(answer), frames.GROUP)
        else:
            self._on_end(now, answer)

    def _decoded(self, api: int, frame: bytes) -> Any:
        return frames.answered(api, self.version, frame)

    def _on_found(self, answer: Any) -> None:
        if answer.error_code == NONE:
            self._coordinators[self._finding] = int(answer.node_id)
            self._think()
        else:
            self._back_off()

    def _on_id(self, answer: Any) -> None:
        error = int(answer.error_code)
        if error == NONE:
            self._take_id(int(answer.producer_id), int(answer.producer_epoch))
            self._wants_id = False
            self._think()
        elif not self._is_again(error, frames.TRANSACTION):
            self._is_over()

    def _take_id(self, producer_id: int, epoch: int) -> None:
        self._id = ProducerIdentity(self.transactional_id, producer_id, epoch, self.version)
        self._sequences = {}

    def _is_again(self, error: int, key_type: int) -> bool:
        """Return True if the request will be retried, here or at another broker."""
        if error in OF_COORDINATOR:
            self._coordinators[key_type] = None
        elif error not in AGAIN:
            return False
        self._back_off()
        return True

    def _is_fine(self, now: Transaction, errors: set[int], key_type: int = frames.TRANSACTION) -> bool:
        errors -= {NONE}
        if not errors:
            now.since_ms = -1
            self._think()
            return True
        for error in errors:
            if self._is_again(error, key_type):
                continue
            if error in FENCED:
                self._is_over()
            else:
                self._abort(now)
        return False

    def _on_produced(self, now: Transaction, error: int, base_offset: int) -> None:
        if error in (NONE, DUPLICATE_SEQUENCE):
            place, values = now.left.popleft()
            if error == NONE:
                for offset, value in enumerate(values, base_offset):
                    self._history.written(value, offset)
            self._sequences[place] = self._sequences.get(place, 0) + len(values)
            now.since_ms, now.is_unsure = -1, False
            if now.left:
                self.line.come_late()
            self._think()
        elif not self._is_again(error, frames.TRANSACTION):
            self._abort(now)

    def _abort(self, now: Transaction) -> None:
        """Abort a transaction that cannot be finished."""
        now.commits, now.is_given_up, now.end_asked = False, True, 0
        self._history.asks(now.name, commits=False)
        self._back_off()

    def _on_end(self, now: Transaction, answer: Any) -> None:
        error = int(answer.error_code)
        if error == NONE:
            if self.version > 1:
                self._take_id(int(answer.producer_id), int(answer.producer_epoch))
            self._end(now, now.commits)
        elif self._is_again(error, frames.TRANSACTION):
            pass
        elif now.commits and error not in FENCED:
            if now.end_asked == 1:
                self._abort(now)  # TRANSACTION_ABORTABLE
            else:
                self._is_over()
        else:
            if now.commits and now.end_asked == 1:
                self._history.ends(now.name, committed=False)  # the first EndTxn was refused
            self._is_over()

    def _end(self, now: Transaction, committed: bool) -> None:
        self._history.ends(now.name, committed)
        self.committed, self.aborted = self.committed + committed, self.aborted + (not committed)
        self.transaction = None
        if self.version == 1 and now.is_unsure:
            self._wants_id = True
        self._on_done(now.job, committed)
        self._think()

    def _on_done(self, job: Job, committed: bool) -> None:
        """Handle a transaction with a known end."""

    def _give_up(self) -> None:
        """Report that no commit will be sent, unless it was already."""
        now = self.transaction
        if now is not None and not (now.commits and now.end_asked):
            self._history.asks(now.name, commits=False)

    def _is_over(self) -> None:
        self.is_fenced = True
        self.crash()
