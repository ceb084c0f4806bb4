"""Random walks of transactions: producers with two lives each, consumers, a group, and what goes wrong between them.

Theory   A walk is a case, so that it is played and compared as cases are. A small model guesses which epoch and number
         a producer has. So most requests are what a client might send then, and some are wrong in one thing. Where the
         model is wrong a walk is only less likely to meet something. Kafka's response decides what is right.
         After each step that may end a transaction all markers are awaited: how long they take depends on chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Any

from conformance import frames
from conformance.generated.walks.transaction_lives import Life, TransactionLives
from conformance.generated.walks.transaction_scene import BY_ID_SINCE, box_of
from conformance.offset_frames import offset_commit, offset_delete
from conformance.scenario import (
    AwaitCoordinator,
    AwaitTransaction,
    Case,
    MoveLeader,
    Topic,
)
from conformance.transactions import frames as txn_frames
from conformance.transactions.frames import in_transaction, init_transactions
from conformance.transactions.steps import ask
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

_DELETE_RECORDS = 21


class TransactionWalker(TransactionLives):
    """Makes one walk. `name` begins what is called after it: a topic, a group, transactional ids. Of several brokers
    the first coordinates groups; transactions, and partitions, are moved."""

    def case(self, length: int) -> Case:
        first = self._transactions[0].name
        self.steps += [AwaitCoordinator(self._group), AwaitTransaction(first)]
        if self._brokers > 1:
            self.steps += [MoveLeader(GROUP_METADATA_TOPIC_NAME, 1), MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 1)]
            self.steps += [AwaitCoordinator(self._group), AwaitTransaction(first)]
        for transaction in self._transactions:
            self.steps += ask(init_transactions(transaction.name))
        actions: list[tuple[float, Callable[[Life], None]]] = [
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
            (1, self._batched),
            (1, self._list),
            (1, self._join),
            (0.5, self._expire),
            (3 if self._brokers > 1 else 0, self._move),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(length):
            [(_, action)] = self._random.choices(actions, weights)
            action(self._random.choice(self._lives))
        self._end_of_walk()
        return Case(f"walks/{self._name}", "", tuple(self.steps), (self.made,), box_of(self._version, self._brokers))

    # Producers.

    def _init(self, life: Life) -> None:
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

    def _add(self, life: Life) -> None:
        transaction = life.transaction
        indexes = self._some_partitions(self._random.choice([1, 2]))
        if self._very_rarely():
            indexes.append(self._partitions)
        ids = self._ids(life)
        version = self._random.choice([0, 1, 2, 3, 3, 3, 4, 5])
        self._ask(life, txn_frames.add_partitions(transaction.name, {self.topic: indexes}, version=version, **ids))
        if life.epoch == transaction.epoch and self._partitions not in indexes:
            transaction.is_open = True
            transaction.added |= set(indexes)

    def _write(self, life: Life) -> None:
        transaction = life.transaction
        partition = self._random.randrange(self._partitions)
        if transaction.added and self._random.random() < 0.6:
            partition = self._random.choice(sorted(transaction.added))
        values = [b"%d" % len(self.steps)] * self._random.choice([1, 1, 2])
        version = self._random.choice([12, 12, 13, 11, 9] if self._version == 2 else [11, 11, 11, 9, 12, 13])
        sequence = life.sequences.get(partition, 0)
        if self._rarely():
            sequence = max(sequence + self._random.choice([-2, -1, 1]), 0)
        batch = in_transaction(*values, sequence=sequence, producer_id=self._id(life), epoch=self._epoch(life))
        name = transaction.name if not self._very_rarely() else self._random.choice(self._transactions).name
        topic = self.made.placeholder if version >= BY_ID_SINCE else self.topic
        frame = frames.produce(topic, {partition: batch}, version=version, transactional_id=name)
        self._ask(life, frame, self._leaders[partition])
        is_taken = life.epoch == transaction.epoch and (version >= 12 or partition in transaction.added)
        if is_taken and sequence == life.sequences.get(partition, 0):
            life.sequences[partition] = sequence + len(values)
            transaction.is_open = True
            transaction.added.add(partition)

    def _end(self, life: Life) -> None:
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

    def _add_offsets(self, life: Life) -> None:
        version = self._random.choice([0, 1, 2, 3, 4])
        ids = self._ids(life)
        self._ask(life, txn_frames.add_offsets(life.transaction.name, self._group, version=version, **ids))
        life.transaction.is_open |= life.epoch == life.transaction.epoch

    def _offsets(self, life: Life) -> None:
        if self._version == 1 and self._random.random() < 0.7:
            self._add_offsets(life)
        version = self._random.choice([5, 5, 5, 6, 4, 3, 0] if self._version == 2 else [4, 4, 3, 2, 0, 5, 6])
        offsets = [(self.topic, self._random.randrange(self._partitions), self._random.randrange(100))]
        ids = self._ids(life)
        of_group = self._of_group() if version >= 3 else {}
        frame = txn_frames.txn_offset_commit(
            life.transaction.name,
            self._group,
            offsets,
            version=version,
            **ids,
            **of_group,
        )
        self._ask(life, frame, 1)
        life.transaction.is_open |= life.epoch == life.transaction.epoch

    def _verify(self, life: Life) -> None:
        """Verify partitions as their leader does."""
        indexes = self._some_partitions(2)
        version = self._random.choice([4, 5])
        ids = self._ids(life)
        frame = txn_frames.add_partitions(
            life.transaction.name, {self.topic: indexes}, version=version, verify_only=True, **ids
        )
        self._ask(life, frame)

    def _plain(self, life: Life) -> None:
        """Produce records without a producer, or of the producer outside of its transaction."""
        ids: Mapping[str, int] = {}
        if self._random.random() < 0.3:
            ids = {"producer_id": self._id(life), "producer_epoch": self._epoch(life), "base_sequence": 0}
        partition = self._random.randrange(self._partitions)
        frame = frames.produce(self.topic, {partition: frames.batch(b"plain", **ids)})
        self._ask(life, frame, self._leaders[partition])

    def _admin(self, life: Life) -> None:
        """Marks of a stranger, records that are deleted, offsets that others commit and delete."""
        partition = self._random.randrange(self._partitions)
        offset = (self.topic, partition, self._random.randrange(100))
        marked = txn_frames.mark(
            {self.topic: (partition,)},
            producer_id=self._id(life),
            epoch=self._epoch(life) + self._random.choice([0, 0, 1]),
            commit=self._random.random() < 0.5,
        )
        deleted = {"partition_index": partition, "offset": self._random.choice([-1, 1, 2])}
        topics = [{"name": self.topic, "partitions": [deleted]}]
        deletes = frames.request(_DELETE_RECORDS, 2, {"topics": topics, "timeout": timedelta(seconds=10)})
        frame, broker = self._random.choice(
            [
                (txn_frames.write_markers(marked, version=self._random.choice([1, 2])), self._leaders[partition]),
                (deletes, self._leaders[partition]),
                (offset_commit(self._group, [offset]), 1),
                (offset_delete(self._group, [(self.topic, (partition,))]), 1),
            ]
        )
        if frame is deletes:
            self._cut_short.add(partition)
        self.steps += ask(frame, conn=f"d-{broker}", broker=broker)


def transaction_walk(seed: int, name: str, version: int, brokers: int = 1) -> tuple[Topic, Case]:
    """A topic to be made, and what then happens."""
    random = Random(seed)
    walker = TransactionWalker(random, name, version, brokers)
    case = walker.case(random.choice([6, 12, 25, 40]))
    return walker.made, case
