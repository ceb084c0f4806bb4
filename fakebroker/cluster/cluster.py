"""The cluster: brokers, topics, followers, connections, and the three doors through which time comes in.

Theory   `receive` (bytes), `advance_to` (time) and `open_connection`/`connection_lost` are all that ever happens to it.
         Each door leaves effects behind (`take_effects`) and a next deadline (`next_deadline_ms`). The same calls with
         the same times give the same effects: nothing in here waits, looks at a clock or draws without the seed.
         `advance_to` runs every event at its own time, in order of time; at the same millisecond followers come before
         housekeeping and that before timeouts, so what was replicated in time counts as in time.
Units    milliseconds (`Now`).
Source   The roles of BrokerServer, KRaft's controller and ReplicaManager's scheduler, in one object.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

from fakebroker.apis.context import NewTopic
from fakebroker.cluster.housekeeping import start_housekeeping
from fakebroker.cluster.reconfigurables import register_reconfigurables
from fakebroker.cluster.recording import parts
from fakebroker.core.broker.broker import Node
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.controller import (
    start_isr_expiration,
    start_leader_balancing,
    start_unclean_elections,
)
from fakebroker.core.controller.topics import Topic
from fakebroker.core.journal.events import TimerFired
from fakebroker.core.journal.journal import Journal
from fakebroker.core.quota.client_quotas import ClientQuotas
from fakebroker.core.quota.quota import QuotaManagers
from fakebroker.core.replication.behaviour import INSTANT, Behaviour
from fakebroker.core.replication.followers import FollowerSet, Selection
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Effect, InternalError, Warn
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel import SystemTimer

PRODUCER_ID_BLOCK = 1000  # ids a broker takes from the controller at once


class Cluster(HasNow):
    """A Kafka cluster without a network. Brokers have the ids 1 to `brokers`. What happens is told to the journal."""

    def __init__(
        self,
        now: Now,
        brokers: int = 3,
        config: BrokerConfig | None = None,
        followers: Behaviour = INSTANT,
        seed: int = 0,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(now)
        self.broker_configs = DynamicBrokerConfig(config or BrokerConfig())
        self._advanced_ms = now.mono_ms
        self._random = Random(seed)
        self.cluster_id = urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")
        self._timer = SystemTimer(now.mono_ms)
        self._housekeeping_timer = SystemTimer(now.mono_ms)
        self.deadlines_met = 0  # all but housekeeping
        self._effects: list[Effect] = []
        self._producer_id_blocks = count(0, PRODUCER_ID_BLOCK)
        self._journal = journal
        self._parts = parts(journal, self)
        broker_ids = range(1, brokers + 1)
        self.nodes: dict[int, Node] = {}
        self.controller = self._parts.controller(broker_ids, self.config, self._random, self.nodes)
        self.controller.log_memory.on_first_deletion = self._warn
        self.followers = FollowerSet(followers, self._timer, self.nodes, self._read_now)
        self.controller.followers = self.followers
        for broker_id in broker_ids:
            self.nodes[broker_id] = Node(broker_id, self._new_replica_manager(broker_id), QuotaManagers(self.config))
        self.client_quotas = ClientQuotas(lambda: (node.quotas for node in self.nodes.values()))
        self.sockets = self._parts.socket_server(
            self.nodes, self.config, self._timer, self._effects.append, self._handle, self, self._housekeeping_timer
        )
        self._dispatcher = self._parts.dispatcher(self, self.sockets, self._effects.append)
        start_isr_expiration(self.controller, self._housekeeping_timer, self._read_now)
        start_leader_balancing(self.controller, self._housekeeping_timer, self._read_now)
        start_unclean_elections(self.controller, self._housekeeping_timer, self._read_now)
        start_housekeeping(self._housekeeping_timer, self.broker_configs, self.controller.partitions, self._read_now)
        register_reconfigurables(self.broker_configs, self.controller, self.sockets, self.nodes)
        if names := self.config.without_effect:
            self._warn(f"kept and shown only, without effect here: {', '.join(names)}")

    # The doors.

    def open_connection(self, broker_id: int, peer: str, now: Now, address: str = "") -> Connection:
        """A client has connected to a broker, from an IP address. If the broker has just stopped, the connection is
        closed at once."""
        self.now = now
        connection = self.sockets.open(broker_id, peer, address)
        if not self.is_running(broker_id):
            self.sockets.close(connection, f"broker {broker_id} has stopped")
        self._run_ready()
        return connection

    def receive(self, connection: Connection, data: bytes | memoryview, now: Now) -> None:
        """Bytes have arrived, maybe where the connection's decoder wanted them; handle what requests they complete, one
        at a time."""
        self.now = now
        self.sockets.receive(connection, data)

    def set_write_blocked(self, connection: Connection, blocked: bool, now: Now) -> None:
        """The peer stopped taking its answers, or takes them again: the last one is completely written."""
        self.now = now
        self.sockets.set_write_blocked(connection, blocked)

    def connection_lost(self, connection: Connection, now: Now) -> None:
        """The peer has gone. What it asked for stays done; a parked request stays parked, its answer is dropped."""
        self.now = now
        self.sockets.lost(connection)

    def advance_to(self, now: Now, handled_at: Now | None = None) -> None:
        """Run everything that is due by `now`, each event at its own time.

        Then handle the requests that waited behind what was answered, at `handled_at` (`now` if not given). Their
        timeouts start when they are handled: if time comes in late, that is later than the events that let them in.
        """
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now.mono_ms:
            # What was due when it was added has a deadline in the past; time does not go back for it.
            step_ms = self._advanced_ms = max(deadline_ms, self._advanced_ms)
            self.now = now.at(step_ms)
            try:
                met = self._timer.advance_clock(step_ms)
                tasks = self._housekeeping_timer.advance_clock(step_ms)
                for node in self.nodes.values():
                    met += node.replica_manager.advance_clock(step_ms)
                self.deadlines_met += met
                if self._journal is not None and met + tasks:
                    self._journal.append(TimerFired(self.now.mono_ms, self.now.wall_ms, met + tasks, now.mono_ms))
            except Exception as error:
                # The timers are consistent: what else is due runs in the next turn of this loop.
                self._effects.append(InternalError("a timer's task", error))
        self._advanced_ms = max(now.mono_ms, self._advanced_ms)
        self.now = handled_at or now
        self._run_ready()

    def next_deadline_ms(self) -> int | None:
        """When `advance_to` next has something to do."""
        earliest = _earlier(self._timer.next_deadline_ms(), self._housekeeping_timer.next_deadline_ms())
        for node in self.nodes.values():
            manager = node.replica_manager
            earliest = _earlier(earliest, manager.produce_purgatory.next_deadline_ms())
            earliest = _earlier(earliest, manager.fetch_purgatory.next_deadline_ms())
        return earliest

    @property
    def has_deadlines(self) -> bool:
        """Whether anything is pending but housekeeping: a request that waits, a connection that is muted, a batch on
        its way to a follower, a step of a follower's script."""
        return self._timer.size > 0 or any(node.replica_manager.num_delayed for node in self.nodes.values())

    @property
    def is_awaited(self) -> bool:
        """Whether somebody would be served sooner if time were skipped. A consumer would not: it asks for ever, and is
        told of what comes in any case. Nor would the steps of a script: they wait for what the user does before."""
        return self._timer.size > self.followers.steps_to_come or any(
            node.replica_manager.produce_purgatory.num_delayed() for node in self.nodes.values()
        )

    def take_effects(self) -> list[Effect]:
        """What is to be done outside, in order; each effect is handed out once."""
        taken = self._effects[:]
        if taken:
            self._effects.clear()
            self.sockets.end_turn()
        return taken

    # What a user does to the cluster. Whoever calls performs the effects then.

    def create_topic(self, new: NewTopic, now: Now, validate_only: bool = False) -> Topic:
        """Make a topic; raises KafkaError with the code that CreateTopics answers."""
        [result] = self.create_topics([new], now, validate_only)
        if isinstance(result, KafkaError):
            raise result
        return result

    def create_topics(
        self, topics: Sequence[NewTopic], now: Now, validate_only: bool = False
    ) -> list[Topic | KafkaError]:
        """Make topics: what became of each, in order. Raises KafkaError if the request as a whole is refused."""
        self.now = now
        return self.controller.create_topics(topics, now, validate_only)

    def delete_topic(self, name: str, now: Now) -> None:
        """Delete a topic; raises KafkaError. Who waits for it is answered UNKNOWN_TOPIC_OR_PARTITION."""
        self.now = now
        self.controller.delete_topic(name)
        self._run_ready()

    def alter_topic_configs(self, name: str, changes: Mapping[str, str | None], now: Now) -> None:
        """Set some settings of a topic, or take them back with None; raises KafkaError, and nothing is changed."""
        self.now = now
        self.controller.alter_topic_configs(name, changes)

    def alter_broker_configs(self, changes: Mapping[str, str | None], now: Now) -> None:
        """Set some settings of all brokers while they run, or have them as they were at the start with None; raises
        KafkaError, and nothing is changed."""
        self.now = now
        self.broker_configs.alter(changes)
        self._run_ready()

    def move_leader(self, topic: str, partition: int, broker_id: int, now: Now) -> None:
        """Let an in-sync replica lead; raises KafkaError if it may not. Who waits at the old leader is answered
        NOT_LEADER_OR_FOLLOWER."""
        self.now = now
        self.controller.move_leader(TopicPartition(topic, partition), broker_id, now)
        self._run_ready()

    def is_running(self, broker_id: int) -> bool:
        return self.controller.brokers.is_alive(broker_id)

    def stop_broker(self, broker_id: int, now: Now) -> None:
        """Stop a broker: its connections are closed, what is parked there is never answered; its log stays, what it has
        counted for quotas does not. Nothing happens if it is stopped. Raises ValueError for an unknown id."""
        node = self._node(broker_id)
        if not self.is_running(broker_id):
            return
        self.now = now
        self.sockets.close_all(broker_id, f"broker {broker_id} has stopped")
        node.replica_manager = self._new_replica_manager(broker_id)
        node.producer_ids = iter(range(0))
        node.quotas = QuotaManagers(self.config)
        self.client_quotas.tell(node.quotas)
        self.controller.stop_broker(broker_id, now)
        self._run_ready()

    def start_broker(self, broker_id: int, now: Now) -> None:
        """Start a broker that was stopped; nothing happens if it runs. Raises ValueError for an unknown id."""
        self._node(broker_id)
        if self.is_running(broker_id):
            return
        self.now = now
        self.controller.start_broker(broker_id, now)
        self._run_ready()

    def set_followers(
        self,
        behaviour: Behaviour | None,
        now: Now,
        topic: str | None = None,
        partition: int | None = None,
        broker_id: int | None = None,
    ) -> None:
        """Change what followers do: all, or those of a topic, partition or broker. None undoes a freeze.

        Without topic, partition and broker it also holds for topics made later. Raises KafkaError if it concerns
        nobody that follows. A replica that leads takes the behaviour up once it follows.
        """
        self.now = now
        self.followers.set_behaviour(behaviour, Selection(topic, partition, broker_id), now)
        self._run_ready()

    def script_followers(self, steps: Sequence[tuple[Any, Behaviour | None]], selection: Selection, now: Now) -> None:
        """The same over time: (milliseconds from now, behaviour), in order."""
        self.now = now
        self.followers.script(steps, selection, now)
        self._run_ready()

    # What handlers see (apis.context.ClusterView).

    @property
    def controller_id(self) -> int:
        """Any broker that is alive, as KRaft tells clients; here the first. -1 if there is none."""
        return min((broker_id for broker_id in self.nodes if self.is_running(broker_id)), default=-1)

    @property
    def config(self) -> BrokerConfig:
        """The settings of the brokers as they are now."""
        return self.broker_configs.current

    @property
    def auto_create_topics_enable(self) -> bool:
        return self.config.auto_create_topics_enable

    def brokers(self) -> Sequence[NodeEndpoint]:
        """Those that run."""
        return [
            NodeEndpoint(node.broker_id, node.advertised_host, node.advertised_port)
            for node in self.nodes.values()
            if self.is_running(node.broker_id)
        ]

    def topic_names(self) -> Sequence[str]:
        return list(self.controller.topics)

    def topic(self, name: str) -> Topic | None:
        return self.controller.topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self.controller.topics_by_id.get(topic_id)

    def new_producer_id(self, broker_id: int) -> int:
        """Unique in the cluster; each broker hands out ids from a block of its own."""
        node = self.nodes[broker_id]
        producer_id = next(node.producer_ids, None)
        if producer_id is None:
            start = next(self._producer_id_blocks)
            node.producer_ids = iter(range(start, start + PRODUCER_ID_BLOCK))
            producer_id = next(node.producer_ids)
        return producer_id

    # Inside.

    def _run_ready(self) -> None:
        """Handle the next request of each connection whose turn has come. What a request wakes joins the queue, so
        completions never nest."""
        self.sockets.run_ready()

    def _warn(self, text: str) -> None:
        self._effects.append(Warn(text))

    def _handle(self, connection: Connection, frame: bytes | LargeFrame) -> None:
        self._dispatcher.handle(connection, frame, self.now)
        self._complete_actions(self.nodes[connection.broker_id].replica_manager)

    def _complete_actions(self, replica_manager: ReplicaManager) -> None:
        while True:
            try:
                replica_manager.try_complete_actions(self.now)
            except Exception as error:
                self._effects.append(InternalError("waking who waited for an append", error))
            if not replica_manager.has_actions:
                return

    def _node(self, broker_id: int) -> Node:
        if broker_id not in self.nodes:
            raise ValueError(f"there is no broker {broker_id}: the ids are 1 to {len(self.nodes)}")
        return self.nodes[broker_id]

    def _new_replica_manager(self, broker_id: int) -> ReplicaManager:
        return self._parts.replica_manager(
            broker_id,
            self.config,
            self.now.mono_ms,
            self.controller,
            self.followers,
        )

    def _read_now(self) -> Now:
        return self.now

    def check_invariants(self) -> None:
        self.controller.check_invariants()
        for node in self.nodes.values():
            node.replica_manager.produce_purgatory.check_invariants()
            node.replica_manager.fetch_purgatory.check_invariants()
            assert self.is_running(node.broker_id) or not self.sockets.is_connected(node.broker_id)
        self.sockets.check_invariants()


def _earlier(one: int | None, other: int | None) -> int | None:
    return other if one is None or (other is not None and other < one) else one
