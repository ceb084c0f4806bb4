"""One broker of the cluster, from its start to its stop: its parts.

A broker that starts again is a new object: only its log and the controller's knowledge of it stay.

Source   core/.../server/BrokerServer.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import final
from uuid import UUID

from fakebroker.core.broker.client_metrics_manager import ClientMetricsManager
from fakebroker.core.clock import HasNow
from fakebroker.core.config.broker_loggers import BrokerLoggers
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.producer_ids import ProducerIdManager
from fakebroker.core.fetch_sessions.manager import FetchManager
from fakebroker.core.groups.coordinator import GroupCoordinator
from fakebroker.core.groups.group_ids import GroupIds
from fakebroker.core.groups.services import GroupEnvironment
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.deadlines import Deadlines
from fakebroker.core.purgatory.housekeeping import Housekeeping
from fakebroker.core.quota.client_quotas import ClientQuotas
from fakebroker.core.quota.quota import QuotaManagers
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.core.transactions.service import TransactionService


@final
class Broker:
    """The parts of a broker, for the handlers of its requests. `controller` is that of the cluster, `metadata` this
    broker's view of it. `authorizer` decides what clients may do; None allows everything. Once `is_stopped`, no work
    goes on: requests in hand get no response."""

    __slots__ = (
        "authorizer", "broker_id", "client_metrics", "client_quotas", "controller", "fetch_manager", "groups",
        "is_stopped", "loggers", "metadata", "producer_ids", "quotas", "replicas", "transactions",
    )  # fmt: skip

    def __init__(
        self,
        broker_id: int,
        configs: DynamicBrokerConfig,
        controller: Controller,
        followers: FollowerSet,
        wakeups: Wakeups,
        deadlines: Deadlines,
        housekeeping: Housekeeping,
        client_quotas: ClientQuotas,
        probe: Probe,
        clock: HasNow,
        group_ids: GroupIds,
        random_uuid: Callable[[], UUID],
        session_ids: Random,
        report: Callable[[str, Exception], None],
        transaction_version: Callable[[], int],
        transactions_of: Callable[[int], TransactionService | None],
    ) -> None:
        """Create a broker. `session_ids` gives the ids of fetch sessions; `report` receives bugs outside of
        requests."""
        config = configs.of(broker_id)
        self.broker_id = broker_id
        self.is_stopped = False
        self.controller = controller
        self.authorizer = controller.authorizer
        self.metadata = controller.metadata.of_broker()
        self.replicas = ReplicaManager(broker_id, config, clock.now.mono_ms, followers, wakeups, probe)
        self.groups = GroupCoordinator(
            GroupEnvironment(
                broker_id,
                clock,
                configs,
                controller.group_configs,
                group_ids,
                self.metadata,
                random_uuid,
                probe,
                housekeeping,
            ),
            self.replicas,
            deadlines,
            report,
        )
        self.quotas = QuotaManagers(config)
        client_quotas.tell(self.quotas)
        self.client_quotas = client_quotas
        self.client_metrics = ClientMetricsManager(controller.client_metrics, config.telemetry_max_bytes, random_uuid)
        self.loggers = BrokerLoggers()
        self.producer_ids = ProducerIdManager(controller.producer_ids)
        self.transactions = TransactionService(
            broker_id,
            clock,
            configs,
            self.metadata,
            self.replicas,
            deadlines,
            housekeeping,
            self.producer_ids.generate_producer_id,
            transaction_version,
            transactions_of,
            self.groups.complete_transaction,
            report,
        )
        self.fetch_manager = FetchManager(config.max_incremental_fetch_session_cache_slots, session_ids)

    def pause(self) -> None:
        """Pause the coordinators, with all requests in hand."""
        self.groups.pause()
        self.transactions.pause()

    def resume(self) -> None:
        """Resume the coordinators. The caller resumes the purgatories and delivers the missed metadata."""
        self.groups.resume()
        self.transactions.resume()

    def stop(self) -> None:
        """Stop, and drop all requests in hand."""
        self.is_stopped = True
        self.groups.close()
        self.transactions.close()
