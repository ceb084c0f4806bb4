"""The oracle: the responses of a Kafka cluster and their times, by a second, simple version of its rules.

Theory   There are no timers, watch lists, decoders or callbacks. Time is a number, and after every event each waiting
         request is checked again. It imports nothing from the broker, so the two agree only if both are right. The
         broker chooses the order in which it serves free connections: it reports each one (`handle`), and the oracle
         checks that it is allowed. worlds.py handles what the rules leave open.
Rules    stop    its leaderships move or end, and parked requests there get 6; then it closes. If it led anything, it
                 first waits for the brokers that are silent at that time: each must return or be fenced

         kill    its connections close without responses; it stays in the ISR, and leads, until its session ends
         pause   it reads and answers nothing, and its timers stop; its session continues

         resume  it takes what is in its sockets (sockets.py), and its replication continues. First late timeouts
                 expire, then parked requests complete that are satisfied or have lost their leader. It gets missed
                 metadata at once (fakebroker.metadata.delay.ms=0)

         start   at once, or when the session of its last life has ended

         A replica fetches while its broker and its leader's broker work. A broker that is not alive leads nothing and
         joins no ISR.

         The ISR is checked every half of the maximum lag. The other rules are in rules/requests.py and
         oracle_partition.py.
Units    milliseconds since the start.
Source   BrokerHeartbeatManager, ReplicationControlManager of Kafka 4.4, as described.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.testing.messages import Key
from fakebroker.testing.oracle_partition import INSTANT, OraclePartition
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.rules.requests import (
    KILLED,
    PAUSED,
    RUNNING,
    STARTING,
    STOPPED,
    STOPPING,
    OracleBrokers,
    OracleRequests,
)
from fakebroker.testing.rules.sockets import InFlightFetch, sent_by, take, without, written

SESSION: Key = ("", 0)  # instead of a partition: the session of a broker ends


class Oracle(OracleBrokers):
    """One world. `alive` are the brokers that are alive for the controller, `working` those that really work.
    `sessions` has the ends of the sessions of silent brokers."""

    def __init__(self, brokers: Sequence[int], lag_max_ms: int, session_ms: int = 9_000) -> None:
        self.now = 0
        self.brokers, self.lag_max_ms, self.session_ms = list(brokers), lag_max_ms, session_ms
        self.next_tick = max(lag_max_ms // 2, 1)
        self.default_lag: int | None = INSTANT
        self.alive, self.working = set(brokers), set(brokers)
        self.states = dict.fromkeys(brokers, RUNNING)
        self.sessions: dict[int, int] = {}
        self.killed: set[int] = set()  # and not started since
        self.leaving: dict[int, set[int]] = {}  # stopping brokers, and the brokers that each waits for
        self.going: set[int] = set()  # stopping brokers, until they are fenced: they may have been killed
        self.partitions: dict[Key, OraclePartition] = {}
        self.all_partitions: list[OraclePartition] = []
        self.sockets: dict[int, list[InFlightFetch]] = {}  # of paused brokers
        self.requests = OracleRequests(self)

    # Actions of users.

    def create_topic(self, topic: str, partitions: int, replicas: int, min_isr: int, unclean: bool = False) -> None:
        alive = [b for b in self.brokers if b in self.alive]
        dead = [b for b in self.brokers if b not in self.alive | self.going]
        for index in range(partitions):
            turned = [names[(index + i) % len(names)] for names in (alive, dead) for i in range(len(names))]
            partition = OraclePartition(turned[:replicas], self.alive, min_isr, unclean, self.lag_max_ms, self.working)
            for replica in partition.replicas.values():
                replica.lag_ms = self.default_lag
            in_sync = [b for b in partition.replicas if b in self.alive]
            partition.lead(in_sync[0], set(in_sync), self.now)
            self.partitions[topic, index] = partition
        self.all_partitions = list(self.partitions.values())

    def delete_topic(self, topic: str) -> None:
        self.requests.forget(topic)
        for follower, fetches in self.sockets.items():
            self.sockets[follower] = [without(sent, topic) for sent in fetches]
        self.partitions = {key: partition for key, partition in self.partitions.items() if key[0] != topic}
        self.all_partitions = list(self.partitions.values())
        self.requests.look()

    def selected(self, topic: str | None, index: int | None, broker: int | None) -> list[tuple[OraclePartition, int]]:
        return [
            (partition, who)
            for (name, number), partition in self.partitions.items()
            if topic in (None, name) and index in (None, number)
            for who in partition.replicas
            if broker in (None, who)
        ]

    def set_followers(self, lag_ms: int | None, topic: str | None, index: int | None, broker: int | None) -> None:
        if (topic, index, broker) == (None, None, None):
            self.default_lag = lag_ms
        for partition, who in self.selected(topic, index, broker):
            replica = partition.replicas[who]
            replica.lag_ms = lag_ms
            replica.under_way.clear()
            is_following = who in (b for b, _ in partition.followers())
            if is_following and replica.end < partition.replicas[partition.leader].end:
                partition.take(who, self.now)
        self.requests.look()

    def move_leader(self, key: Key, broker: int) -> None:
        partition = self.partitions[key]
        if partition.leader != broker:
            partition.lead(broker, partition.isr, self.now)
        self.requests.look()

    # The lives of brokers.

    def begin_to_stop(self, broker: int) -> None:
        """Move all leaderships away from the broker: its parked requests complete."""
        leads = any(partition.leader == broker for partition in self.all_partitions)
        self.states[broker] = STOPPING
        self.going.add(broker)
        self.leaving[broker] = self.alive - self.working if leads else set()
        self._works_no_more(broker)
        self._fence(broker)
        self.requests.look()

    def stop(self, broker: int) -> None:
        """Finish the stop, unless the broker has to wait."""
        if not self.leaving[broker]:
            del self.leaving[broker]
            self.going.discard(broker)
            self.states[broker] = STOPPED
            self.requests.drop(broker)

    def kill(self, broker: int) -> None:
        self.sockets.pop(broker, None)
        if self.states[broker] != STARTING:
            if self.leaving.pop(broker, None):
                self.sessions[broker] = self.now + self.session_ms
            self._silent(broker)
            self.requests.drop(broker)
        self.states[broker] = KILLED
        self.killed.add(broker)
        self.requests.look()

    def pause(self, broker: int) -> None:
        self.states[broker] = PAUSED
        self.sockets[broker] = sent_by(broker, self.partitions, self.now)
        self._silent(broker)
        self.requests.look()

    def resume(self, broker: int) -> None:
        for sent in self.sockets.pop(broker):
            take(broker, sent, self.partitions, self.now)
        self.working.add(broker)
        for partition in self.all_partitions:
            if partition.leader == broker and not partition.is_begun:
                partition.begin(self.now)
        self._reach(broker)
        self.requests.look()
        self.requests.expire([broker])
        self.states[broker] = RUNNING
        self.requests.look()
        self.sessions.pop(broker, None)
        self._is_known(broker)
        if broker not in self.alive:
            self._unfence(broker)
        self.requests.serve(broker)

    def start(self, broker: int) -> None:
        self.states[broker] = STARTING
        if broker not in self.sessions:
            self._come_up(broker)

    def session_over(self, broker: int) -> None:
        del self.sessions[broker]
        self.going.discard(broker)
        self._fence(broker)
        self.requests.look()
        self._is_known(broker)
        if self.states[broker] == STARTING:
            self._come_up(broker)

    def writes(self, broker: int) -> None:
        """Record that the broker has handled a request that wrote records."""
        for follower, fetches in self.sockets.items():
            self.sockets[follower] = [written(sent, broker, self.partitions, self.now) for sent in fetches]

    def _is_known(self, other: int) -> None:
        """Record that `other` knows the new leaders, or is fenced."""
        for broker in list(self.leaving):
            self.leaving[broker].discard(other)
            self.stop(broker)

    def _works_no_more(self, broker: int) -> None:
        for partition in self.all_partitions:
            if broker in partition.replicas:
                partition.lose_touch(broker, self.now)
        self.working.discard(broker)

    def _silent(self, broker: int) -> None:
        if broker in self.working:
            self._works_no_more(broker)
            if broker in self.alive:
                self.sessions[broker] = self.now + self.session_ms

    def _fence(self, broker: int) -> None:
        self.alive.discard(broker)
        for partition in self.all_partitions:
            if broker in partition.isr:
                partition.elect(partition.isr - {broker}, self.now)

    def _come_up(self, broker: int) -> None:
        if broker in self.killed:
            self.killed.discard(broker)
            for partition in self.all_partitions:
                if broker in partition.isr | partition.elr:
                    partition.elect(partition.isr - {broker}, self.now, broker)
        self.states[broker] = RUNNING
        self.working.add(broker)
        self._unfence(broker)

    def _unfence(self, broker: int) -> None:
        self.alive.add(broker)
        for partition in self.all_partitions:
            if partition.leader == NOBODY:
                partition.elect(set(partition.isr), self.now)
        self._reach(broker)
        self.requests.look()

    def _reach(self, broker: int) -> None:
        """Restart the fetches of its replicas, and those from it."""
        for partition in self.all_partitions:
            if partition.leader == broker:
                partition.move_watermark(self.now)
            for follower, _ in partition.followers():
                if broker in (follower, partition.leader):
                    partition.start_over(follower, self.now)

    # Time.

    def next_due(self) -> int:
        times = [self.next_tick, *self.requests.deadlines(), *self.sessions.values()]
        times += [r.under_way[0][0] for p in self.partitions.values() for r in p.replicas.values() if r.under_way]
        return min(times)

    def run(self, at: int, order: Sequence[tuple[Key, int]]) -> None:
        """Apply what is due now, in this order, then the timeouts."""
        self.now = at
        for key, broker in order:
            if key == SESSION:
                self.session_over(broker)
                continue
            partition = self.partitions[key]
            if broker == NOBODY:
                if lagging := partition.lagging(at):
                    partition.change_isr(partition.isr - lagging)
                    partition.move_watermark(at)
            else:
                under_way = partition.replicas[broker].under_way
                end = 0
                while under_way and under_way[0][0] <= at:
                    end = under_way.popleft()[1]
                partition.fetch(broker, end, at)
            self.requests.look()
        if self.next_tick <= at:
            self.next_tick += max(self.lag_max_ms // 2, 1)
        self.requests.expire([broker for broker, state in self.states.items() if state != PAUSED])
