"""The changes that faults make to a cluster: leaders, coordinators, ISRs, followers, brokers.

Theory   They are made between two requests, by the methods that users have, at the time of the point.
Errors   KafkaError if a change is impossible: no other replica is in sync, the partition does not exist. The user
         gets a warning, and the request continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from fakebroker.cluster.lives import Lives
from fakebroker.cluster.members import Members
from fakebroker.core.errors import KafkaError
from fakebroker.core.faults.acting import ActionTarget
from fakebroker.core.replication.behaviour import Behaviour, Selection
from fakebroker.core.replication.isr import maybe_shrink_isr
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.error_code import ErrorCode


@final
class ClusterChanges:
    """The changes of one cluster. See `acting.Changes`."""

    def __init__(self, members: Members, lives: Lives, expire_sessions: Callable[[str], int]) -> None:
        self._members = members
        self._clock = members.clock
        self._lives = lives
        self._expire_sessions = expire_sessions

    def stop(self, broker_id: int) -> None:
        self._lives.stop_broker(broker_id, self._clock.now)

    def start(self, broker_id: int) -> None:
        self._lives.start_broker(broker_id, self._clock.now)

    def kill(self, broker_id: int) -> None:
        self._lives.kill_broker(broker_id, self._clock.now)

    def pause(self, broker_id: int) -> None:
        self._lives.pause_broker(broker_id, self._clock.now)

    def resume(self, broker_id: int) -> None:
        self._lives.resume_broker(broker_id, self._clock.now)

    def expire_sessions(self, user: str) -> None:
        if not self._expire_sessions(user):
            raise ValueError(f"no client has a session of SASL as {user!r}")

    def partitions(self, topic: str | None, partition: int | None, whom: ActionTarget) -> Sequence[tuple[str, int]]:
        named = whom.partitions
        if topic is not None:
            count = len(self._members.controller.existing(topic).partitions)
            named = [(topic, index) for index in (range(count) if partition is None else [partition])]
        partitions = list(dict.fromkeys(named))
        for name, index in partitions:
            self._existing(name, index)  # all of them, before the first is changed
        return partitions

    def move_leader(self, topic: str, partition: int, broker_id: int | None) -> None:
        self._move(self._existing(topic, partition), broker_id)

    def lose_leader(self, topic: str, partition: int) -> None:
        leader_id = self._existing(topic, partition).leader_id
        if leader_id != NO_LEADER:
            self.kill(leader_id)

    def set_followers(self, behaviour: Behaviour | None, topic: str, partition: int, broker_id: int | None) -> None:
        self._existing(topic, partition)
        self._members.followers.set_behaviour(behaviour, Selection(topic, partition, broker_id), self._clock.now)

    def _existing(self, topic: str, index: int) -> Partition:
        partition = self._members.metadata.find_partition(topic, index)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no partition {topic}-{index}.")
        return partition

    def _move(self, partition: Partition, broker_id: int | None) -> None:
        topic_partition = partition.topic_partition
        if broker_id is None:
            alive = self._members.registry.is_alive
            others = [id_ for id_ in partition.isr_ids if id_ != partition.leader_id and alive(id_)]
            if not others:
                raise KafkaError(
                    ErrorCode.eligible_leaders_not_available, f"No other replica is in the ISR of {topic_partition}."
                )
            broker_id = others[0]
        self._members.controller.move_leader(topic_partition, broker_id, self._clock.now)

    def move_coordinators(self, broker_id: int | None, whom: ActionTarget) -> None:
        broker = self._members.brokers.get(whom.broker_id)
        if broker is None:
            return
        places = [("__consumer_offsets", broker.groups.partition_for(group)) for group in whom.groups]
        states = broker.transactions.states
        places += [("__transaction_state", states.partition_for(name)) for name in whom.transactional_ids]
        for topic, index in places:
            partition = self._members.metadata.find_partition(topic, index)
            if partition is None:
                raise KafkaError(ErrorCode.coordinator_not_available, f"No client has requested {topic}-{index} yet.")
            self._move(partition, broker_id)

    def shrink_isr(self, topic: str, index: int, broker_id: int | None) -> None:
        partition = self._existing(topic, index)
        leader_id = partition.leader_id
        gone = partition.isr - {leader_id} if broker_id is None else {broker_id}
        if leader_id in gone:
            raise KafkaError(ErrorCode.invalid_request, f"Broker {broker_id} leads {partition.topic_partition}.")
        moved = partition.update_isr(partition.isr - gone, self._clock.now.mono_ms)
        if moved or maybe_shrink_isr(partition, self._clock.now.mono_ms):
            self._members.wakeups.try_complete_delayed_requests(partition)
