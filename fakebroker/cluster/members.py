"""The brokers of a cluster, and what they share: controller, metadata, followers, quotas and settings.

Theory   A `Broker` object lives from the broker's start to its end. Its log, its metadata and its address outlive it,
         and a restart makes a new object (lives.py).
Units    milliseconds (`Now`).
Source   The roles of BrokerServer and KRaft's ControllerServer, core/.../server @ 4.0, in one object.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final
from uuid import UUID

from fakebroker.apis.features import supported_features
from fakebroker.core.broker.broker import Broker
from fakebroker.core.broker.metadata_publisher import BrokerMetadataPublisher
from fakebroker.core.broker_registry import BrokerRegistry, ids_in_words
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.dynamic_listener_config import DynamicListenerConfig
from fakebroker.core.controller.cluster_control import Call
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.features import ELIGIBLE_LEADER_REPLICAS_VERSION, TRANSACTION_VERSION
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.topics import NewTopic, Topic
from fakebroker.core.controller_events import ControllerEvents
from fakebroker.core.groups.group_ids import GroupIds
from fakebroker.core.life import Life
from fakebroker.core.log.store import Store
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.deadlines import FOLLOWERS, HOUSEKEEPING, Deadlines, TimerDeadlines
from fakebroker.core.purgatory.housekeeping import Housekeeping
from fakebroker.core.quota.client_quotas import ClientQuotas
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.quota.replication import ReplicationQuotas
from fakebroker.core.replication.behaviour import Behaviour
from fakebroker.core.replication.compaction import LogCleaner
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.core.security.acl_binding import AclBinding, AclBindingFilter
from fakebroker.core.security.acl_control import AclControl, check, matching
from fakebroker.core.security.identity import Listener
from fakebroker.core.security.standard_authorizer import StandardAuthorizer
from fakebroker.core.transactions.service import TransactionService
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import Slices, finish

_ACLS_OF_A_SLICE: Final = 200


class Members(HasNow):
    """The members of a cluster. `brokers` are those that run and are not paused, by id. `now` is the time of the
    current event.

    timer         for followers, and for throttled connections
    events        of the controller: all changes of brokers
    housekeeping  for tasks that no client waits for
    deadlines     all sources of deadlines
    """

    def __init__(
        self,
        now: Now,
        broker_ids: Sequence[int],
        config: BrokerConfig,
        followers: Behaviour,
        life: Life,
        store: Store | None,
        racks: Mapping[int, str] | None = None,
        order: Random | None = None,
    ) -> None:
        """`racks` are the racks of brokers that differ from `broker.rack`. Raises ValueError if it names unknown
        brokers."""
        super().__init__(now)
        self._supported = supported_features()
        config = config.of_cluster(len(broker_ids))
        self.broker_configs = DynamicBrokerConfig(config)
        self.probe = Probe(self)
        self._order = order
        self.deadlines = Deadlines(order)
        self.timer = TimerDeadlines(now.mono_ms)
        self.housekeeping = Housekeeping(now.mono_ms)
        self.deadlines.add(self.timer, (FOLLOWERS, 0, 0))
        self.deadlines.add(self.housekeeping, (HOUSEKEEPING, 0, 0))

        self.events = ControllerEvents(self._soon, self.report_bug)

        self._life = life
        random = self._random = life.random()
        self._session_ids = life.session_ids()
        self._group_ids = GroupIds(life.group_ids)
        cluster_id = urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")
        self.registry = BrokerRegistry(broker_ids, racks_of(broker_ids, config, racks or {}))
        self.listener_configs = DynamicListenerConfig(self.broker_configs, self.registry)
        self.metadata = MetadataCache(cluster_id, self.registry)
        self._wakeups = Wakeups(self.deadlines, self)
        quotas = ReplicationQuotas(self.broker_configs, self.read_now)
        self.followers = FollowerSet(followers, self.timer, self._wakeups, self.read_now, self.registry, quotas)
        self.controller = Controller(
            self.broker_configs,
            self.registry,
            self.metadata,
            self.followers,
            self._wakeups,
            self.probe,
            random,
            life,
            self.timer.timer,
            self.read_now,
            self.events,
            store,
        )
        self.registry.has_elr = self._has_elr
        self.log_cleaner = LogCleaner(self.controller.log_memory, self.housekeeping.timer, self.read_now)
        self.client_quotas = ClientQuotas(lambda: (broker.quotas for broker in self.brokers.values()), config)
        self.brokers = {broker_id: self._new_broker(broker_id) for broker_id in self.registry.broker_ids}
        self.publisher = BrokerMetadataPublisher(self.brokers)
        self.metadata.publisher = self.publisher

    @property
    def config(self) -> BrokerConfig:
        """Return the present settings of the brokers."""
        return self.broker_configs.current

    # Skipping time: a door, and the questions before it.

    @property
    def is_awaited(self) -> bool:
        """Return True if skipping time would unblock a client. A polling consumer does not count: it polls for ever.
        Nor do the steps of a script: they wait for the user's own actions."""
        return self.deadlines.is_awaited()

    def next_skip_ms(self) -> int | None:
        """Return where a skip of the clock ends: at the next deadline, without those that clients have to meet. None if
        no client waits for anything."""
        return self.deadlines.next_deadline_ms(if_skipped=True) if self.is_awaited else None

    def skip(self, ms: int) -> None:
        """Note that the clock has skipped `ms`, which no client has lived through: the deadlines of clients move along.
        `advance_to` comes next."""
        self.skipped_ms += ms
        for partition in self.metadata.partitions():
            for replica in partition.replicas.values():
                replica.on_skip(ms)

    # Internal methods.

    def _new_broker(self, broker_id: int) -> Broker:
        return Broker(
            broker_id,
            self.broker_configs,
            self.controller,
            self.followers,
            self._wakeups,
            self.deadlines,
            self.housekeeping,
            self.client_quotas,
            self.probe,
            self,
            self._group_ids,
            self._random_uuid,
            self._session_ids,
            self.report_bug,
            self._transaction_version,
            lambda other: self._transactions_of(broker_id, other),
        )

    def _transaction_version(self) -> int:
        return self.controller.features.level(TRANSACTION_VERSION, self._supported)

    def _has_elr(self) -> bool:
        return self.controller.features.level(ELIGIBLE_LEADER_REPLICAS_VERSION, self._supported) > 0

    def _transactions_of(self, broker_id: int, other: int) -> TransactionService | None:
        """Return the transactions of another broker, if this one reaches it."""
        broker = self.brokers.get(other)
        if broker is None or (other != broker_id and not self.registry.can_reach(broker_id, other)):
            return None
        return broker.transactions

    def _random_uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def report_bug(self, where: str, error: Exception) -> None:
        """Report a bug that was found outside the handling of a request."""
        raise NotImplementedError

    def read_now(self) -> Now:
        return self.now

    def _soon(self, call: Callable[[], None]) -> None:
        self.housekeeping.timer.add(Call(0, call), self.now.mono_ms)

    def _enter(self, now: Now) -> None:
        """Begin a change by a user."""
        self.now = now
        self.housekeeping.changed(now.mono_ms)

    # States and addresses.

    def is_running(self, broker_id: int) -> bool:
        """Return True if it handles requests; a paused broker does not."""
        return broker_id in self.brokers

    def set_endpoint(self, broker_id: int, host: str, port: int, listener: Listener | None = None) -> None:
        """Set the advertised address of a broker's listener (default: the first one); it outlives restarts."""
        self._check_known(broker_id)
        broker = self.registry[broker_id]
        broker.set_endpoint(listener or broker.first_listener, host, port)

    def set_bound(self, broker_id: int, host: str, port: int, listener: Listener) -> None:
        """Set the address where a broker listens."""
        self.registry[broker_id].set_bound(listener, host, port)

    def endpoint(self, broker_id: int, listener: Listener | None = None) -> NodeEndpoint:
        """Return the advertised address of a broker's listener (default: the first one), running or not."""
        self._check_known(broker_id)
        broker = self.registry[broker_id]
        return broker.endpoint(listener or broker.first_listener)

    def _check_known(self, broker_id: int) -> None:
        if broker_id not in self.registry.broker_ids:
            raise ValueError(f"there is no broker {broker_id}: the ids are {ids_in_words(self.registry.broker_ids)}")

    # Changes by a user. The caller performs the effects afterwards.

    def create_topic(self, new: NewTopic, now: Now, validate_only: bool = False) -> Topic:
        """Create a topic. Raises KafkaError with the error code of CreateTopics."""
        return finish(self.create_topic_in_slices(new, now, validate_only))

    def create_topic_in_slices(self, new: NewTopic, now: Now, validate_only: bool = False) -> Slices[Topic]:
        self._enter(now)
        [result] = yield from self.controller.create_topics_in_slices([new], self.read_now, validate_only)
        if isinstance(result, KafkaError):
            raise result
        return result

    def create_topics(
        self, topics: Sequence[NewTopic], now: Now, validate_only: bool = False
    ) -> list[Topic | KafkaError]:
        """Create topics. Return the topic or error of each, in order. Raises KafkaError if the whole request is
        refused."""
        self._enter(now)
        return self.controller.create_topics(topics, now, validate_only)

    def compact(self, topic: str, now: Now) -> int:
        """Compact a topic at once. Return how many partitions were cleaned. Raises KafkaError."""
        return finish(self.compact_in_slices(topic, now))

    def compact_in_slices(self, topic: str, now: Now) -> Slices[int]:
        self._enter(now)
        return self.log_cleaner.compact(self.controller.existing(topic).partitions, now)

    def alter_topic_configs(self, name: str, changes: Mapping[str, str | None], now: Now) -> None:
        """Set some settings of a topic, or reset them to their defaults with None. If it raises KafkaError, nothing is
        changed."""
        finish(self.alter_topic_configs_in_slices(name, changes, now))

    def alter_topic_configs_in_slices(self, name: str, changes: Mapping[str, str | None], now: Now) -> Slices[None]:
        self._enter(now)
        yield from self.controller.alter_topic_configs_in_slices(name, changes)

    def alter_client_quotas(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        """Set or remove the quotas of an entity; they apply from the next request on. Raises KafkaError."""
        self.client_quotas.alter(entity, alterations)

    # ACLs. Each raises KafkaError without an authorizer.

    def create_acl(self, binding: AclBinding) -> None:
        """Create an ACL; it applies from the next request on. Raise KafkaError if Kafka would refuse it."""
        control = AclControl(self._authorizer)
        check(binding)
        [error] = finish(control.create_acls([binding]))
        if error is not None:
            raise error

    def delete_acls(self, wanted: AclBindingFilter) -> Sequence[AclBinding]:
        """Delete the ACLs that match, and return them."""
        return finish(self.delete_acls_in_slices(wanted))

    def delete_acls_in_slices(self, wanted: AclBindingFilter) -> Slices[Sequence[AclBinding]]:
        bindings = yield from self.acls_in_slices(wanted)
        for number, binding in enumerate(bindings, 1):
            self._authorizer.remove(binding)
            if number % _ACLS_OF_A_SLICE == 0:
                yield
        return bindings

    def acls(self, wanted: AclBindingFilter) -> Sequence[AclBinding]:
        """Return the ACLs that match, the oldest first."""
        return finish(self.acls_in_slices(wanted))

    def acls_in_slices(self, wanted: AclBindingFilter) -> Slices[Sequence[AclBinding]]:
        return (yield from matching(self._authorizer, wanted))

    @property
    def _authorizer(self) -> StandardAuthorizer:
        if self.controller.authorizer is None:
            raise KafkaError(ErrorCode.security_disabled, "No Authorizer is configured.")
        return self.controller.authorizer

    def next_life(self) -> Life:
        """Return the life of the cluster that takes its address after this one."""
        producer_id, leader_epoch = self.controller.producer_ids.next_id, self.controller.next_leader_epoch
        return self._life.next(producer_id, leader_epoch, self.metadata.cluster_id, self._group_ids.all())

    def check_invariants(self) -> None:
        self.controller.check_invariants()
        self.deadlines.check_invariants()
        for broker_id in self.registry.broker_ids:
            assert self.is_running(broker_id) == self.registry[broker_id].is_working


def racks_of(broker_ids: Sequence[int], config: BrokerConfig, racks: Mapping[int, str]) -> dict[int, str]:
    """Return the rack of each broker that has one: its own, else `broker.rack`."""
    known = set(broker_ids)
    for broker_id in racks:
        if broker_id not in known:
            raise ValueError(f"there is no broker {broker_id}: the ids are {ids_in_words(broker_ids)}")
    common = {} if config.broker_rack is None else dict.fromkeys(known, config.broker_rack)
    return common | dict(racks)


def features_of(levels: Mapping[str, int]) -> dict[str, int]:
    """Check the feature levels of a new cluster that are not the highest, and return them. Raises ValueError."""
    supported = supported_features()
    for name, level in levels.items():
        if name not in supported:
            raise ValueError(f"there is no feature {name!r}: there are {', '.join(sorted(supported))}")
        lowest, highest = supported[name]
        if not lowest <= level <= highest:
            raise ValueError(f"{name} has the levels {lowest} to {highest}, not {level}")
    return dict(levels)
