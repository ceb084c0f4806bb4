"""All followers of a cluster: made with the partitions, informed of their changes, and controlled by the user.

Theory   Every replica has an actor (follower.py), the leader's too: it rests while its replica leads. The user selects
         followers by topic, partition and broker; an omitted one means all. A behaviour set without topic and partition
         also holds for topics made later. Every behaviour holds for replicas that a partition gets later. A script is a
         list of (milliseconds from now, behaviour) for one selection. A follower obeys the newest command that
         concerned it. Later steps of older commands have no effect on it.
Units    monotonic milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from fakebroker.core.arguments import WHOLE_NUMBER, require
from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.purgatory.deadlines import TimerDeadlines
from fakebroker.core.quota.replication import ReplicationQuotas
from fakebroker.core.replication.behaviour import EVERYBODY, FROZEN, INSTANT, MAX_LAG_MS, Behaviour, Command, Selection
from fakebroker.core.replication.follower import Follower
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.standing_still.unread_answers import UnreadAnswer
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish
from timingwheel import TimerTask

_PARTITIONS_OF_A_SLICE: Final = 64  # with some followers each


class FollowerSet:
    def __init__(
        self,
        behaviour: Behaviour,
        deadlines: TimerDeadlines,
        wakeups: Wakeups,
        now: Callable[[], Now],
        brokers: BrokerRegistry,
        quotas: ReplicationQuotas,
    ) -> None:
        """Create the set. `deadlines` is the timer of the followers; no client waits for a step of a script."""
        self.behaviour = behaviour  # of topics made later
        self._before_freeze = INSTANT if behaviour == FROZEN else behaviour
        self._deadlines = deadlines
        self._timer = deadlines.timer
        self._wakeups = wakeups
        self._now = now
        self._brokers = brokers
        self.quotas = quotas
        self._followers: dict[Partition, list[Follower]] = {}
        self.unaware: frozenset[int] = frozenset()  # brokers that do not learn of partitions made now
        self._reach_changes = 0
        self._unread: dict[int, dict[int, UnreadAnswer]] = {}  # of paused brokers
        self._commands = 0
        self._newest_for_all = Command(EVERYBODY, 0)
        # The last command for each selection, the newest last: for replicas that come later.
        self._standing: dict[Selection, tuple[Command, Behaviour]] = {}

    def of_broker(self, partition: Partition, broker_id: int) -> Follower:
        """Return the actor of the replica on that broker."""
        followers = self._followers[partition]
        return next(follower for follower in followers if follower.broker_id == broker_id)

    # Changes of partitions.

    @property
    def made_for(self) -> tuple[Behaviour, frozenset[int], int, Command]:
        """The state for which `new_for` made followers. Once it changes they cannot be added."""
        return self.behaviour, self.unaware, self._reach_changes, self._newest_for_all

    def new_for(self, partition: Partition) -> list[Follower]:
        """Return the actors of a new partition, to be added once it is published."""
        partition.unaware = self.unaware
        return [self._new(partition, broker_id) for broker_id in partition.replicas]

    def add(self, partition: Partition, followers: list[Follower]) -> None:
        self._followers[partition] = followers

    def _new(self, partition: Partition, broker_id: int) -> Follower:
        follower = Follower(partition, broker_id, self.behaviour, self._timer, self._wakeups, self._now, self.quotas)
        follower.obeys = self._newest_for_all
        return follower

    def add_stale(self, stale: Partition, truth: Partition, broker_ids: Sequence[int], now: Now) -> None:
        """Let these brokers, and their followers, go on with a stale view of the partition."""
        followers = self._followers[stale] = []
        for follower in self._followers[truth]:
            if follower.broker_id in broker_ids:
                other = self._new(stale, follower.broker_id)
                other.obeys = follower.obeys
                other.start_with(follower.behaviour)
                followers.append(other)
                other.on_leader_change(now)

    def leaves_stale(self, stale: Partition, broker_id: int) -> None:
        """Remove a broker that no longer has the stale view."""
        followers = self._followers[stale]
        for follower in [follower for follower in followers if follower.broker_id == broker_id]:
            followers.remove(follower)
            follower.stop()

    def on_replicas_change(self, partition: Partition) -> None:
        """Stop the actors of removed replicas, and start new ones with the last command for them. The caller then
        informs them of the leader."""
        before = {follower.broker_id: follower for follower in self._followers[partition]}
        followers: list[Follower] = []
        for broker_id in partition.replicas:
            follower = before.pop(broker_id, None)
            if follower is None:
                follower = self._new(partition, broker_id)
                command, behaviour = self._standing_of(follower)
                follower.obeys = command
                follower.start_with(behaviour)
            followers.append(follower)
        self._followers[partition] = followers
        for follower in before.values():
            follower.stop()

    def _standing_of(self, follower: Follower) -> tuple[Command, Behaviour]:
        """Return the newest command that concerns a follower, and its last behaviour."""
        for command, behaviour in reversed(self._standing.values()):
            if _has(command.selection, follower):
                return command, behaviour
        return self._newest_for_all, self.behaviour

    def remove(self, partition: Partition) -> None:
        for follower in self._followers.pop(partition):
            follower.stop()
        if partition.truth is not None:
            return
        topic = partition.topic_partition.topic
        if partition.topic_partition.partition == 0:  # the whole topic is gone
            for selection in [selection for selection in self._standing if selection.topic == topic]:
                del self._standing[selection]

    def on_leader_append(self, partition: Partition, now: Now) -> None:
        for follower in self._followers.get(partition, ()):
            follower.on_leader_append(now)

    def on_log_start_moved(self, partition: Partition, now: Now) -> None:
        for follower in self._followers.get(partition, ()):
            follower.on_log_start_moved(now)

    def on_leader_change(self, partition: Partition, now: Now) -> None:
        for follower in self._followers[partition]:
            follower.on_leader_change(now)

    def on_reach_change(self, now: Now) -> None:
        """React to a change of which brokers work, or which broker can reach which."""
        self._reach_changes += 1
        for followers in list(self._followers.values()):
            for follower in followers:
                follower.on_reach_change(now)

    def begin_reach_change(self) -> None:
        """Note that a broker works from now on, or works no more; `on_reach_change_of` each partition comes next."""
        self._reach_changes += 1

    def on_reach_change_of(self, partition: Partition, now: Now) -> None:
        """React to a broker that reaches others again, or none, or has another view of the partition."""
        for view in self._views_of(partition):
            for follower in self._followers[view]:
                follower.on_reach_change(now)

    def _views_of(self, partition: Partition) -> list[Partition]:
        return [partition] if partition.stale is None else [partition, *partition.stale.values()]

    def keep_fetch(self, partition: Partition, broker_id: int, config: BrokerConfig, now: Now) -> None:
        """React to a broker that is about to be paused. Its fetches stay parked at the leaders."""
        answers = self._unread.setdefault(broker_id, {})
        for view in self._views_of(partition):
            for follower in self._followers[view]:
                if follower.broker_id == broker_id and follower.waits_in_fetch:
                    if view.leader_id not in answers:
                        answers[view.leader_id] = UnreadAnswer(broker_id, config)
                    follower.unread = answers[view.leader_id]
                    follower.unread.ask(view, now)

    def goes_on(self, broker_id: int, now: Now) -> None:
        """React to the end of a pause: take the responses that lie in the broker's sockets."""
        for answer in self._unread.pop(broker_id, {}).values():
            answer.take(now)

    def is_gone(self, broker_id: int) -> None:
        """React to the end of a pause where the responses are lost."""
        for answer in self._unread.pop(broker_id, {}).values():
            answer.drop()

    def on_rates_change_in_slices(self) -> Slices[None]:
        """React to altered rates of throttled replicas."""
        self.quotas.configure()
        for number, partition in enumerate(list(self._followers), 1):
            self.on_configs_change(partition)
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield

    def on_configs_change(self, partition: Partition) -> None:
        """React to altered settings of the topic: other replicas may be throttled."""
        now = self._now()
        for follower in self._followers.get(partition, ()):
            follower.on_throttle_change(now)

    # Commands of the user.

    def set_behaviour(self, behaviour: Behaviour | None, selection: Selection, now: Now) -> None:
        """Change the behaviour of the selected followers. None undoes a freeze. Raise KafkaError if the selection is
        empty, because a change that changes nothing is a slip."""
        finish(self.script_in_slices([(0, behaviour)], selection, now))

    def script_in_slices(
        self,
        steps: Sequence[tuple[Any, Behaviour | None]],
        selection: Selection,
        now: Now,
    ) -> Slices[None]:
        """Set each step's behaviour at its time, counted from now. A step does not affect a follower that got a newer
        command, or one of a later topic (unless all are selected). Raise TypeError or ValueError, and do nothing, for a
        time that is no whole number, before now or out of order."""
        times_ms = [at_ms for at_ms, _ in steps]
        for at_ms in times_ms:
            require(WHOLE_NUMBER, **{"a time of a script": at_ms})
        if not times_ms or times_ms != sorted(times_ms) or not 0 <= times_ms[0] <= times_ms[-1] <= MAX_LAG_MS:
            raise ValueError(
                f"the times of a script must be increasing milliseconds from now, 0 to {MAX_LAG_MS}, not {times_ms}"
            )
        self._check(selection)
        self._commands += 1
        command = Command(selection, self._commands)
        if selection == EVERYBODY:
            self._newest_for_all = command
        for at_ms, behaviour in steps:
            if at_ms == 0:
                self._begin(behaviour, command)
            else:
                self._deadlines.unawaited += 1
                self._timer.add(_ScriptStep(at_ms, self, behaviour, command), now.mono_ms)
        for number, partition in enumerate(list(self._followers), 1):
            self._let_obey(partition, command)
            for stale in self._views_of(partition)[1:]:  # they may have begun between two slices
                self._let_obey(stale, command)
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield

    def _let_obey(self, partition: Partition, command: Command) -> None:
        for follower in self._followers.get(partition, ()):
            if follower.obeys.number < command.number and _has(command.selection, follower):
                follower.obeys = command
                for behaviour in command.done:  # also steps that became due between two slices
                    follower.set_behaviour(behaviour or follower.before_freeze, self._now())

    def _check(self, selection: Selection) -> None:
        if (selection.topic, selection.partition) == (None, None):
            is_somebody = selection.broker_id is None or selection.broker_id in self._brokers.broker_ids
        else:
            is_somebody = any(
                _has(selection, follower) and not follower.leads
                for partition, followers in self._followers.items()
                if selection.topic in (None, partition.topic_partition.topic)
                for follower in followers
            )
        if not is_somebody:
            named = {"topic": selection.topic, "partition": selection.partition, "broker": selection.broker_id}
            said = ", ".join(f"{name}={value!r}" for name, value in named.items() if value is not None)
            why = "there is no such topic" if selection.partition is None else "there is no such partition"
            if selection.topic is None and selection.partition is None:
                why = "there is no such broker"
            elif selection.broker_id is None:
                why += ", or nothing of it has a second replica"
            else:
                why += ", or nothing of it has a replica there that follows"
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"No follower has {said}: {why}.")

    def run_step(self, behaviour: Behaviour | None, command: Command) -> None:
        """Do a later step of a script."""
        if command.selection == EVERYBODY and command is not self._newest_for_all:
            return
        self._begin(behaviour, command)
        for followers in list(self._followers.values()):
            for follower in followers:
                if follower.obeys is command:
                    follower.set_behaviour(behaviour or follower.before_freeze, self._now())

    def _begin(self, behaviour: Behaviour | None, command: Command) -> None:
        command.done.append(behaviour)
        if command.selection == EVERYBODY:
            self.behaviour = behaviour or self._before_freeze
            if self.behaviour != FROZEN:
                self._before_freeze = self.behaviour
        self._stands(command, behaviour)

    def _stands(self, command: Command, behaviour: Behaviour | None) -> None:
        selection = command.selection
        if selection == EVERYBODY:
            self._standing.clear()
            return
        before = self._standing.get(selection)
        if before is not None and before[0] is not command and behaviour is not None:
            del self._standing[selection]
        self._standing[selection] = (command, behaviour or self._before_freeze)


class _ScriptStep(TimerTask):
    __slots__ = ("_behaviour", "_command", "_followers")

    def __init__(self, delay_ms: int, followers: FollowerSet, behaviour: Behaviour | None, command: Command) -> None:
        super().__init__(delay_ms)
        self._followers = followers
        self._behaviour = behaviour
        self._command = command

    def run(self) -> None:
        self._followers._deadlines.unawaited -= 1
        self._followers.run_step(self._behaviour, self._command)


def _has(selection: Selection, follower: Follower) -> bool:
    topic, partition = follower.partition.topic_partition
    return selection.has(topic, partition, follower.broker_id)
