"""One broker of the cluster, as the others and its clients find it."""

from __future__ import annotations

from typing import final

from fakebroker.core.quota.quota import QuotaManagers
from fakebroker.core.replication.replica_manager import ReplicaManager


@final
class Node:
    """Host and port are what clients are told. Whoever starts anew gets a new replica manager and new quotas."""

    def __init__(self, broker_id: int, replica_manager: ReplicaManager, quotas: QuotaManagers) -> None:
        self.broker_id = broker_id
        self.replica_manager = replica_manager
        self.quotas = quotas
        self.advertised_host = "127.0.0.1"
        self.advertised_port = 0
        self.producer_ids = iter(range(0))
