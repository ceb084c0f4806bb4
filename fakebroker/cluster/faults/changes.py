"""Actions of faults on the cluster: leaders, coordinators, ISRs, followers, brokers.

Theory   They run between two requests, through the doors for users, at the time of the point.
Errors   KafkaError if the action is impossible: no other replica is in sync, the partition does not exist. The user
         gets a warning, and the request continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

from fakebroker.cluster.lives import Lives
from fakebroker.core.errors import KafkaError
from fakebroker.core.faults import actions
from fakebroker.core.faults.actions import Action
from fakebroker.core.replication.behaviour import FROZEN, Behaviour, Selection
from fakebroker.core.replication.isr import maybe_shrink_isr
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.error_code import ErrorCode


class Whom(Protocol):
    """The default target of an action: the broker of the request, and what the request names."""

    @property
    def broker_id(self) -> int: ...

    @property
    def partitions(self) -> Sequence[tuple[str, int]]: ...

    @property
    def groups(self) -> Sequence[str]: ...

    @property
    def transactional_ids(self) -> Sequence[str]: ...


@final
class Changes:
    """The actions on one cluster."""

    def __init__(self, lives: Lives) -> None:
        self._lives = lives

    def do(self, action: Action, whom: Whom) -> bool:
        """Run the action and return True, or return False if it is of another kind. Raises KafkaError if it is
        impossible."""
        match action:
            case actions.MoveLeader(broker):
                for partition in self._partitions(action, whom):
                    self._move(partition, broker)
            case actions.LoseLeader():
                for partition in self._partitions(action, whom):
                    if partition.leader_id != NO_LEADER:
                        self._lives.kill_broker(partition.leader_id, self._lives.now)
            case actions.MoveCoordinator(broker):
                self._move_coordinators(broker, whom)
            case actions.ShrinkIsr(broker):
                for partition in self._partitions(action, whom):
                    self._shrink(partition, broker)
            case actions.Freeze() | actions.Thaw() | actions.Lag() | actions.ThrottleFollowers():
                self._let_follow(action, whom)
            case actions.Stop() | actions.Kill() | actions.Pause() | actions.Resume() | actions.Start():
                self._change_life(action, whom.broker_id if action.broker is None else action.broker)
            case _:
                return False
        return True

    def _change_life(self, action: actions._OfBroker, broker_id: int) -> None:
        lives, now = self._lives, self._lives.now
        match action:
            case actions.Stop():
                lives.stop_broker(broker_id, now)
            case actions.Kill():
                lives.kill_broker(broker_id, now)
            case actions.Pause():
                lives.pause_broker(broker_id, now)
            case actions.Resume():
                lives.resume_broker(broker_id, now)
            case actions.Start():
                lives.start_broker(broker_id, now)

    def _partitions(self, action: actions._OfPartition, whom: Whom) -> list[Partition]:
        named = whom.partitions
        if action.topic is not None:
            topic = self._lives.controller.existing(action.topic)
            indexes = range(len(topic.partitions)) if action.partition is None else [action.partition]
            named = [(action.topic, index) for index in indexes]
        found = []
        for name, index in dict.fromkeys(named):
            partition = self._lives.metadata.find_partition(name, index)
            if partition is None:
                raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no partition {name}-{index}.")
            found.append(partition)
        return found

    def _move(self, partition: Partition, broker_id: int | None) -> None:
        topic_partition = partition.topic_partition
        if broker_id is None:
            alive = self._lives.registry.is_alive
            others = [id_ for id_ in partition.isr_ids if id_ != partition.leader_id and alive(id_)]
            if not others:
                raise KafkaError(
                    ErrorCode.eligible_leaders_not_available, f"No other replica is in the ISR of {topic_partition}."
                )
            broker_id = others[0]
        self._lives.controller.move_leader(topic_partition, broker_id, self._lives.now)

    def _move_coordinators(self, broker_id: int | None, whom: Whom) -> None:
        broker = self._lives.brokers.get(whom.broker_id)
        if broker is None:
            return
        places = [("__consumer_offsets", broker.groups.partition_for(group)) for group in whom.groups]
        states = broker.transactions.states
        places += [("__transaction_state", states.partition_for(name)) for name in whom.transactional_ids]
        for topic, index in places:
            partition = self._lives.metadata.find_partition(topic, index)
            if partition is None:
                raise KafkaError(ErrorCode.coordinator_not_available, f"No client has requested {topic}-{index} yet.")
            self._move(partition, broker_id)

    def _shrink(self, partition: Partition, broker_id: int | None) -> None:
        leader_id = partition.leader_id
        gone = partition.isr - {leader_id} if broker_id is None else {broker_id}
        if leader_id in gone:
            raise KafkaError(ErrorCode.invalid_request, f"Broker {broker_id} leads {partition.topic_partition}.")
        moved = partition.update_isr(partition.isr - gone, self._lives.now.mono_ms)
        if moved or maybe_shrink_isr(partition, self._lives.now.mono_ms):
            self._lives._wakeups.try_complete_delayed_requests(partition)

    def _let_follow(self, action: actions._OfFollowers, whom: Whom) -> None:
        behaviour: Behaviour | None = None
        match action:
            case actions.Freeze():
                behaviour = FROZEN
            case actions.Lag(ms=ms):
                behaviour = Behaviour.lagging(ms)
            case actions.ThrottleFollowers(bytes_per_s=rate):
                behaviour = Behaviour.throttled(rate)
        for partition in self._partitions(action, whom):
            selection = Selection(*partition.topic_partition, action.broker)
            self._lives.followers.set_behaviour(behaviour, selection, self._lives.now)
