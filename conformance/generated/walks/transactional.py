"""Random walks of transactions: producers with two lives each, consumers, a group, and what goes wrong between them.

Theory   A walk is a case, so that it is played and compared as cases are. A small model guesses which epoch and number
         a producer has, so most requests are what a client might send then, and some are wrong in one thing. Where the
         model is wrong a walk is only less likely to meet something: what is right, Kafka says.
         Behind whatever may end a transaction all marks are awaited: how long they take is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from conformance import frames
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, ReadLog, ReadTransactions, Step, Topic
from conformance.transactions import frames as txn_frames
from conformance.transactions.frames import in_transaction, init_transactions
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import READ_COMMITTED, ask

PARTITIONS = 3
_DELETE_RECORDS = 21
_EVERYTHING = 1 << 20


@dataclass
class _Transaction:
    """What the coordinator may know of a transactional id."""

    name: str
    number: int  # of its producer id
    epoch: int = 0
    is_open: bool = False
    added: set[int] = field(default_factory=set)


@dataclass
class _Life:
    """A program that has this transactional id, and what it believes."""

    letter: str
    transaction: _Transaction
    epoch: int = 0
    sequences: dict[int, int] = field(default_factory=dict)


class TransactionWalker:
    """Makes one walk. `name` begins what is called after it: a topic, a group, transactional ids."""

    def __init__(self, random: Random, name: str, version: int) -> None:
        self._random = random
        self._name = name
        self._version = version  # of transactions
        self.topic, self._group = f"{name}-t", f"{name}-g"
        count = random.choice([1, 2, 2, 3])
        self._transactions = [_Transaction(f"{name}-{number}", number) for number in range(1, count + 1)]
        self._lives = [_Life(f"{letter}{each.number}", each) for each in self._transactions for letter in "ab"]
        self.steps: list[Step] = []

    def case(self, length: int) -> Case:
        for each in self._transactions:
            self.steps += (AwaitTransaction(each.name), *ask(init_transactions(each.name)))
        self.steps.append(AwaitCoordinator(self._group))
        actions: list[tuple[int, Callable[[_Life], None]]] = [
            (14, self._write),
            (5, self._add),
            (8, self._end),
            (3, self._init),
            (3, self._offsets),
            (1, self._add_offsets),
            (4, self._read),
            (2, self._look),
            (1, self._plain),
            (1, self._verify),
            (1, self._admin),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(length):
            [(_, action)] = self._random.choices(actions, weights)
            action(self._random.choice(self._lives))
        self._end_of_walk()
        return Case(
            f"walks/{self._name}", "", tuple(self.steps), (), f"transactions{'' if self._version == 2 else '-1'}"
        )

    # Producers.

    def _init(self, life: _Life) -> None:
        """Anew, or with what it has."""
        transaction = life.transaction
        goes_on = self._random.random() < 0.4
        ids: dict[str, Any] = {}
        if goes_on:
            ids = self._ids(life)
        version = self._random.choice([3, 4, 5, 5]) if goes_on else self._random.choice([0, 1, 2, 3, 4, 5])
        timeout_ms = 60_000 if not self._rarely() else self._random.choice([0, 900_001, 30_000])
        self._ask(life, init_transactions(transaction.name, version=version, timeout_ms=timeout_ms, **ids))
        if not 0 < timeout_ms <= 900_000 or (goes_on and life.epoch != transaction.epoch and not transaction.is_open):
            return
        transaction.epoch += 1
        if transaction.is_open:
            self._settle(transaction)
            transaction.is_open = False
            transaction.added.clear()
        else:
            life.epoch = transaction.epoch
            life.sequences.clear()

    def _add(self, life: _Life) -> None:
        transaction = life.transaction
        indexes = self._random.sample(range(PARTITIONS), self._random.choice([1, 1, 2]))
        if self._very_rarely():
            indexes.append(PARTITIONS)
        ids = self._ids(life)
        version = self._random.choice([0, 1, 2, 3, 3, 3, 4, 5])
        self._ask(life, txn_frames.add_partitions(transaction.name, {self.topic: indexes}, version=version, **ids))
        if life.epoch == transaction.epoch and PARTITIONS not in indexes:
            transaction.is_open = True
            transaction.added |= set(indexes)

    def _write(self, life: _Life) -> None:
        transaction = life.transaction
        partition = self._random.randrange(PARTITIONS)
        if transaction.added and self._random.random() < 0.6:
            partition = self._random.choice(sorted(transaction.added))
        values = [b"%d" % len(self.steps)] * self._random.choice([1, 1, 2])
        version = self._random.choice([12, 12, 12, 11, 9] if self._version == 2 else [11, 11, 11, 9, 12])
        sequence = life.sequences.get(partition, 0)
        if self._rarely():
            sequence = max(sequence + self._random.choice([-2, -1, 1]), 0)
        batch = in_transaction(*values, sequence=sequence, producer_id=self._id(life), epoch=self._epoch(life))
        name = transaction.name if not self._very_rarely() else self._random.choice(self._transactions).name
        self._ask(life, frames.produce(self.topic, {partition: batch}, version=version, transactional_id=name))
        is_taken = life.epoch == transaction.epoch and (version == 12 or partition in transaction.added)
        if is_taken and sequence == life.sequences.get(partition, 0):
            life.sequences[partition] = sequence + len(values)
            transaction.is_open = True
            transaction.added.add(partition)

    def _end(self, life: _Life) -> None:
        transaction = life.transaction
        newest = 5 if self._version == 2 else 4
        version = self._random.choice([newest] * 4 + [0, 1, 3, 4, 5])
        ids = self._ids(life)
        commit = self._random.random() < 0.6
        self._ask(life, txn_frames.end_txn(transaction.name, commit=commit, version=version, **ids))
        self._settle(transaction)
        if life.epoch == transaction.epoch and (transaction.is_open or (version == 5 and not commit)):
            transaction.is_open = False
            transaction.added.clear()
            if version == 5:
                transaction.epoch += 1
                if not self._rarely():  # else its client never hears of it
                    life.epoch = transaction.epoch
                    life.sequences.clear()

    def _add_offsets(self, life: _Life) -> None:
        version = self._random.choice([0, 1, 2, 3, 4])
        ids = self._ids(life)
        self._ask(life, txn_frames.add_offsets(life.transaction.name, self._group, version=version, **ids))
        life.transaction.is_open |= life.epoch == life.transaction.epoch

    def _offsets(self, life: _Life) -> None:
        if self._version == 1 and self._random.random() < 0.7:
            self._add_offsets(life)
        version = self._random.choice([5, 5, 5, 4, 3, 0] if self._version == 2 else [4, 4, 3, 2, 0, 5])
        offsets = [(self.topic, self._random.randrange(PARTITIONS), self._random.randrange(100))]
        ids = self._ids(life)
        wrong: dict[str, Any] = {"generation": 3, "member_id": "nobody"} if self._rarely() and version >= 3 else {}
        frame = txn_frames.txn_offset_commit(
            life.transaction.name,
            self._group,
            offsets,
            version=version,
            **ids,
            **wrong,
        )
        self._ask(life, frame)
        life.transaction.is_open |= life.epoch == life.transaction.epoch

    def _verify(self, life: _Life) -> None:
        """As a partition's leader does."""
        indexes = self._random.sample(range(PARTITIONS), 2)
        version = self._random.choice([4, 5])
        ids = self._ids(life)
        frame = txn_frames.add_partitions(
            life.transaction.name, {self.topic: indexes}, version=version, verify_only=True, **ids
        )
        self._ask(life, frame)

    def _plain(self, life: _Life) -> None:
        """Records of nobody, or of the producer outside of its transaction."""
        ids: Mapping[str, int] = {}
        if self._random.random() < 0.3:
            ids = {"producer_id": self._id(life), "producer_epoch": self._epoch(life), "base_sequence": 0}
        partition = self._random.randrange(PARTITIONS)
        self._ask(life, frames.produce(self.topic, {partition: frames.batch(b"plain", **ids)}))

    # Those who look.

    def _read(self, life: _Life) -> None:
        partition, isolation = self._random.randrange(PARTITIONS), self._random.choice([0, 1, 1])
        offset = self._random.choice([0, 0, 1, 2, 3, 5, 8])
        version = self._random.choice([4, 7, 10, 11, 12])
        size = self._random.choice([_EVERYTHING, _EVERYTHING, 1, 150])
        self.steps += ask(
            frames.fetch(self.topic, offset, partition, version=version, isolation_level=isolation, max_bytes=size),
            frames.list_offsets(
                self.topic, self._random.choice([-1, -1, -2, -3]), partition, isolation_level=isolation
            ),
            conn="c",
        )

    def _look(self, life: _Life) -> None:
        topics = [(self.topic, tuple(range(PARTITIONS)))]
        self.steps += ask(
            txn_frames.describe_transactions(*(each.name for each in self._transactions)),
            txn_frames.describe_producers(self.topic, *range(PARTITIONS)),
            offset_fetch({self._group: topics}, require_stable=self._random.random() < 0.5),
            txn_frames.list_transactions(pattern=f"{self._name}.*"),
            conn="c",
        )

    def _admin(self, life: _Life) -> None:
        """Marks of a stranger, records that are deleted, offsets that others commit and delete."""
        partition = self._random.randrange(PARTITIONS)
        offset = (self.topic, partition, self._random.randrange(100))
        marked = txn_frames.mark(
            {self.topic: (partition,)},
            producer_id=self._id(life),
            epoch=self._epoch(life) + self._random.choice([0, 0, 1]),
            commit=self._random.random() < 0.5,
        )
        deleted = {"partition_index": partition, "offset": self._random.choice([-1, 1, 2])}
        topics = [{"name": self.topic, "partitions": [deleted]}]
        frame = self._random.choice(
            [
                txn_frames.write_markers(marked, version=self._random.choice([1, 2])),
                frames.request(_DELETE_RECORDS, 2, {"topics": topics, "timeout": timedelta(seconds=10)}),
                offset_commit(self._group, [offset]),
                offset_delete(self._group, [(self.topic, (partition,))]),
            ]
        )
        self.steps += ask(frame, conn="d")

    def _end_of_walk(self) -> None:
        for each in self._transactions:
            self._settle(each)
        self._look(self._lives[0])
        for partition in range(PARTITIONS):
            read = (
                frames.fetch(self.topic, 0, partition, version=12, isolation_level=isolation) for isolation in (0, 1)
            )
            last = frames.list_offsets(self.topic, -1, partition, isolation_level=READ_COMMITTED)
            self.steps += ask(*read, last, conn="c")
            self.steps.append(ReadLog(self.topic, partition))
        self.steps += [ReadTransactions(each.name) for each in self._transactions]

    # Chance.

    def _rarely(self) -> bool:
        return self._random.random() < 0.08

    def _very_rarely(self) -> bool:
        return self._random.random() < 0.03

    def _id(self, life: _Life) -> int:
        if self._very_rarely():
            return self._random.choice([4_000_020, producer(self._random.choice(self._transactions).number)])
        return producer(life.transaction.number)

    def _epoch(self, life: _Life) -> int:
        return life.epoch + self._random.choice([-1, 1, 1, 2]) if self._rarely() and life.epoch else life.epoch

    def _ids(self, life: _Life) -> dict[str, Any]:
        return {"producer_id": self._id(life), "epoch": self._epoch(life)}

    def _ask(self, life: _Life, frame: bytes) -> None:
        self.steps += ask(frame, conn=life.letter)

    def _settle(self, transaction: _Transaction) -> None:
        self.steps.append(AwaitTransaction(transaction.name, settled=True))


def transaction_walk(seed: int, name: str, version: int) -> tuple[Topic, Case]:
    """A topic to be made, and what then happens."""
    random = Random(seed)
    walker = TransactionWalker(random, name, version)
    case = walker.case(random.choice([6, 12, 25, 40]))
    return Topic(walker.topic, PARTITIONS), case
