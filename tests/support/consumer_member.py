"""A member of a consumer group as a client has it (KIP-848), and a group's coordinator to talk to, without requests.

A client takes new partitions at once. It revokes a partition when its user has released it (`let_go`). It reports its
partitions whenever they have changed since the last response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fakebroker.core.groups.consumer.messages import ConsumerHeartbeatRequest, DescribedConsumerGroup, HeartbeatAnswer
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import ReportedPartitions
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.many_names import as_names
from support.group_harness import GroupHarness, Outcome

Place = tuple[UUID, int]
FENCED = (ErrorCode.fenced_member_epoch, ErrorCode.unknown_member_id, ErrorCode.group_id_not_found)


class ConsumerHarness(GroupHarness):
    """A harness: `harness.heartbeat("m", 0, **JOIN)` returns the response, or raises."""

    def topic(self, name: str, partitions: int) -> UUID:
        self.simulation.topic(name, partitions=partitions, replicas=1)
        return self.topic_id(name)

    def topic_id(self, name: str) -> UUID:
        topic = self.simulation.cluster.metadata.topic(name)
        assert topic is not None
        return topic.topic_id

    def beat(self, member_id: str, epoch: int, group_id: str = "g", **values: Any) -> Outcome[HeartbeatAnswer]:
        names = values.pop("topic_names", None)
        topic_names = None if names is None else as_names(names)
        request = ConsumerHeartbeatRequest(1, group_id, member_id, epoch, topic_names=topic_names, **values)
        return self.write(lambda shard: shard.consumer_groups.heartbeat(request), group_id)

    def heartbeat(self, member_id: str, epoch: int, group_id: str = "g", **values: Any) -> HeartbeatAnswer:
        return self.beat(member_id, epoch, group_id, **values).value

    def join(self, member_id: str, *topics: str, group_id: str = "g", **values: Any) -> HeartbeatAnswer:
        said: dict[str, Any] = {"rebalance_timeout_ms": 10_000, "topic_names": topics, "owned": []}
        return self.heartbeat(member_id, 0, group_id, **said | values)

    def described(self, group_id: str = "g") -> DescribedConsumerGroup:
        return self.read(lambda shard, offset: shard.consumer_groups.describe(group_id, offset), group_id).value

    def group(self, group_id: str = "g") -> ConsumerGroup:
        """Return the group's current state, committed or not."""
        group = self.shard(group_id).groups.get(group_id)
        assert isinstance(group, ConsumerGroup)
        return group


def held(answer: HeartbeatAnswer) -> set[Place]:
    assert answer.assignment is not None
    return {(topic, partition) for topic, partitions in answer.assignment for partition in partitions}


class ModelMember:
    """A client. `holds` are the partitions that its user works on."""

    def __init__(
        self, harness: ConsumerHarness, member_id: str, topics: Sequence[str], regex: str | None = None
    ) -> None:
        self._harness = harness
        self.member_id = member_id
        self.topics = tuple(topics)
        self.regex = regex
        self.epoch = 0
        self.holds: set[Place] = set()
        self.wanted: set[Place] = set()
        self.is_in = False  # it has joined, and was not told that it is out
        self._said: set[Place] | None = None
        self._must_say_all = True

    def let_go(self) -> None:
        """Release the partitions to be revoked, and begin with the new ones."""
        self.holds = set(self.wanted)

    def beat(self, is_answer_lost: bool = False) -> None:
        """Send one heartbeat. If its response is lost, the next one has all fields."""
        outcome = self._harness.beat(self.member_id, self.epoch, **self._says())
        assert outcome.is_done
        if is_answer_lost:
            self._must_say_all = True
            return
        if outcome.error in FENCED:
            self.fall_out()
            return
        answer = outcome.value
        assert answer.member_epoch >= self.epoch, "an epoch went back"
        self.epoch, self.is_in = answer.member_epoch, True
        self._said, self._must_say_all = set(self.holds), False
        if answer.assignment is not None:
            self.wanted = held(answer)

    def leave(self) -> None:
        outcome = self._harness.beat(self.member_id, -1)
        assert outcome.error in (None, *FENCED)
        self.fall_out()

    def fall_out(self) -> None:
        """Drop all partitions, and join anew with the next heartbeat."""
        self.holds, self.wanted = set(), set()
        self.epoch, self.is_in = 0, False
        self._said, self._must_say_all = None, True

    def _says(self) -> dict[str, Any]:
        if self._must_say_all or self.epoch == 0:
            names = self.topics if self.regex is None else ()
            subscribed = {"topic_names": names, "topic_regex": self.regex or ""}
            return {"rebalance_timeout_ms": 10_000, "owned": self._owned(), **subscribed}
        return {"owned": self._owned()} if self._said != self.holds else {}

    def _owned(self) -> list[ReportedPartitions]:
        topics = sorted({topic for topic, _ in self.holds})
        return [ReportedPartitions(topic, sorted(p for t, p in self.holds if t == topic)) for topic in topics]


def error_of(outcome: Outcome[Any]) -> KafkaError:
    """Return the error of a refused operation."""
    [answer] = outcome.answers
    assert isinstance(answer, KafkaError)
    return answer
