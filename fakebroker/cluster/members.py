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
from typing import final
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
from fakebroker.core.controller_events import ControllerEvents
from fakebroker.core.groups.group_ids import GroupIds
from fakebroker.core.life import Life
from fakebroker.core.log.store import Store
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.deadlines import FOLLOWERS, HOUSEKEEPING, Deadlines, TimerDeadlines
from fakebroker.core.purgatory.housekeeping import Housekeeping
from fakebroker.core.quota.client_quotas import ClientQuotas
from fakebroker.core.quota.replication import ReplicationQuotas
from fakebroker.core.replication.behaviour import Behaviour
from fakebroker.core.replication.compaction import LogCleaner
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.core.transactions.service import TransactionService


@final
class Members:
    """The members of a cluster. `brokers` are those that run and are not paused, by id.

    clock         has the time of the current event
    timer         for followers, and for throttled connections
    events        of the controller: all changes of brokers
    housekeeping  for tasks that no client waits for
    deadlines     all sources of deadlines
    """

    def __init__(
        self,
        clock: HasNow,
        broker_ids: Sequence[int],
        config: BrokerConfig,
        followers: Behaviour,
        life: Life,
        store: Store | None,
        racks: Mapping[int, str],
        order: Random | None,
        report_bug: Callable[[str, Exception], None],
    ) -> None:
        """`racks` are the racks of brokers that differ from `broker.rack`. `report_bug` reports a bug that was found
        outside the handling of a request. Raises ValueError if `racks` names unknown brokers."""
        self.clock = clock
        now, read_now = clock.now, clock.read_now
        self._supported = supported_features()
        config = config.of_cluster(len(broker_ids))
        self.broker_configs = DynamicBrokerConfig(config)
        self.probe = Probe(clock)
        self.deadlines = Deadlines(order)
        self.timer = TimerDeadlines(now.mono_ms)
        self.housekeeping = Housekeeping(now.mono_ms)
        self.deadlines.add(self.timer, (FOLLOWERS, 0, 0))
        self.deadlines.add(self.housekeeping, (HOUSEKEEPING, 0, 0))
        self._report_bug = report_bug
        self.events = ControllerEvents(self._soon, report_bug)
        self._life = life
        random = self._random = life.random()
        self._session_ids = life.session_ids()
        self._group_ids = GroupIds(life.group_ids)
        cluster_id = urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")
        self.registry = BrokerRegistry(broker_ids, racks_of(broker_ids, config, racks))
        self.listener_configs = DynamicListenerConfig(self.broker_configs, self.registry)
        self.metadata = MetadataCache(cluster_id, self.registry)
        self.wakeups = Wakeups(self.deadlines, clock)
        quotas = ReplicationQuotas(self.broker_configs, read_now)
        self.followers = FollowerSet(followers, self.timer, self.wakeups, read_now, self.registry, quotas)
        self.controller = Controller(
            self.broker_configs,
            self.registry,
            self.metadata,
            self.followers,
            self.wakeups,
            self.probe,
            random,
            life,
            self.timer.timer,
            read_now,
            self.events,
            store,
        )
        self.registry.has_elr = self._has_elr
        self.log_cleaner = LogCleaner(self.controller.log_memory, self.housekeeping.timer, read_now)
        self.client_quotas = ClientQuotas(lambda: (broker.quotas for broker in self.brokers.values()), config)
        self.brokers = {broker_id: self.new_broker(broker_id) for broker_id in self.registry.broker_ids}
        self.publisher = BrokerMetadataPublisher(self.brokers)
        self.metadata.publisher = self.publisher

    @property
    def config(self) -> BrokerConfig:
        """Return the present settings of the brokers."""
        return self.broker_configs.current

    def enter(self, now: Now) -> None:
        """Begin a change by a user."""
        self.clock.now = now
        self.housekeeping.changed(now.mono_ms)

    def new_broker(self, broker_id: int) -> Broker:
        """Make the object of the next life of a broker."""
        return Broker(
            broker_id,
            self.broker_configs,
            self.controller,
            self.followers,
            self.wakeups,
            self.deadlines,
            self.housekeeping,
            self.client_quotas,
            self.probe,
            self.clock,
            self._group_ids,
            self._random_uuid,
            self._session_ids,
            self._report_bug,
            self._transaction_version,
            lambda other: self._transactions_of(broker_id, other),
        )

    def next_life(self) -> Life:
        """Return the life of the cluster that takes its address after this one."""
        producer_id, leader_epoch = self.controller.producer_ids.next_id, self.controller.next_leader_epoch
        return self._life.next(producer_id, leader_epoch, self.metadata.cluster_id, self._group_ids.all())

    def check_invariants(self) -> None:
        self.controller.check_invariants()
        self.deadlines.check_invariants()
        for broker_id in self.registry.broker_ids:
            assert (broker_id in self.brokers) == self.registry[broker_id].is_working

    # Internal methods.

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

    def _soon(self, call: Callable[[], None]) -> None:
        self.housekeeping.timer.add(Call(0, call), self.clock.now.mono_ms)


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
