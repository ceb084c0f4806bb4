"""The programs of walks of transactions: what each of them believes, and what they do apart from writing and ending.

Theory   Two lives of one transactional id do not know of each other, so one of them is fenced most of the time. What
         takes time is over before the next step: a transaction that may run out of it, and a member that joins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from conformance import frames
from conformance.generated.walks.transaction_scene import Transaction, TransactionScene
from conformance.generated.walks.walk import LONG_MS
from conformance.group_frames import join_group, sync_group
from conformance.group_steps import nth
from conformance.offset_frames import offset_commit
from conformance.scenario import AwaitTransaction, Pause
from conformance.transactions import frames as txn_frames
from conformance.transactions.frames import in_transaction, init_transactions
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import ask

_SHORT_MS = 700  # of a transaction that is to run out of time
_STATES = ("Ongoing", "CompleteCommit", "CompleteAbort", "Empty", "PrepareCommit", "Dead", "NoSuchState")


@dataclass
class Life:
    """A program that has this transactional id, and what it believes."""

    letter: str
    transaction: Transaction
    epoch: int = 0
    sequences: dict[int, int] = field(default_factory=dict)


class TransactionLives(TransactionScene):
    """`version` of transactions."""

    def __init__(self, random: Random, name: str, version: int, brokers: int) -> None:
        super().__init__(random, name, brokers)
        self._version = version
        self._lives = [
            Life(f"{letter}{transaction.number}", transaction) for transaction in self._transactions for letter in "ab"
        ]
        self._generation = 0  # of the group; 0 while no member has joined

    def _join(self, life: Life) -> None:
        """The group has a member, or its next generation, which may be without its assignment."""
        if not self._generation:
            self.steps += ask(join_group(self._group, session_ms=LONG_MS), conn="m")
        metadata = (("range", b"of generation %d" % self._generation),)
        joins = join_group(self._group, nth(1), session_ms=LONG_MS, protocols=metadata)
        self.steps += ask(joins, conn="m")
        self._generation += 1
        if self._random.random() < 0.7:
            synced = sync_group(self._group, nth(1), self._generation, {nth(1): b"all"})
            self.steps += ask(synced, conn="m")
        if self._random.random() < 0.3:  # as a client that knows nothing of transactions
            offset = (self.topic, 0, self._random.randrange(100))
            self.steps += ask(offset_commit(self._group, [offset]), conn="m")

    def _of_group(self) -> dict[str, Any]:
        """Return the group metadata of an offset commit (KIP-447), right or wrong; nothing if the group has no
        member."""
        if not self._generation:
            return {"generation": 3, "member_id": "nobody"} if self._rarely() else {}
        right = (nth(1), self._generation)
        wrong = [(nth(1), self._generation - 1), (nth(1), self._generation + 1), (nth(1), -1), ("nobody", 1), ("", -1)]
        member_id, generation = right if self._random.random() < 0.7 else self._random.choice(wrong)
        return {"generation": generation, "member_id": member_id}

    def _batched(self, life: Life) -> None:
        """Verify several producers at once, as a broker does: some partitions are only to be verified."""
        chosen = self._random.sample(self._lives, min(self._random.choice([2, 2, 3]), len(self._lives)))
        by_id = {chosen_life.transaction.name: chosen_life for chosen_life in chosen}
        transactions = []
        for name, chosen_life in by_id.items():
            indexes = self._some_partitions(2)
            verify_only = self._random.random() < 0.5
            ids = self._ids(chosen_life)
            transactions.append(txn_frames.transaction(name, {self.topic: indexes}, verify_only=verify_only, **ids))
            if not verify_only and chosen_life.epoch == chosen_life.transaction.epoch:
                chosen_life.transaction.is_open = True
                chosen_life.transaction.added |= set(indexes)
        self._ask(life, txn_frames.add_partitions_batched(*transactions, version=self._random.choice([4, 5])))

    def _expire(self, life: Life) -> None:
        """Let a transaction time out. Its producer comes late, and begins anew or continues as if nothing had
        happened."""
        transaction = life.transaction
        short = init_transactions(transaction.name, timeout_ms=_SHORT_MS)
        for _ in range(2):  # the first one may have had to end what was open
            self._ask(life, short)
            self._settle(transaction)
        transaction.epoch += 2
        life.epoch = transaction.epoch
        partition = self._random.randrange(self._partitions)
        ids: dict[str, Any] = {"producer_id": producer(transaction.number), "epoch": life.epoch}
        batch = in_transaction(b"late", **ids)
        if self._version < 2 or self._rarely():
            self._ask(life, txn_frames.add_partitions(transaction.name, {self.topic: [partition]}, **ids))
        newest = 12 if self._version == 2 else 11
        write = frames.produce(self.topic, {partition: batch}, version=newest, transactional_id=transaction.name)
        self._ask(life, write, self._leaders[partition])
        self.steps.append(AwaitTransaction(transaction.name, within_ms=10_000, over=True))
        transaction.epoch += 1
        later = frames.produce(
            self.topic,
            {partition: in_transaction(b"later", sequence=1, **ids)},
            version=newest,
            transactional_id=transaction.name,
        )
        ends = txn_frames.end_txn(
            transaction.name,
            commit=self._random.random() < 0.5,
            version=5 if self._version == 2 else 4,
            **ids,
        )
        adds = txn_frames.add_partitions(transaction.name, {self.topic: [partition]}, **ids)
        for frame, broker in self._random.sample(
            [(later, self._leaders[partition]), (ends, None), (adds, None)], self._random.choice([1, 2])
        ):
            self._ask(life, frame, broker)
            self._settle(transaction)
        if self._random.random() < 0.5:
            self._ask(life, init_transactions(transaction.name, **ids))
            self._settle(transaction)
        self._ask(life, init_transactions(transaction.name))
        self._settle(transaction)
        transaction.epoch += 1
        life.epoch = transaction.epoch
        life.sequences.clear()
        transaction.is_open = False
        transaction.added.clear()

    def _list(self, life: Life) -> None:
        """List transactions with each filter, and the producers of partitions that may be elsewhere, or nowhere."""
        numbers = [producer(transaction.number) for transaction in self._transactions]
        version = self._random.choice([0, 1, 2, 2, 2])
        filters: dict[str, Any] = {}
        if version < 2 or self._random.random() < 0.3:
            filters["producer_ids"] = self._random.sample([*numbers, 4_000_021], self._random.choice([1, len(numbers)]))
        if self._random.random() < 0.5:
            filters["states"] = self._random.sample(_STATES, self._random.choice([1, 2, 4]))
        if version >= 1 and self._random.random() < 0.4:
            filters["longer_than_ms"] = self._random.choice([0, -1, -7, 3_600_000])
            self.steps.append(Pause(3))  # what is open is older than nothing
        if version == 2:
            patterns = [f"{self._name}.*", f"{self._name}-[12]", f"{self._name}-1", f"{self._name}", f"{self._name}-("]
            filters["pattern"] = self._random.choice(patterns)
        self._ask(life, txn_frames.list_transactions(version=version, **filters))
        broker = self._random.randrange(1, self._brokers + 1)
        indexes = self._random.sample(range(self._partitions + 1), self._random.choice([1, self._partitions]))
        self._ask(life, txn_frames.describe_producers(self.topic, *indexes), broker)
        coordinator = txn_frames.find_transaction_coordinator(
            life.transaction.name, version=self._random.choice([3, 6])
        )
        self._ask(life, coordinator, broker)

    # Chance.

    def _some_partitions(self, most: int) -> list[int]:
        return self._random.sample(range(self._partitions), min(self._random.choice([1, most]), self._partitions))

    def _rarely(self) -> bool:
        return self._random.random() < 0.08

    def _very_rarely(self) -> bool:
        return self._random.random() < 0.03

    def _id(self, life: Life) -> int:
        if self._very_rarely():
            return self._random.choice([4_000_020, producer(self._random.choice(self._transactions).number)])
        return producer(life.transaction.number)

    def _epoch(self, life: Life) -> int:
        return life.epoch + self._random.choice([-1, 1, 1, 2]) if self._rarely() and life.epoch else life.epoch

    def _ids(self, life: Life) -> dict[str, Any]:
        return {"producer_id": self._id(life), "epoch": self._epoch(life)}

    def _ask(self, life: Life, frame: bytes, broker: int | None = None) -> None:
        """Send a request to a broker, by default to the transaction coordinator."""
        broker = broker or self._coordinator
        self.steps += ask(frame, conn=f"{life.letter}-{broker}", broker=broker)
