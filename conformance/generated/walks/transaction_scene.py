"""The scene of walks of transactions: partitions, their leaders, the coordinator, programs, and reading requests.

Theory   After each step that may end a transaction all markers are awaited. After a move the metadata of all brokers
         are awaited. How long that takes depends on chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from conformance import frames
from conformance.offset_frames import offset_fetch
from conformance.scenario import AwaitTransaction, CatchUp, MoveLeader, Pause, ReadLog, ReadTransactions, Step, Topic
from conformance.transactions import frames as txn_frames
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import READ_COMMITTED, ask
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME

_PARTITIONS = (1, 3, 3, 3, 7)  # a walk has one of these numbers
BY_ID_SINCE = 13  # of Produce, and of Fetch: topics have their ids
_EVERYTHING = 1 << 20
_SETTLES_MS = 10_000
_EARLIEST, _LARGEST = -2, -3  # of ListOffsets
_STATES = ("Ongoing", "CompleteCommit", "CompleteAbort", "Empty", "PrepareCommit", "Dead", "NoSuchState")


@dataclass
class Transaction:
    """The state of a transactional id that the coordinator may have."""

    name: str
    number: int  # of its producer id
    epoch: int = 0
    is_open: bool = False
    added: set[int] = field(default_factory=set)


@dataclass
class Life:
    """A program that has this transactional id, and what it believes."""

    letter: str
    transaction: Transaction
    epoch: int = 0
    sequences: dict[int, int] = field(default_factory=dict)


def box_of(version: int, brokers: int) -> str:
    return f"transactions{'-three' if brokers > 1 else ''}{'' if version == 2 else f'-{version}'}"


class TransactionScene:
    """`name` begins what is called after it: a topic, a group, transactional ids. Of several brokers the first
    coordinates groups. The transaction coordinator and the leaders of partitions move. Each transactional id has two
    programs, its lives."""

    def __init__(self, random: Random, name: str, version: int, brokers: int) -> None:
        self.random = random
        self.name = name
        self.version = version
        self.brokers = brokers
        self.coordinator = 1
        self.partitions = random.choice(_PARTITIONS)
        self.leaders = dict.fromkeys(range(self.partitions), 1)
        # Of these Kafka finds the largest timestamp of records that are gone, as long as their segment is there.
        self.cut_short: set[int] = set()
        self.topic, self.group = f"{name}-t", f"{name}-g"
        self.made = Topic(self.topic, self.partitions, brokers)
        count = random.choice([1, 2, 2, 3])
        self.transactions = [Transaction(f"{name}-{number}", number) for number in range(1, count + 1)]
        self.lives = [
            Life(f"{letter}{transaction.number}", transaction) for transaction in self.transactions for letter in "ab"
        ]
        self.steps: list[Step] = []

    def read(self, life: object) -> None:
        partition, isolation = self.random.randrange(self.partitions), self.random.choice([0, 1, 1])
        offset = self.random.choice([0, 0, 1, 2, 3, 5, 8])
        version = self.random.choice([4, 7, 10, 11, 12, 13, 17])
        topic = self.made.placeholder if version >= BY_ID_SINCE else self.topic
        size = self.random.choice([_EVERYTHING, _EVERYTHING, 1, 150])
        timestamp = self.random.choice([-1, -1, _EARLIEST, _LARGEST])
        if timestamp == _LARGEST and partition in self.cut_short:
            timestamp = _EARLIEST
        self.ask_leader(
            partition,
            frames.fetch(topic, offset, partition, version=version, isolation_level=isolation, max_bytes=size),
            frames.list_offsets(self.topic, timestamp, partition, isolation_level=isolation),
        )

    def look(self, life: object) -> None:
        topics = [(self.topic, tuple(range(self.partitions)))]
        for partition in range(self.partitions):
            self.ask_leader(partition, txn_frames.describe_producers(self.topic, partition))
        self.steps += ask(offset_fetch({self.group: topics}, require_stable=self.random.random() < 0.5), conn="c-1")
        self.steps += ask(
            txn_frames.describe_transactions(*(transaction.name for transaction in self.transactions)),
            txn_frames.list_transactions(pattern=f"{self.name}.*"),
            conn=f"c-{self.coordinator}",
            broker=self.coordinator,
        )

    def list_transactions(self, life: Life) -> None:
        """List transactions with each filter, and the producers of partitions that may be elsewhere, or nowhere."""
        numbers = [producer(transaction.number) for transaction in self.transactions]
        version = self.random.choice([0, 1, 2, 2, 2])
        filters: dict[str, Any] = {}
        if version < 2 or self.random.random() < 0.3:
            filters["producer_ids"] = self.random.sample([*numbers, 4_000_021], self.random.choice([1, len(numbers)]))
        if self.random.random() < 0.5:
            filters["states"] = self.random.sample(_STATES, self.random.choice([1, 2, 4]))
        if version >= 1 and self.random.random() < 0.4:
            filters["longer_than_ms"] = self.random.choice([0, -1, -7, 3_600_000])
            self.steps.append(Pause(3))  # what is open is older than nothing
        if version == 2:
            patterns = [f"{self.name}.*", f"{self.name}-[12]", f"{self.name}-1", f"{self.name}", f"{self.name}-("]
            filters["pattern"] = self.random.choice(patterns)
        self.ask(life, txn_frames.list_transactions(version=version, **filters))
        broker = self.random.randrange(1, self.brokers + 1)
        indexes = self.random.sample(range(self.partitions + 1), self.random.choice([1, self.partitions]))
        self.ask(life, txn_frames.describe_producers(self.topic, *indexes), broker)
        coordinator = txn_frames.find_transaction_coordinator(life.transaction.name, version=self.random.choice([3, 6]))
        self.ask(life, coordinator, broker)

    def move(self, life: object) -> None:
        """Move the leader of a partition, or the transaction coordinator, and wait until all brokers know."""
        broker = self.random.choice(
            [broker_id for broker_id in range(1, self.brokers + 1) if broker_id != self.coordinator]
        )
        known = [CatchUp(broker_id) for broker_id in range(1, self.brokers + 1)]
        if self.random.random() < 0.4:
            self.coordinator = broker
            self.steps += [MoveLeader(TRANSACTION_STATE_TOPIC_NAME, broker), *known, Pause(50)]
            self.steps.append(AwaitTransaction(self.transactions[0].name, settled=True))
            return
        partition = self.random.randrange(self.partitions)
        self.leaders[partition] = broker
        self.steps += [MoveLeader(self.topic, broker, partition), *known, ReadLog(self.topic, partition, broker)]

    def end(self) -> None:
        for transaction in self.transactions:
            self.settle(transaction)
        self.look(None)
        for partition in range(self.partitions):
            read = (
                frames.fetch(self.topic, 0, partition, version=12, isolation_level=isolation) for isolation in (0, 1)
            )
            last = frames.list_offsets(self.topic, -1, partition, isolation_level=READ_COMMITTED)
            self.ask_leader(partition, *read, last)
            self.steps.append(ReadLog(self.topic, partition, self.leaders[partition]))
        self.steps += [ReadTransactions(transaction.name, self.coordinator) for transaction in self.transactions]
        if self.brokers > 1:
            self.steps += [MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 1), AwaitTransaction(self.transactions[0].name)]

    def ask(self, life: Life, frame: bytes, broker: int | None = None) -> None:
        """Send a request to a broker, by default to the transaction coordinator."""
        broker = broker or self.coordinator
        self.steps += ask(frame, conn=f"{life.letter}-{broker}", broker=broker)

    def ask_leader(self, partition: int, *requests: bytes) -> None:
        leader = self.leaders[partition]
        self.steps += ask(*requests, conn=f"c-{leader}", broker=leader)

    def settle(self, transaction: Transaction) -> None:
        """Await all markers. Where markers of a stranger are in the way this never ends, and the walk ends here."""
        self.steps.append(AwaitTransaction(transaction.name, settled=True, within_ms=_SETTLES_MS))

    # Chance.

    def some_partitions(self, most: int) -> list[int]:
        return self.random.sample(range(self.partitions), min(self.random.choice([1, most]), self.partitions))

    def rarely(self) -> bool:
        return self.random.random() < 0.08

    def very_rarely(self) -> bool:
        return self.random.random() < 0.03

    def producer_id(self, life: Life) -> int:
        if self.very_rarely():
            return self.random.choice([4_000_020, producer(self.random.choice(self.transactions).number)])
        return producer(life.transaction.number)

    def epoch(self, life: Life) -> int:
        return life.epoch + self.random.choice([-1, 1, 1, 2]) if self.rarely() and life.epoch else life.epoch

    def producer_ids(self, life: Life) -> dict[str, Any]:
        return {"producer_id": self.producer_id(life), "epoch": self.epoch(life)}
