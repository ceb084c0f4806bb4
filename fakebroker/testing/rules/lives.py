"""The rules of brokers' lives in their simplest form: sets of brokers, and the ends of sessions.

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
Units    milliseconds since the start.
Source   BrokerHeartbeatManager, ReplicationControlManager of Kafka 4.4, as described.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from fakebroker.testing.messages import ClientFetch, ClientProduce, Key, MarkersRequest, Request
from fakebroker.testing.oracle_partition import OraclePartition
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.rules.sockets import InFlightFetch, sent_by, take, without, written

RUNNING, PAUSED, STOPPING, STOPPED, KILLED, STARTING = "running", "paused", "stopping", "stopped", "killed", "starting"


class OracleConnection:
    def __init__(self, broker: int) -> None:
        self.broker, self.is_open = broker, True
        self.queue: deque[Request] = deque()
        self.in_hand: int | None = None


class OracleParkedRequest:
    """A parked request of a broker. `pending` has the offsets that the high watermark must reach. `gone` are partitions
    deleted while the broker was paused, which it learns before it learns of a new topic of that name."""

    def __init__(
        self, request: ClientProduce | MarkersRequest | ClientFetch, connection: int, broker: int, deadline: int
    ) -> None:
        self.request, self.connection, self.broker, self.deadline = request, connection, broker, deadline
        self.pending: dict[Key, int] = {}
        self.decided: dict[Key, tuple[int, int]] = {}
        self.gone: set[Key] = set()
        self.is_done = False


class BrokerLives:
    """The brokers. `alive` are alive for the controller, `working` really work. `sessions` has the ends of the sessions
    of silent brokers."""

    def __init__(self, brokers: Sequence[int], session_ms: int) -> None:
        self.now = 0
        self.session_ms = session_ms
        self.alive, self.working = set(brokers), set(brokers)
        self.states = dict.fromkeys(brokers, RUNNING)
        self.sessions: dict[int, int] = {}
        self.killed: set[int] = set()  # and not started since
        self.leaving: dict[int, set[int]] = {}  # stopping brokers, and the brokers that each waits for
        self.going: set[int] = set()  # stopping brokers, until they are fenced: they may have been killed
        self.partitions: dict[Key, OraclePartition] = {}
        self.all_partitions: list[OraclePartition] = []
        self.sockets: dict[int, list[InFlightFetch]] = {}  # of paused brokers
        self.connections: dict[int, OracleConnection] = {}
        self.waiting: list[OracleParkedRequest] = []

    def begin_to_stop(self, broker: int) -> None:
        """Move all leaderships away from the broker: its parked requests complete."""
        leads = any(partition.leader == broker for partition in self.all_partitions)
        self.states[broker] = STOPPING
        self.going.add(broker)
        self.leaving[broker] = self.alive - self.working if leads else set()
        self._works_no_more(broker)
        self._fence(broker)
        self.look()

    def stop(self, broker: int) -> None:
        """Finish the stop, unless the broker has to wait."""
        if not self.leaving[broker]:
            del self.leaving[broker]
            self.going.discard(broker)
            self.states[broker] = STOPPED
            self._drop(broker)

    def _is_known(self, other: int) -> None:
        """Record that `other` knows the new leaders, or is fenced."""
        for broker in list(self.leaving):
            self.leaving[broker].discard(other)
            self.stop(broker)

    def kill(self, broker: int) -> None:
        self.sockets.pop(broker, None)
        if self.states[broker] != STARTING:
            if self.leaving.pop(broker, None):
                self.sessions[broker] = self.now + self.session_ms
            self._silent(broker)
            self._drop(broker)
        self.states[broker] = KILLED
        self.killed.add(broker)
        self.look()

    def pause(self, broker: int) -> None:
        self.states[broker] = PAUSED
        self.sockets[broker] = sent_by(broker, self.partitions, self.now)
        self._silent(broker)
        self.look()

    def writes(self, broker: int) -> None:
        """Record that the broker has handled a request that wrote records."""
        for follower, fetches in self.sockets.items():
            self.sockets[follower] = [written(sent, broker, self.partitions, self.now) for sent in fetches]

    def forget(self, topic: str) -> None:
        """Forget a deleted topic."""
        for follower, fetches in self.sockets.items():
            self.sockets[follower] = [without(sent, topic) for sent in fetches]

    def resume(self, broker: int) -> None:
        for sent in self.sockets.pop(broker):
            take(broker, sent, self.partitions, self.now)
        self.working.add(broker)
        for partition in self.all_partitions:
            if partition.leader == broker and not partition.is_begun:
                partition.begin(self.now)
        self._reach(broker)
        self.look()
        self._expire_late(broker)
        self.states[broker] = RUNNING
        self.look()
        self.sessions.pop(broker, None)
        self._is_known(broker)
        if broker not in self.alive:
            self._unfence(broker)
        self._serve(broker)

    def start(self, broker: int) -> None:
        self.states[broker] = STARTING
        if broker not in self.sessions:
            self._come_up(broker)

    def session_over(self, broker: int) -> None:
        del self.sessions[broker]
        self.going.discard(broker)
        self._fence(broker)
        self.look()
        self._is_known(broker)
        if self.states[broker] == STARTING:
            self._come_up(broker)

    # Implemented by the rest of the oracle.

    def look(self) -> None:
        raise NotImplementedError

    def look_at(self, number: int) -> None:
        """Handle sent bytes of a connection that need no handling by the broker."""
        raise NotImplementedError

    def close(self, number: int) -> None:
        raise NotImplementedError

    def expire(self, waiting: OracleParkedRequest) -> None:
        raise NotImplementedError

    def _drop(self, broker: int) -> None:
        for number, connection in self.connections.items():
            if connection.broker == broker and connection.is_open:
                self.close(number)
        self.waiting = [waiting for waiting in self.waiting if waiting.broker != broker]

    def _expire_late(self, broker: int) -> None:
        for waiting in [waiting for waiting in self.waiting if waiting.broker == broker]:
            if waiting.deadline <= self.now:
                self.expire(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]

    def _serve(self, broker: int) -> None:
        for number, connection in self.connections.items():
            if connection.broker == broker and connection.is_open:
                self.look_at(number)

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
        self.look()

    def _reach(self, broker: int) -> None:
        """Restart the fetches of its replicas, and those from it."""
        for partition in self.all_partitions:
            if partition.leader == broker:
                partition.move_watermark(self.now)
            for follower, _ in partition.followers():
                if broker in (follower, partition.leader):
                    partition.start_over(follower, self.now)
