"""The cluster: brokers, topics, followers, connections, and the three doors through which time comes in.

Theory   `receive` (bytes), `advance_to` (time) and `open_connection`/`connection_lost` are all that ever happens to it.
         Each door leaves effects behind (`take_effects`) and a next deadline (`next_deadline_ms`). The same calls with
         the same times give the same effects: nothing in here waits, looks at a clock or draws without the seed.
         `advance_to` runs every event at its own time, in order of time; at the same millisecond followers come before
         timeouts, so what was replicated in time counts as in time.
Units    milliseconds (`Now`).
Source   The roles of BrokerServer, KRaft's controller and ReplicaManager's scheduler, in one object.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from itertools import count
from random import Random
from uuid import UUID

from fakebroker.apis.context import NewTopic
from fakebroker.core.client_quotas import ClientQuotas
from fakebroker.core.clock import Now
from fakebroker.core.config import ClusterConfig, TopicConfig
from fakebroker.core.connection import Connection
from fakebroker.core.dispatcher import Dispatcher
from fakebroker.core.effects import Effect, InternalError
from fakebroker.core.follower import INSTANT, Behaviour, Follower
from fakebroker.core.log_config import effective_configs
from fakebroker.core.partition import Partition
from fakebroker.core.quota import QuotaManagers
from fakebroker.core.replica_manager import ReplicaManager
from fakebroker.core.socket_server import SocketServer
from fakebroker.core.topics import Topic, new_name_error, place_replicas, validate_total_number_of_partitions
from fakebroker.protocol import topic_name
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel import SystemTimer, TimerTask

PRODUCER_ID_BLOCK = 1000  # ids a broker takes from the controller at once


class Node:
    """One broker of the cluster. Host and port are what clients are told."""

    def __init__(self, broker_id: int, replica_manager: ReplicaManager, quotas: QuotaManagers) -> None:
        self.broker_id = broker_id
        self.replica_manager = replica_manager
        self.quotas = quotas
        self.advertised_host = "127.0.0.1"
        self.advertised_port = 0
        self.producer_ids = iter(range(0))


class Cluster:
    """A Kafka cluster without a network. Brokers have the ids 1 to `brokers`."""

    def __init__(
        self,
        now: Now,
        brokers: int = 3,
        config: ClusterConfig | None = None,
        followers: Behaviour = INSTANT,
        seed: int = 0,
    ) -> None:
        self.config = config or ClusterConfig()
        self.now = now
        self._advanced_ms = now.mono_ms
        self.followers_behaviour = followers
        self._random = Random(seed)
        self.cluster_id = urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")
        self._timer = SystemTimer(now.mono_ms)
        self._topics: dict[str, Topic] = {}
        self._topics_by_id: dict[UUID, Topic] = {}
        self._names_by_unified_name: dict[str, str] = {}
        self.followers: dict[TopicPartition, list[Follower]] = {}
        self._effects: list[Effect] = []
        self._producer_id_blocks = count(0, PRODUCER_ID_BLOCK)
        self.nodes = {
            broker_id: Node(
                broker_id,
                ReplicaManager(broker_id, self.config, now.mono_ms, self.find_partition, self._leader_appended),
                QuotaManagers(self.config),
            )
            for broker_id in range(1, brokers + 1)
        }
        self.client_quotas = ClientQuotas([node.quotas for node in self.nodes.values()])
        self.sockets = SocketServer(self.nodes, self.config, self._timer, self._effects.append, self._handle, self)
        self._dispatcher = Dispatcher(self, self.sockets, self._effects.append)
        self._timer.add(_IsrExpirationTask(self), now.mono_ms)

    # The doors.

    def open_connection(self, broker_id: int, peer: str, now: Now, address: str = "") -> Connection:
        """A client has connected to a broker, from an IP address."""
        self.now = now
        connection = self.sockets.open(broker_id, peer, address)
        self._run_ready()
        return connection

    def receive(self, connection: Connection, data: bytes, now: Now) -> None:
        """Bytes have arrived; handle what requests they complete, one at a time."""
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
                self._timer.advance_clock(step_ms)
                for node in self.nodes.values():
                    node.replica_manager.advance_clock(step_ms)
            except Exception as error:
                # The timers are consistent: what else is due runs in the next turn of this loop.
                self._effects.append(InternalError("a timer's task", error))
        self._advanced_ms = max(now.mono_ms, self._advanced_ms)
        self.now = handled_at or now
        self._run_ready()

    def next_deadline_ms(self) -> int | None:
        """When `advance_to` next has something to do."""
        deadlines = [self._timer.next_deadline_ms()]
        for node in self.nodes.values():
            deadlines += node.replica_manager.next_deadlines_ms()
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def take_effects(self) -> list[Effect]:
        """What is to be done outside, in order; each effect is handed out once."""
        taken = self._effects[:]
        self._effects.clear()
        self.sockets.end_turn()
        return taken

    # Topics and followers.

    def create_topic(self, new: NewTopic, now: Now, validate_only: bool = False) -> Topic:
        """Make a topic; raises KafkaError with the code that CreateTopics answers."""
        [result] = self.create_topics([new], now, validate_only)
        if isinstance(result, KafkaError):
            raise result
        return result

    def create_topics(
        self, topics: Sequence[NewTopic], now: Now, validate_only: bool = False
    ) -> list[Topic | KafkaError]:
        """Make topics: what became of each, in order. Raises KafkaError if the request as a whole is refused.

        All names are held against the topics that were there before, so names of one request cannot collide.
        """
        validate_total_number_of_partitions(topics, self.config.num_partitions)
        errors = [new_name_error(new.name, self._topics, self._names_by_unified_name) for new in topics]
        results: list[Topic | KafkaError] = []
        for new, error in zip(topics, errors, strict=True):
            try:
                results.append(error or self._create_topic(new, now, validate_only))
            except KafkaError as failure:
                results.append(failure)
        return results

    def _create_topic(self, new: NewTopic, now: Now, validate_only: bool) -> Topic:
        defaults = self.config.topic_defaults()
        config = TopicConfig.of(new.configs, defaults)
        placement = place_replicas(new, list(self.nodes), self.config)
        lag_max_ms = self.config.replica_lag_time_max_ms
        partitions = [
            Partition(TopicPartition(new.name, index), broker_ids, config, lag_max_ms, now.mono_ms)
            for index, broker_ids in enumerate(placement)
        ]
        topic_id = UUID(int=self._random.getrandbits(128), version=4)
        own = {name: text for name, text in new.configs.items() if text is not None}
        topic = Topic(new.name, topic_id, partitions, effective_configs(own, defaults.set_by_brokers()))
        if not validate_only:
            self._names_by_unified_name[topic_name.unify_collision_chars(new.name)] = new.name
            self._topics[new.name] = self._topics_by_id[topic_id] = topic
            for partition in partitions:
                self.followers[partition.topic_partition] = [
                    Follower(
                        partition,
                        replica.broker_id,
                        self.followers_behaviour,
                        self._timer,
                        self._leader_of,
                        self._read_now,
                    )
                    for replica in partition.followers
                ]
        return topic

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
        nobody, because a change that changes nothing is a slip.
        """
        self.now = now
        everybody = topic is None and partition is None and broker_id is None
        if everybody:
            self.followers_behaviour = behaviour or INSTANT
        chosen = [
            follower
            for tp, followers in self.followers.items()
            for follower in followers
            if topic in (None, tp.topic)
            and partition in (None, tp.partition)
            and broker_id in (None, follower.broker_id)
        ]
        if not chosen and not everybody:
            raise KafkaError(
                ErrorCode.unknown_topic_or_partition,
                f"No follower has topic={topic!r}, partition={partition!r}, broker={broker_id!r}: "
                "there is no such partition, or it has one replica, or that broker leads it.",
            )
        for follower in chosen:
            follower.set_behaviour(behaviour or follower.before_freeze, now)
        self._run_ready()

    def find_partition(self, topic_partition: TopicPartition) -> Partition | None:
        topic = self._topics.get(topic_partition.topic)
        if topic is None or not 0 <= topic_partition.partition < len(topic.partitions):
            return None
        return topic.partitions[topic_partition.partition]

    # What handlers see (apis.context.ClusterView).

    @property
    def controller_id(self) -> int:
        return min(self.nodes)

    @property
    def auto_create_topics_enable(self) -> bool:
        return self.config.auto_create_topics_enable

    def brokers(self) -> Sequence[NodeEndpoint]:
        return [
            NodeEndpoint(node.broker_id, node.advertised_host, node.advertised_port) for node in self.nodes.values()
        ]

    def topic_names(self) -> Sequence[str]:
        return list(self._topics)

    def topic(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self._topics_by_id.get(topic_id)

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

    def _handle(self, connection: Connection, frame: bytes) -> None:
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

    def _leader_appended(self, partition: Partition, now: Now) -> None:
        for follower in self.followers[partition.topic_partition]:
            follower.on_leader_append(now)

    def _leader_of(self, partition: Partition) -> ReplicaManager:
        return self.nodes[partition.leader_id].replica_manager

    def _read_now(self) -> Now:
        return self.now

    def maybe_shrink_isrs(self) -> None:
        """ReplicaManager.maybeShrinkIsr, for all brokers."""
        for topic in self._topics.values():
            for partition in topic.partitions:
                self._leader_of(partition).maybe_shrink_isr(partition, self.now)

    def check_invariants(self) -> None:
        for topic in self._topics.values():
            for partition in topic.partitions:
                partition.check_invariants()
        for node in self.nodes.values():
            node.replica_manager.produce_purgatory.check_invariants()
            node.replica_manager.fetch_purgatory.check_invariants()
        self.sockets.check_invariants()


class _IsrExpirationTask(TimerTask):
    """Kafka's "isr-expiration" job: looks for lagging followers every half of replica.lag.time.max.ms."""

    __slots__ = ("_cluster",)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(max(cluster.config.replica_lag_time_max_ms // 2, 1))
        self._cluster = cluster

    def run(self) -> None:
        self._cluster.maybe_shrink_isrs()
        self._cluster._timer.add(self, self._cluster.now.mono_ms)
