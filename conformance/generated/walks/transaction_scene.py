"""The scene of walks of transactions: partitions and their leaders, the coordinator, and requests that only read.

Theory   After each step that may end a transaction all markers are awaited. After a move the metadata of all brokers
         are awaited. How long that takes depends on chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from conformance import frames
from conformance.offset_frames import offset_fetch
from conformance.scenario import AwaitTransaction, CatchUp, MoveLeader, Pause, ReadLog, ReadTransactions, Step, Topic
from conformance.transactions import frames as txn_frames
from conformance.transactions.steps import READ_COMMITTED, ask
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME

_PARTITIONS = (1, 3, 3, 3, 7)  # a walk has one of these numbers
BY_ID_SINCE = 13  # of Produce, and of Fetch: topics have their ids
_EVERYTHING = 1 << 20
_SETTLES_MS = 10_000
_EARLIEST, _LARGEST = -2, -3  # of ListOffsets


@dataclass
class Transaction:
    """The state of a transactional id that the coordinator may have."""

    name: str
    number: int  # of its producer id
    epoch: int = 0
    is_open: bool = False
    added: set[int] = field(default_factory=set)


def box_of(version: int, brokers: int) -> str:
    return f"transactions{'-three' if brokers > 1 else ''}{'' if version == 2 else f'-{version}'}"


class TransactionScene:
    """`name` begins what is called after it: a topic, a group, transactional ids. Of several brokers the first
    coordinates groups. The transaction coordinator and the leaders of partitions move."""

    def __init__(self, random: Random, name: str, brokers: int) -> None:
        self._random = random
        self._name = name
        self._brokers = brokers
        self._coordinator = 1
        self._partitions = random.choice(_PARTITIONS)
        self._leaders = dict.fromkeys(range(self._partitions), 1)
        # Of these Kafka finds the largest timestamp of records that are gone, as long as their segment is there.
        self._cut_short: set[int] = set()
        self.topic, self._group = f"{name}-t", f"{name}-g"
        self.made = Topic(self.topic, self._partitions, brokers)
        count = random.choice([1, 2, 2, 3])
        self._transactions = [Transaction(f"{name}-{number}", number) for number in range(1, count + 1)]
        self.steps: list[Step] = []

    def _read(self, life: object) -> None:
        partition, isolation = self._random.randrange(self._partitions), self._random.choice([0, 1, 1])
        offset = self._random.choice([0, 0, 1, 2, 3, 5, 8])
        version = self._random.choice([4, 7, 10, 11, 12, 13, 17])
        topic = self.made.placeholder if version >= BY_ID_SINCE else self.topic
        size = self._random.choice([_EVERYTHING, _EVERYTHING, 1, 150])
        timestamp = self._random.choice([-1, -1, _EARLIEST, _LARGEST])
        if timestamp == _LARGEST and partition in self._cut_short:
            timestamp = _EARLIEST
        self._ask_leader(
            partition,
            frames.fetch(topic, offset, partition, version=version, isolation_level=isolation, max_bytes=size),
            frames.list_offsets(self.topic, timestamp, partition, isolation_level=isolation),
        )

    def _look(self, life: object) -> None:
        topics = [(self.topic, tuple(range(self._partitions)))]
        for partition in range(self._partitions):
            self._ask_leader(partition, txn_frames.describe_producers(self.topic, partition))
        self.steps += ask(offset_fetch({self._group: topics}, require_stable=self._random.random() < 0.5), conn="c-1")
        self.steps += ask(
            txn_frames.describe_transactions(*(transaction.name for transaction in self._transactions)),
            txn_frames.list_transactions(pattern=f"{self._name}.*"),
            conn=f"c-{self._coordinator}",
            broker=self._coordinator,
        )

    def _move(self, life: object) -> None:
        """Move the leader of a partition, or the transaction coordinator, and wait until all brokers know."""
        broker = self._random.choice(
            [broker_id for broker_id in range(1, self._brokers + 1) if broker_id != self._coordinator]
        )
        known = [CatchUp(broker_id) for broker_id in range(1, self._brokers + 1)]
        if self._random.random() < 0.4:
            self._coordinator = broker
            self.steps += [MoveLeader(TRANSACTION_STATE_TOPIC_NAME, broker), *known, Pause(50)]
            self.steps.append(AwaitTransaction(self._transactions[0].name, settled=True))
            return
        partition = self._random.randrange(self._partitions)
        self._leaders[partition] = broker
        self.steps += [MoveLeader(self.topic, broker, partition), *known, ReadLog(self.topic, partition, broker)]

    def _end_of_walk(self) -> None:
        for transaction in self._transactions:
            self._settle(transaction)
        self._look(None)
        for partition in range(self._partitions):
            read = (
                frames.fetch(self.topic, 0, partition, version=12, isolation_level=isolation) for isolation in (0, 1)
            )
            last = frames.list_offsets(self.topic, -1, partition, isolation_level=READ_COMMITTED)
            self._ask_leader(partition, *read, last)
            self.steps.append(ReadLog(self.topic, partition, self._leaders[partition]))
        self.steps += [ReadTransactions(transaction.name, self._coordinator) for transaction in self._transactions]
        if self._brokers > 1:
            self.steps += [MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 1), AwaitTransaction(self._transactions[0].name)]

    def _ask_leader(self, partition: int, *requests: bytes) -> None:
        leader = self._leaders[partition]
        self.steps += ask(*requests, conn=f"c-{leader}", broker=leader)

    def _settle(self, transaction: Transaction) -> None:
        """Unless marks of a stranger are in the way: then it never is, and the walk ends here."""
        self.steps.append(AwaitTransaction(transaction.name, settled=True, within_ms=_SETTLES_MS))
