"""Random walks of transactions: producers with two lives each, consumers, a group, and what goes wrong between them.

Theory   A walk is a case, so that it is played and compared as cases are. A small model guesses which epoch and number
         a producer has. So most requests are what a client might send then, and some are wrong in one thing. Where the
         model is wrong a walk is only less likely to meet something. Kafka's response decides what is right.
         Two lives of one transactional id do not know of each other, so one of them is fenced most of the time. What
         takes time is over before the next step: a transaction that may time out, and a member that joins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Any

from conformance import frames
from conformance.generated.walks.transaction_scene import BY_ID_SINCE, Life, TransactionScene, box_of
from conformance.generated.walks.walk import LONG_MS
from conformance.group_frames import join_group, sync_group
from conformance.group_steps import nth
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
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import ask
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

_DELETE_RECORDS = 21
_SHORT_MS = 700  # of a transaction that is to run out of time


class TransactionWalker:
    """Makes one walk. `name` begins what is called after it; `version` is that of transactions."""

    def __init__(self, random: Random, name: str, version: int, brokers: int) -> None:
        self._random = random
        self._scene = TransactionScene(random, name, version, brokers)
        self._generation = 0  # of the group; 0 while no member has joined

    def case(self, length: int) -> Case:
        first = self._scene.transactions[0].name
        self._scene.steps += [AwaitCoordinator(self._scene.group), AwaitTransaction(first)]
        if self._scene.brokers > 1:
            self._scene.steps += [MoveLeader(GROUP_METADATA_TOPIC_NAME, 1), MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 1)]
            self._scene.steps += [AwaitCoordinator(self._scene.group), AwaitTransaction(first)]
        for transaction in self._scene.transactions:
            self._scene.steps += ask(init_transactions(transaction.name))
        actions: list[tuple[float, Callable[[Life], None]]] = [
            (14, self._write),
            (5, self._add),
            (8, self._end),
            (3, self._init),
            (3, self._offsets),
            (1, self._add_offsets),
            (4, self._scene.read),
            (2, self._scene.look),
            (1, self._plain),
            (1, self._verify),
            (1, self._admin),
            (1, self._batched),
            (1, self._scene.list_transactions),
            (1, self._join),
            (0.5, self._expire),
            (3 if self._scene.brokers > 1 else 0, self._scene.move),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(length):
            [(_, action)] = self._random.choices(actions, weights)
            action(self._random.choice(self._scene.lives))
        self._scene.end()
        box = box_of(self._scene.version, self._scene.brokers)
        return Case(f"walks/{self._scene.name}", "", tuple(self._scene.steps), (self._scene.made,), box)

    def _init(self, life: Life) -> None:
        """Request a producer id, anew or with what the program has."""
        transaction = life.transaction
        goes_on = self._random.random() < 0.4
        ids: dict[str, Any] = {}
        if goes_on:
            ids = self._scene.producer_ids(life)
        version = self._random.choice([3, 4, 5, 5]) if goes_on else self._random.choice([0, 1, 2, 3, 4, 5])
        timeout_ms = 60_000 if not self._scene.rarely() else self._random.choice([0, 900_001, 30_000])
        self._scene.ask(life, init_transactions(transaction.name, version=version, timeout_ms=timeout_ms, **ids))
        if not 0 < timeout_ms <= 900_000 or (goes_on and life.epoch != transaction.epoch and not transaction.is_open):
            return
        transaction.epoch += 1
        if transaction.is_open:
            self._scene.settle(transaction)
            transaction.is_open = False
            transaction.added.clear()
        else:
            life.epoch = transaction.epoch
            life.sequences.clear()

    def _add(self, life: Life) -> None:
        transaction = life.transaction
        indexes = self._scene.some_partitions(self._random.choice([1, 2]))
        if self._scene.very_rarely():
            indexes.append(self._scene.partitions)
        ids = self._scene.producer_ids(life)
        version = self._random.choice([0, 1, 2, 3, 3, 3, 4, 5])
        self._scene.ask(
            life, txn_frames.add_partitions(transaction.name, {self._scene.topic: indexes}, version=version, **ids)
        )
        if life.epoch == transaction.epoch and self._scene.partitions not in indexes:
            transaction.is_open = True
            transaction.added |= set(indexes)

    def _write(self, life: Life) -> None:
        transaction = life.transaction
        partition = self._random.randrange(self._scene.partitions)
        if transaction.added and self._random.random() < 0.6:
            partition = self._random.choice(sorted(transaction.added))
        values = [b"%d" % len(self._scene.steps)] * self._random.choice([1, 1, 2])
        version = self._random.choice([12, 12, 13, 11, 9] if self._scene.version == 2 else [11, 11, 11, 9, 12, 13])
        sequence = life.sequences.get(partition, 0)
        if self._scene.rarely():
            sequence = max(sequence + self._random.choice([-2, -1, 1]), 0)
        batch = in_transaction(*values, sequence=sequence, **self._scene.producer_ids(life))
        named = transaction if not self._scene.very_rarely() else self._random.choice(self._scene.transactions)
        topic = self._scene.made.placeholder if version >= BY_ID_SINCE else self._scene.topic
        frame = frames.produce(topic, {partition: batch}, version=version, transactional_id=named.name)
        self._scene.ask(life, frame, self._scene.leaders[partition])
        is_taken = life.epoch == transaction.epoch and (version >= 12 or partition in transaction.added)
        if is_taken and sequence == life.sequences.get(partition, 0):
            life.sequences[partition] = sequence + len(values)
            transaction.is_open = True
            transaction.added.add(partition)

    def _end(self, life: Life) -> None:
        transaction = life.transaction
        newest = 5 if self._scene.version == 2 else 4
        version = self._random.choice([newest] * 4 + [0, 1, 3, 4, 5])
        ids = self._scene.producer_ids(life)
        commit = self._random.random() < 0.6
        self._scene.ask(life, txn_frames.end_txn(transaction.name, commit=commit, version=version, **ids))
        self._scene.settle(transaction)
        if life.epoch == transaction.epoch and (transaction.is_open or (version == 5 and not commit)):
            transaction.is_open = False
            transaction.added.clear()
            if version == 5:
                transaction.epoch += 1
                if not self._scene.rarely():  # else its client never hears of it
                    life.epoch = transaction.epoch
                    life.sequences.clear()

    def _expire(self, life: Life) -> None:
        """Let a transaction time out. Its producer comes late, and begins anew or continues as if nothing had
        happened."""
        transaction = life.transaction
        short = init_transactions(transaction.name, timeout_ms=_SHORT_MS)
        for _ in range(2):  # the first one may have had to end what was open
            self._scene.ask(life, short)
            self._scene.settle(transaction)
        transaction.epoch += 2
        life.epoch = transaction.epoch
        partition = self._random.randrange(self._scene.partitions)
        ids: dict[str, Any] = {"producer_id": producer(transaction.number), "epoch": life.epoch}
        batch = in_transaction(b"late", **ids)
        if self._scene.version < 2 or self._scene.rarely():
            self._scene.ask(life, txn_frames.add_partitions(transaction.name, {self._scene.topic: [partition]}, **ids))
        newest = 12 if self._scene.version == 2 else 11
        write = frames.produce(self._scene.topic, {partition: batch}, version=newest, transactional_id=transaction.name)
        self._scene.ask(life, write, self._scene.leaders[partition])
        self._scene.steps.append(AwaitTransaction(transaction.name, within_ms=10_000, over=True))
        transaction.epoch += 1
        later = frames.produce(
            self._scene.topic,
            {partition: in_transaction(b"later", sequence=1, **ids)},
            version=newest,
            transactional_id=transaction.name,
        )
        ends = txn_frames.end_txn(
            transaction.name,
            commit=self._random.random() < 0.5,
            version=5 if self._scene.version == 2 else 4,
            **ids,
        )
        adds = txn_frames.add_partitions(transaction.name, {self._scene.topic: [partition]}, **ids)
        for frame, broker in self._random.sample(
            [(later, self._scene.leaders[partition]), (ends, None), (adds, None)], self._random.choice([1, 2])
        ):
            self._scene.ask(life, frame, broker)
            self._scene.settle(transaction)
        if self._random.random() < 0.5:
            self._scene.ask(life, init_transactions(transaction.name, **ids))
            self._scene.settle(transaction)
        self._scene.ask(life, init_transactions(transaction.name))
        self._scene.settle(transaction)
        transaction.epoch += 1
        life.epoch = transaction.epoch
        life.sequences.clear()
        transaction.is_open = False
        transaction.added.clear()

    def _add_offsets(self, life: Life) -> None:
        version = self._random.choice([0, 1, 2, 3, 4])
        ids = self._scene.producer_ids(life)
        self._scene.ask(life, txn_frames.add_offsets(life.transaction.name, self._scene.group, version=version, **ids))
        life.transaction.is_open |= life.epoch == life.transaction.epoch

    def _offsets(self, life: Life) -> None:
        if self._scene.version == 1 and self._random.random() < 0.7:
            self._add_offsets(life)
        version = self._random.choice([5, 5, 5, 6, 4, 3, 0] if self._scene.version == 2 else [4, 4, 3, 2, 0, 5, 6])
        offsets = [(self._scene.topic, self._random.randrange(self._scene.partitions), self._random.randrange(100))]
        ids = self._scene.producer_ids(life)
        of_group = self._of_group() if version >= 3 else {}
        frame = txn_frames.txn_offset_commit(
            life.transaction.name,
            self._scene.group,
            offsets,
            version=version,
            **ids,
            **of_group,
        )
        self._scene.ask(life, frame, 1)
        life.transaction.is_open |= life.epoch == life.transaction.epoch

    def _of_group(self) -> dict[str, Any]:
        """Return the group metadata of an offset commit (KIP-447), right or wrong; nothing if the group has no
        member."""
        if not self._generation:
            return {"generation": 3, "member_id": "nobody"} if self._scene.rarely() else {}
        right = (nth(1), self._generation)
        wrong = [(nth(1), self._generation - 1), (nth(1), self._generation + 1), (nth(1), -1), ("nobody", 1), ("", -1)]
        member_id, generation = right if self._random.random() < 0.7 else self._random.choice(wrong)
        return {"generation": generation, "member_id": member_id}

    def _join(self, life: Life) -> None:
        """Let the member join the group: the next generation begins, which may be without its assignment."""
        if not self._generation:
            self._scene.steps += ask(join_group(self._scene.group, session_ms=LONG_MS), conn="m")
        metadata = (("range", b"of generation %d" % self._generation),)
        joins = join_group(self._scene.group, nth(1), session_ms=LONG_MS, protocols=metadata)
        self._scene.steps += ask(joins, conn="m")
        self._generation += 1
        if self._random.random() < 0.7:
            synced = sync_group(self._scene.group, nth(1), self._generation, {nth(1): b"all"})
            self._scene.steps += ask(synced, conn="m")
        if self._random.random() < 0.3:  # as a client that knows nothing of transactions
            offset = (self._scene.topic, 0, self._random.randrange(100))
            self._scene.steps += ask(offset_commit(self._scene.group, [offset]), conn="m")

    def _verify(self, life: Life) -> None:
        """Verify partitions as their leader does."""
        indexes = self._scene.some_partitions(2)
        version = self._random.choice([4, 5])
        ids = self._scene.producer_ids(life)
        frame = txn_frames.add_partitions(
            life.transaction.name, {self._scene.topic: indexes}, version=version, verify_only=True, **ids
        )
        self._scene.ask(life, frame)

    def _batched(self, life: Life) -> None:
        """Verify several producers at once, as a broker does: some partitions are only to be verified."""
        lives = self._scene.lives
        chosen = self._random.sample(lives, min(self._random.choice([2, 2, 3]), len(lives)))
        by_id = {chosen_life.transaction.name: chosen_life for chosen_life in chosen}
        transactions = []
        for name, chosen_life in by_id.items():
            indexes = self._scene.some_partitions(2)
            verify_only = self._random.random() < 0.5
            ids = self._scene.producer_ids(chosen_life)
            transactions.append(
                txn_frames.transaction(name, {self._scene.topic: indexes}, verify_only=verify_only, **ids)
            )
            if not verify_only and chosen_life.epoch == chosen_life.transaction.epoch:
                chosen_life.transaction.is_open = True
                chosen_life.transaction.added |= set(indexes)
        self._scene.ask(life, txn_frames.add_partitions_batched(*transactions, version=self._random.choice([4, 5])))

    def _plain(self, life: Life) -> None:
        """Produce records without a producer, or of the producer outside of its transaction."""
        ids: Mapping[str, int] = {}
        if self._random.random() < 0.3:
            ids = {
                "producer_id": self._scene.producer_id(life),
                "producer_epoch": self._scene.epoch(life),
                "base_sequence": 0,
            }
        partition = self._random.randrange(self._scene.partitions)
        frame = frames.produce(self._scene.topic, {partition: frames.batch(b"plain", **ids)})
        self._scene.ask(life, frame, self._scene.leaders[partition])

    def _admin(self, life: Life) -> None:
        """Markers of a stranger, records that are deleted, offsets that others commit and delete."""
        partition = self._random.randrange(self._scene.partitions)
        offset = (self._scene.topic, partition, self._random.randrange(100))
        marked = txn_frames.marker(
            {self._scene.topic: (partition,)},
            producer_id=self._scene.producer_id(life),
            epoch=self._scene.epoch(life) + self._random.choice([0, 0, 1]),
            commit=self._random.random() < 0.5,
        )
        deleted = {"partition_index": partition, "offset": self._random.choice([-1, 1, 2])}
        topics = [{"name": self._scene.topic, "partitions": [deleted]}]
        deletes = frames.request(_DELETE_RECORDS, 2, {"topics": topics, "timeout": timedelta(seconds=10)})
        frame, broker = self._random.choice(
            [
                (txn_frames.write_markers(marked, version=self._random.choice([1, 2])), self._scene.leaders[partition]),
                (deletes, self._scene.leaders[partition]),
                (offset_commit(self._scene.group, [offset]), 1),
                (offset_delete(self._scene.group, [(self._scene.topic, (partition,))]), 1),
            ]
        )
        if frame is deletes:
            self._scene.cut_short.add(partition)
        self._scene.steps += ask(frame, conn=f"d-{broker}", broker=broker)


def transaction_walk(seed: int, name: str, version: int, brokers: int = 1) -> tuple[Topic, Case]:
    """Return a topic to be made, and what then happens."""
    random = Random(seed)
    case = TransactionWalker(random, name, version, brokers).case(random.choice([6, 12, 25, 40]))
    return case.topics[0], case
