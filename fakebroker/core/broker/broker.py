"""One broker of the cluster, from its start to its stop: what it is made of.

A broker that starts again is made anew: only its log and what the controller knows of it are as before.

Source   core/.../server/BrokerServer.scala @ 4.0.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.broker_loggers import BrokerLoggers
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.producer_ids import ProducerIdManager
from fakebroker.core.probe import Probe
from fakebroker.core.quota.client_quotas import ClientQuotas
from fakebroker.core.quota.quota import QuotaManagers
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.replication.wakeups import Wakeups


@final
class Broker:
    """What the handlers of its requests work with. `controller` and its metadata are those of the cluster. Once
    `is_stopped` nobody works on: whatever was in hand is never answered."""

    __slots__ = (
        "broker_id", "client_quotas", "controller", "is_stopped", "loggers", "producer_ids", "quotas", "replicas",
    )  # fmt: skip

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        controller: Controller,
        followers: FollowerSet,
        wakeups: Wakeups,
        client_quotas: ClientQuotas,
        probe: Probe,
        now: Now,
    ) -> None:
        self.broker_id = broker_id
        self.is_stopped = False
        self.controller = controller
        self.replicas = ReplicaManager(broker_id, config, now.mono_ms, followers, wakeups, probe)
        self.quotas = QuotaManagers(config)
        client_quotas.tell(self.quotas)
        self.client_quotas = client_quotas
        self.loggers = BrokerLoggers()
        self.producer_ids = ProducerIdManager(controller.producer_ids)
