"""Random walks of users that produce, fetch, join, commit and run transactions while their permissions change.

Theory   A walk is a case. The harness gives ACLs and takes them away. Three users, which have logged in over TLS, do
         what clients do, each on a connection of its own. In between, requests are parked (`UserParking`): a change
         does not reach them. A small model guesses what is allowed, and so which ids and epochs there are. Where it is
         wrong a walk is only less likely to meet something.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

from conformance import frames
from conformance.frames import request
from conformance.generated.walks.user_parking import UserParking
from conformance.generated.walks.user_scene import UserScene
from conformance.group_frames import describe_groups, find_coordinator
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, ReadLog, Settle, Topic
from conformance.security.user_steps import BOX, harness
from conformance.transactions import frames as txn_frames
from conformance.transactions.frames import in_transaction, init_transactions
from conformance.transactions.stand_ins import producer

_DELETE_RECORDS, _DESCRIBE_CONFIGS, _CREATE_PARTITIONS, _DESCRIBE_TOPICS = 21, 32, 37, 75
_BY_ID_SINCE = 13  # of Produce and of Fetch
_LENGTHS = (8, 15, 25, 40)


class UserWalker:
    """Makes one walk. `name` begins what is called after it: topics, groups, a transactional id, users."""

    def __init__(self, random: Random, name: str) -> None:
        self._scene = UserScene(random, name)
        self._parking = UserParking(self._scene)
        self._epoch, self._sequence, self._is_open = 0, 0, False  # of the transactional id
        self._producers = 1  # ids that were given: the first one is that of the transactional id
        self._sequences: dict[int, int] = {}

    def case(self, length: int) -> Case:
        self._scene.steps += [AwaitCoordinator(f"{self._scene.name}-g"), AwaitTransaction(self._scene.transaction)]
        self._scene.steps += harness(init_transactions(self._scene.transaction))
        self._scene.log_in()
        self._scene.begin()
        actions: list[tuple[int, Callable[[str], None]]] = [
            (10, lambda user: self._scene.change()),
            (6, self._produce),
            (6, self._fetch),
            (2, self._idempotent),
            (3, self._commit),
            (6, self._in_transaction),
            (4, self._look),
            (2, self._administer),
            (2, self._parking.fetch),
            (2, self._parking.join),
            (2, self._parking.fetch_session),
            (1, self._without_answer),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(length):
            [(_, action)] = self._scene.random.choices(actions, weights)
            action(self._scene.random.choice(self._scene.users))
        self._scene.steps.append(AwaitTransaction(self._scene.transaction, settled=True))
        self._scene.steps += [ReadLog(topic.name) for topic in self._scene.topics]
        return Case(f"walks/{self._scene.name}", "", tuple(self._scene.steps), tuple(self._scene.topics), BOX)

    def _produce(self, user: str) -> None:
        version = self._scene.random.choice([3, 8, 9, 12, 13])
        chosen = self._scene.random.sample(self._scene.topics, self._scene.random.choice([1, 2]))
        batches = {self._named(topic, version): {0: frames.batch(b"%d" % len(self._scene.steps))} for topic in chosen}
        self._scene.ask(user, frames.produce_many(batches, version, self._scene.random.choice([-1, 1])))

    def _without_answer(self, user: str) -> None:
        """Produce with acks=0: a broker closes the connection if that is not allowed."""
        conn = self._scene.connect(user)
        frame = frames.produce(self._scene.random.choice(self._scene.topics).name, frames.batch(b"quiet"), acks=0)
        self._scene.send(conn, frame)
        self._scene.steps.append(Settle(conn))

    def _fetch(self, user: str) -> None:
        version = self._scene.random.choice([4, 7, 11, 12, 13, 17])
        topic = self._scene.random.choice(self._scene.topics)
        isolation = self._scene.random.choice([0, 1])
        at = self._scene.random.choice([0, 0, 1, 2, 5])
        self._scene.ask(user, frames.fetch(self._named(topic, version), at, version=version, isolation_level=isolation))

    def _idempotent(self, user: str) -> None:
        topic = self._scene.random.choice(self._scene.topics)
        if self._scene.random.random() < 0.5 or self._producers == 1:
            self._scene.ask(user, frames.init_producer_id())
            if self._may_write_anything(user):
                self._producers += 1
        number = self._scene.random.randint(min(2, self._producers), self._producers)
        ids = {"producer_id": producer(number), "producer_epoch": 0, "base_sequence": self._sequences.get(number, 0)}
        self._scene.ask(user, frames.produce(topic.name, frames.batch(b"idempotent", **ids)))
        if self._scene.may(user, "TOPIC", topic.name, "WRITE"):
            self._sequences[number] = ids["base_sequence"] + 1

    def _commit(self, user: str) -> None:
        offsets = [(topic.name, 0, self._scene.random.randrange(9)) for topic in self._scene.topics]
        named = [(topic.name, (0,)) for topic in self._scene.topics]
        group = self._scene.random.choice(self._scene.groups)
        frame = self._scene.random.choice(
            [
                offset_commit(group, offsets, version=self._scene.random.choice([2, 8, 9])),
                offset_commit(group, offsets[:1]),
                offset_fetch(
                    {group: self._scene.random.choice([named, None])}, version=self._scene.random.choice([7, 8, 9])
                ),
                offset_delete(group, named[1:]),
            ]
        )
        self._scene.ask(user, frame)

    def _in_transaction(self, user: str) -> None:
        topic, group = self._scene.random.choice(self._scene.topics).name, f"{self._scene.name}-g"
        own: dict[str, Any] = {"producer_id": producer(1), "epoch": self._epoch}
        batch = in_transaction(b"%d" % len(self._scene.steps), sequence=self._sequence, **own)
        what = self._scene.random.choice(
            ["write", "write", "write", "end", "end", "init", "add", "offsets", "add-offsets"]
        )
        commit = self._scene.random.random() < 0.6
        frame = {
            "write": frames.produce(topic, batch, version=12, transactional_id=self._scene.transaction),
            "end": txn_frames.end_txn(self._scene.transaction, commit=commit, **own),
            "init": init_transactions(self._scene.transaction),
            "add": txn_frames.add_partitions(self._scene.transaction, {topic: [0]}, **own),
            "offsets": txn_frames.txn_offset_commit(self._scene.transaction, group, [(topic, 0, 3)], **own),
            "add-offsets": txn_frames.add_offsets(self._scene.transaction, group, **own),
        }[what]
        self._scene.ask(user, frame)
        self._scene.steps.append(AwaitTransaction(self._scene.transaction, settled=True))
        if not self._scene.may(user, "TRANSACTIONAL_ID", self._scene.transaction, "WRITE"):
            return
        if what == "write" and self._scene.may(user, "TOPIC", topic, "WRITE"):
            self._sequence, self._is_open = self._sequence + 1, True
        elif what in ("add", "add-offsets", "offsets"):
            self._is_open = True
        elif what == "init" or (what == "end" and (self._is_open or not commit)):
            self._epoch += 2 if what == "init" and self._is_open else 1
            self._sequence, self._is_open = 0, False

    def _look(self, user: str) -> None:
        topics, group = [topic.name for topic in self._scene.topics], self._scene.random.choice(self._scene.groups)
        configs = {"resource_type": 2, "resource_name": topics[0], "configuration_keys": ("retention.ms",)}
        flags = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
        frame = self._scene.random.choice(
            [
                frames.metadata([*topics, f"{self._scene.name}-nowhere"], 12),
                frames.metadata([*topics], 10, **flags),
                frames.metadata([topic.placeholder for topic in self._scene.topics], 12),
                frames.list_offsets(topics[0], -1),
                frames.end_offset(topics[1]),
                describe_groups([group, f"{self._scene.name}-nowhere"], operations=True),
                find_coordinator(group, f"{self._scene.name}-nowhere"),
                txn_frames.find_transaction_coordinator(self._scene.transaction),
                txn_frames.describe_producers(topics[0]),
                request(_DESCRIBE_CONFIGS, 4, {"resources": [configs]}),
                request(
                    _DESCRIBE_TOPICS,
                    0,
                    {"topics": [{"name": name} for name in topics], "response_partition_limit": 9, "cursor": None},
                ),
            ]
        )
        self._scene.ask(user, frame)

    def _administer(self, user: str) -> None:
        topic = self._scene.random.choice(self._scene.topics).name
        offset = self._scene.random.choice([0, 1, -1])
        deletes = [{"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}]
        grows = [{"name": topic, "count": 2, "assignments": None}]
        ten = {"timeout": timedelta(seconds=10)}
        frame = self._scene.random.choice(
            [
                request(_DELETE_RECORDS, 2, {"topics": deletes} | ten),
                request(_CREATE_PARTITIONS, 3, {"topics": grows, "validate_only": True} | ten),
            ]
        )
        self._scene.ask(user, frame)

    def _named(self, topic: Topic, version: int) -> str | UUID:
        return topic.placeholder if version >= _BY_ID_SINCE else topic.name

    def _may_write_anything(self, user: str) -> bool:
        return self._scene.may(user, "CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE") or any(
            self._scene.may(user, "TOPIC", topic.name, "WRITE") for topic in self._scene.topics
        )


def users_walk(seed: int, name: str) -> tuple[tuple[Topic, ...], Case]:
    """Return topics to be made, and what then happens."""
    random = Random(seed)
    walker = UserWalker(random, name)
    case = walker.case(random.choice(_LENGTHS))
    return case.topics, case
