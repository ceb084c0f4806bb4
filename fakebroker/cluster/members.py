"""The brokers of a cluster, and what they share: controller, metadata, followers, quotas and settings.

Theory   A broker is there from its start to its stop; its log, its place in the metadata and where it listens outlive
         it. Whoever starts anew is made anew.
Units    milliseconds (`Now`).
Source   The roles of BrokerServer and KRaft's ControllerServer, core/.../server @ 4.0, in one object.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from random import Random
from uuid import UUID

from fakebroker.apis.features import supported_features
from fakebroker.core.broker.broker import Broker
from fakebroker.core.broker.metadata_publisher import BrokerMetadataPublisher
from fakebroker.core.broker_registry import BrokerRegistry, ids_in_words
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.features import TRANSACTION_VERSION
from fakebroker.core.controller.metadata_cache import MetadataCache
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
from fakebroker.core.security.identity import PLAINTEXT, Listener
from fakebroker.core.transactions.service import TransactionService
from fakebroker.protocol.produce_response import NodeEndpoint


class Members(HasNow):
    """`brokers` are those that run, by id. `now` is the time of the event at hand.

    timer         of what followers do, and of throttled connections
    housekeeping  what nobody waits for
    deadlines     all that have any
    """

    def __init__(
        self,
        now: Now,
        broker_ids: Sequence[int],
        config: BrokerConfig,
        followers: Behaviour,
        seed: int,
        store: Store | None,
        racks: Mapping[int, str] | None = None,
    ) -> None:
        """`racks` has where brokers stand that do not stand in the rack of the `config`. Raises ValueError if it names
        others."""
        super().__init__(now)
        self._supported = supported_features()
        self.broker_configs = DynamicBrokerConfig(config)
        self.probe = Probe()
        self.deadlines = Deadlines()
        self.timer = TimerDeadlines(now.mono_ms)
        self.housekeeping = Housekeeping(now.mono_ms)
        self.deadlines.add(self.timer, (FOLLOWERS, 0, 0))
        self.deadlines.add(self.housekeeping, (HOUSEKEEPING, 0, 0))

        random = self._random = Random(seed)
        self._session_ids = Random(f"fetch sessions of {seed}")
        cluster_id = urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")
        self.registry = BrokerRegistry(broker_ids, racks_of(broker_ids, config, racks or {}))
        self.metadata = MetadataCache(cluster_id, self.registry)
        self._wakeups = Wakeups(self.deadlines)
        quotas = ReplicationQuotas(self.broker_configs, self._read_now)
        self.followers = FollowerSet(followers, self.timer, self._wakeups, self._read_now, self.registry, quotas)
        self.controller = Controller(
            self.broker_configs,
            self.registry,
            self.metadata,
            self.followers,
            self._wakeups,
            self.probe,
            random,
            self.timer.timer,
            self._read_now,
            store,
        )
        self.log_cleaner = LogCleaner(self.controller.log_memory, self.housekeeping.timer, self._read_now)
        self.client_quotas = ClientQuotas(lambda: (broker.quotas for broker in self.brokers.values()), config)
        self.brokers = {broker_id: self._new_broker(broker_id) for broker_id in self.registry.broker_ids}
        self.metadata.publisher = BrokerMetadataPublisher(self.brokers)

    @property
    def config(self) -> BrokerConfig:
        """The settings of the brokers as they are now."""
        return self.broker_configs.current

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
            self._random_uuid,
            self._session_ids,
            self.report_bug,
            self._transaction_version,
            self._transactions_of,
        )

    def _transaction_version(self) -> int:
        return self.controller.features.level(TRANSACTION_VERSION, self._supported)

    def _transactions_of(self, broker_id: int) -> TransactionService | None:
        broker = self.brokers.get(broker_id)
        return None if broker is None else broker.transactions

    def _random_uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    def report_bug(self, where: str, error: Exception) -> None:
        """Somebody found a bug where no request is handled that could tell of it."""
        raise NotImplementedError

    def _read_now(self) -> Now:
        return self.now

    def _enter(self, now: Now) -> None:
        """Somebody changes something."""
        self.now = now
        self.housekeeping.changed(now.mono_ms)

    # Who runs, and where.

    def is_running(self, broker_id: int) -> bool:
        return broker_id in self.brokers

    def set_endpoint(self, broker_id: int, host: str, port: int, listener: Listener = PLAINTEXT) -> None:
        """What clients are told of where a broker listens; it stays so when the broker starts anew."""
        self._check_known(broker_id)
        self.registry[broker_id].set_endpoint(listener, host, port)

    def endpoint(self, broker_id: int, listener: Listener = PLAINTEXT) -> NodeEndpoint:
        """Where a broker listens, whether it runs or not."""
        self._check_known(broker_id)
        return self.registry[broker_id].endpoint(listener)

    def _check_known(self, broker_id: int) -> None:
        if broker_id not in self.registry.broker_ids:
            raise ValueError(f"there is no broker {broker_id}: the ids are {ids_in_words(self.registry.broker_ids)}")

    def _start(self, broker_id: int) -> None:
        """The broker leads and follows again; it has no clients yet."""
        self.brokers[broker_id] = self._new_broker(broker_id)
        self.controller.start_broker(broker_id, self.now)

    def _stop(self, broker_id: int) -> None:
        """The broker is gone, with all that waits there; its clients went before. What it led goes to others."""
        self.brokers.pop(broker_id).stop()
        self._wakeups.stop_broker(broker_id)
        self.controller.stop_broker(broker_id, self.now)

    def check_invariants(self) -> None:
        self.controller.check_invariants()
        self.deadlines.check_invariants()
        for broker_id in self.registry.broker_ids:
            assert self.is_running(broker_id) == self.registry.is_alive(broker_id)


def racks_of(broker_ids: Sequence[int], config: BrokerConfig, racks: Mapping[int, str]) -> dict[int, str]:
    """Where each broker stands that stands anywhere: its own rack, else the one that all have (`broker.rack`)."""
    known = set(broker_ids)
    for broker_id in racks:
        if broker_id not in known:
            raise ValueError(f"there is no broker {broker_id}: the ids are {ids_in_words(broker_ids)}")
    common = {} if config.broker_rack is None else dict.fromkeys(known, config.broker_rack)
    return common | dict(racks)


def features_of(levels: Mapping[str, int]) -> dict[str, int]:
    """The levels of features that a new cluster has, where they are not the highest."""
    supported = supported_features()
    for name, level in levels.items():
        if name not in supported:
            raise ValueError(f"there is no feature {name!r}: there are {', '.join(sorted(supported))}")
        lowest, highest = supported[name]
        if not lowest <= level <= highest:
            raise ValueError(f"{name} has the levels {lowest} to {highest}, not {level}")
    return dict(levels)
