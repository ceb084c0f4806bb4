"""Random walks of consumer groups (KIP-848), and of the admin beside them.

Theory   There is no model. A member reports the epoch and partitions of its last response (told.py). So most of its
         requests are right, and some are wrong in one thing. Topics are created and deleted, get more partitions, lose
         records; settings of the group and the topics are altered.
         What Kafka decides by the order of a hash table of random ids of topics is avoided: the uniform assignor sees
         one topic, the range assignor two.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from conformance import frames, group_frames
from conformance.consumer_group_frames import describe, heartbeat
from conformance.generated.walks.admin import AdminWalker
from conformance.generated.walks.told import ALL_TOLD, FEWER, told_epoch
from conformance.generated.walks.walk import CLIENTS, GROUP, LONG_MS, Step, Walk

_OFFSET_COMMIT, _OFFSET_FETCH, _OFFSET_DELETE = 8, 9, 47


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


class ConsumerWalker(AdminWalker):
    """Makes one walk."""

    def __init__(self, random: Random, brokers: int = 1) -> None:
        super().__init__(random, brokers)
        self._members = [_Member(letter, random) for letter in CLIENTS[: random.choice([1, 2, 2, 3, 3, 4])]]
        self._is_range = random.random() < 0.5

    def walk(self, length: int) -> Walk:
        self.go(length)
        self.end()
        return Walk(tuple(self.steps))

    def go(self, length: int) -> None:
        """Make steps until there are so many."""
        if not self.steps:
            self._begin()
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
            (5, lambda member: self._administer()),
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

    def _say(self, member: _Member, frame: bytes) -> None:
        self.steps.append(Step(member.conn, frame, broker=self._coordinator))


def consumer_walk(seed: int) -> Walk:
    """Return the walk of this seed."""
    random = Random(seed)
    return ConsumerWalker(random).walk(random.choice([10, 14, 18, 24]))
