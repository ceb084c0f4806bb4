"""Random walks of consumer groups (KIP-848), and of the admin beside them.

Theory   There is no model. A member reports the epoch and partitions of its last response (told.py). So most of its
         requests are right, and some are wrong in one thing. Topics are created and deleted, get more partitions, lose
         records; settings of the group and the topics are altered.
         What Kafka decides by the order of a hash table of random ids of topics is avoided: the uniform assignor sees
         one topic, the range assignor two.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

from conformance import frames, group_frames
from conformance.consumer_group_frames import describe, heartbeat
from conformance.generated.walks.told import ALL_TOLD, FEWER, told_epoch
from conformance.generated.walks.walk import CLIENTS, GROUP, LONG_MS, Step, Walk

_OFFSET_COMMIT, _OFFSET_FETCH, _OFFSET_DELETE = 8, 9, 47
_CREATE_PARTITIONS, _DELETE_RECORDS, _ALTER_CONFIGS = 37, 21, 44
_TOPIC, _GROUP = 2, 32  # kinds of resources
_LIMIT = timedelta(seconds=10)
_ADMIN = "d8"  # its connection; it shares a letter with a member, and no connection


class _Member:
    def __init__(self, letter: str, random: Random) -> None:
        self.letter = letter
        self.life = 0  # of its connections
        self.has_joined = False
        self.instance_id = random.choice([None, None, None, "static-1", "static-2"])

    @property
    def conn(self) -> str:
        return f"{self.letter}{self.life}"

    @property
    def member_id(self) -> str:
        return f"member-{self.letter}"


class ConsumerWalker:
    """Makes one walk. `topics` are two names, called after the group, so that each walk has its own; the first one is
    there from the start."""

    def __init__(self, random: Random, brokers: int = 1) -> None:
        self._random = random
        self._brokers = brokers
        self.steps: list[Step] = []
        self.topics = [f"{GROUP}-t1", f"{GROUP}-t2"]
        self._number = 0
        self._partitions: dict[str, int] = {}
        self._coordinator = 1
        self._members = [_Member(letter, random) for letter in CLIENTS[: random.choice([1, 2, 2, 3, 3, 4])]]
        self._is_range = random.random() < 0.5

    def walk(self, length: int) -> Walk:
        self.go(length)
        self.end()
        return Walk(tuple(self.steps))

    def go(self, length: int) -> None:
        """Make steps until there are so many."""
        if not self.steps:
            self._create(self.topics[0])
        actions: list[tuple[int, Callable[[_Member], None]]] = [
            (10, self._join),
            (12, self._beat),
            (12, self._acknowledge),
            (3, self._subscribe),
            (3, self._leave),
            (3, self._commit),
            (2, self._fetch_offsets),
            (1, self._describe),
            (1, self._delete),
            (1, self._go_away),
            (5, self._administer),
        ]
        weights = [weight for weight, _ in actions]
        while len(self.steps) < length:
            [(_, action)] = self._random.choices(actions, weights)
            action(self._random.choice(self._members))

    def end(self) -> None:
        """Describe the group and its offsets on another connection."""
        watcher = self._members[0].letter + "9"
        for frame in (describe(GROUP, correlation_id=900), self._offsets_frame(-1, None, 901)):
            self.steps.append(Step(watcher, frame, broker=self._coordinator))

    def moved(self, broker: int) -> None:
        """Continue on another coordinator: each member comes back on another connection, with the same ids."""
        self._coordinator = broker
        for member in self._members:
            self._go_away(member)

    def _join(self, member: _Member) -> None:
        if member.has_joined and not self._rarely():
            self._acknowledge(member)
            return
        member.has_joined = True
        version = self._random.choice([0, 1, 1])
        assignor = "range" if self._is_range else self._random.choice([None, None, "uniform"])
        self._say(
            member,
            heartbeat(
                GROUP,
                member.member_id,
                0,
                version=version,
                correlation_id=self._next(),
                instance_id=member.instance_id,
                rebalance_ms=LONG_MS if not self._very_rarely() else -1,
                topics=self._some_topics(),
                assignor="nobody's" if self._very_rarely() else assignor,
                owned={} if not self._very_rarely() else None,
            ),
        )

    def _beat(self, member: _Member) -> None:
        self._heartbeat(member)

    def _acknowledge(self, member: _Member) -> None:
        """Acknowledge all assigned partitions, or report that the member has fewer yet."""
        stands_for = FEWER if self._rarely() else ALL_TOLD
        self._heartbeat(member, owned=[(stands_for, [0])])

    def _subscribe(self, member: _Member) -> None:
        self._heartbeat(member, topics=self._some_topics())

    def _heartbeat(self, member: _Member, **values: Any) -> None:
        if not member.has_joined and not self._very_rarely():
            self._join(member)
            return
        self._say(
            member,
            heartbeat(
                GROUP,
                self._some_id(member),
                self._some_epoch(member),
                version=self._random.choice([0, 1, 1]),
                correlation_id=self._next(),
                instance_id=member.instance_id if self._rarely() else None,
                **values,
            ),
        )

    def _leave(self, member: _Member) -> None:
        """Leave for good, or, as a static member, for a while."""
        is_static = member.instance_id is not None and self._random.random() < 0.6
        frame = heartbeat(
            GROUP,
            self._some_id(member),
            -2 if is_static else -1,
            correlation_id=self._next(),
            instance_id=member.instance_id,
        )
        self._say(member, frame)
        member.has_joined = False

    def _commit(self, member: _Member) -> None:
        part = {
            "partition_index": self._random.randrange(3),
            "committed_offset": self._random.randrange(100),
            "committed_leader_epoch": self._random.choice([-1, 0]),
            "committed_metadata": self._random.choice(["", "meta", None]),
        }
        values = {
            "group_id": GROUP,
            "generation_id_or_member_epoch": self._some_epoch(member),
            "member_id": self._some_id(member),
            "group_instance_id": None,
            "topics": [{"name": self._a_topic(), "partitions": [part]}],
        }
        self._say(member, frames.request(_OFFSET_COMMIT, self._random.choice([8, 9]), values, self._next()))

    def _fetch_offsets(self, member: _Member) -> None:
        epoch = -1
        member_id: str | None = None  # as an admin asks
        if self._random.random() < 0.7:
            epoch, member_id = self._some_epoch(member), self._some_id(member)
        self._say(member, self._offsets_frame(epoch, member_id, self._next()))

    def _offsets_frame(self, epoch: int, member_id: str | None, correlation_id: int) -> bytes:
        group = {"group_id": GROUP, "member_id": member_id, "member_epoch": epoch, "topics": None}
        values = {"groups": [group], "require_stable": False}
        return frames.request(_OFFSET_FETCH, 9, values, correlation_id)

    def _describe(self, member: _Member) -> None:
        self._say(member, describe(GROUP, version=self._random.choice([0, 1]), correlation_id=self._next()))

    def _delete(self, member: _Member) -> None:
        if self._random.random() < 0.7:
            topics = [{"name": self._a_topic(), "partitions": [{"partition_index": 0}]}]
            self._say(member, frames.request(_OFFSET_DELETE, 0, {"group_id": GROUP, "topics": topics}, self._next()))
        else:
            self._say(member, group_frames.delete_groups([GROUP], correlation_id=self._next()))

    def _go_away(self, member: _Member) -> None:
        self.steps.append(Step(member.conn, None))
        member.life += 1

    # The admin.

    def _administer(self, member: _Member) -> None:
        name = self._a_topic()
        if name not in self._partitions:
            self._create(name)
            return
        self._random.choices(
            [self._grow, self._delete_topic, self._write, self._delete_records, self._alter_topic, self._alter_group],
            [3, 1, 2, 2, 1, 1],
        )[0](name)

    def _create(self, name: str) -> None:
        self._partitions[name] = self._random.choice([1, 2, 3, 4])
        assignments = [
            {"partition_index": index, "broker_ids": list(range(1, self._brokers + 1))}
            for index in range(self._partitions[name])
        ]
        topic = {"name": name, "assignments": assignments, "configs": []}
        self._ask(frames.create_topics([topic], correlation_id=self._next()))

    def _grow(self, name: str) -> None:
        more = self._random.choice([0, 1, 1, 2])
        self._partitions[name] += more
        placed = [{"broker_ids": list(range(1, self._brokers + 1))} for _ in range(more)]  # where Kafka would by chance
        topic = {"name": name, "count": self._partitions[name], "assignments": placed or None}
        values = {"topics": [topic], "timeout": _LIMIT, "validate_only": False}
        self._ask(frames.request(_CREATE_PARTITIONS, self._random.choice([1, 2, 3]), values, self._next()))

    def _delete_topic(self, name: str) -> None:
        del self._partitions[name]
        self._ask(frames.delete_topics([name], correlation_id=self._next()))

    def _write(self, name: str) -> None:
        records = frames.batch(*(b"%d" % number for number in range(self._random.choice([1, 3]))))
        partition = self._random.randrange(self._partitions[name])
        self._ask(frames.produce(name, {partition: records}, correlation_id=self._next()))

    def _delete_records(self, name: str) -> None:
        part = {"partition_index": self._random.randrange(self._partitions[name])}
        part["offset"] = self._random.choice([-1, 0, 1, 2, 5])
        values = {"topics": [{"name": name, "partitions": [part]}], "timeout": _LIMIT}
        self._ask(frames.request(_DELETE_RECORDS, self._random.choice([1, 2]), values, self._next()))

    def _alter_topic(self, name: str) -> None:
        key, value = self._random.choice(
            [("max.message.bytes", "2000"), ("retention.bytes", "1000000"), ("min.insync.replicas", "2"), ("no", "1")]
        )
        self._alter(_TOPIC, name, key, value)

    def _alter_group(self, name: str) -> None:
        key, value = self._random.choice(
            [
                ("consumer.session.timeout.ms", "50000"),
                ("consumer.heartbeat.interval.ms", "6000"),
                ("consumer.session.timeout.ms", "1"),
            ]
        )
        self._alter(_GROUP, GROUP, key, value)

    def _alter(self, kind: int, name: str, key: str, value: str) -> None:
        configs: list[Any] = [{"name": key, "config_operation": 0, "value": value}]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        values = {"resources": [resource], "validate_only": self._rarely()}
        self._ask(frames.request(_ALTER_CONFIGS, 1, values, self._next()))

    def _a_topic(self) -> str:
        return self._random.choice(self.topics)

    def _ask(self, frame: bytes) -> None:
        """Send a request of the admin."""
        self.steps.append(Step(_ADMIN, frame, settles=True))

    # Chance.

    def _some_topics(self) -> list[str]:
        """Return topics that exist, did exist or will exist: one alone for the uniform assignor."""
        names = self.topics if self._is_range else self.topics[:1]
        return self._random.choice([names, names, names[:1], names[-1:]])

    def _some_epoch(self, member: _Member) -> int:
        if self._very_rarely():
            return self._random.choice([0, -1, 77])
        return told_epoch(member.letter, self._random.choice([-1, 1]) if self._rarely() else 0)

    def _some_id(self, member: _Member) -> str:
        if not self._very_rarely():
            return member.member_id
        return self._random.choice([*(other.member_id for other in self._members), "nobody"])

    def _rarely(self) -> bool:
        return self._random.random() < 0.12

    def _very_rarely(self) -> bool:
        return self._random.random() < 0.04

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _say(self, member: _Member, frame: bytes) -> None:
        self.steps.append(Step(member.conn, frame, broker=self._coordinator))


def consumer_walk(seed: int) -> Walk:
    """Return the walk of this seed."""
    random = Random(seed)
    return ConsumerWalker(random).walk(random.choice([10, 14, 18, 24]))
