"""What the producer knows of its brokers' versions, as far as its transactions depend on them.

Source   clients/.../clients/ApiVersions.java, NodeApiVersions.java of 4.3.
"""

from __future__ import annotations

NO_FEATURES_EPOCH = -1
_BUMPS_EPOCH = 3  # InitProducerId from this version on takes a producer id and gives it the next epoch (KIP-360)


class ApiVersions:
    """`transaction_version` is the feature's level where its epoch is the newest that was seen."""

    def __init__(self) -> None:
        self.max_finalized_features_epoch = NO_FEATURES_EPOCH
        self.transaction_version = 0
        self._init_producer_id: dict[int, int] = {}

    def update(self, node: int, init_producer_id: int, features_epoch: int, transaction_version: int) -> None:
        """What a node has answered: its newest version of InitProducerId, and the features as it knows them."""
        self._init_producer_id[node] = init_producer_id
        if features_epoch > self.max_finalized_features_epoch:
            self.max_finalized_features_epoch = features_epoch
            self.transaction_version = transaction_version

    def remove(self, node: int) -> None:
        """Its connection has ended. Features are the cluster's, and stay."""
        self._init_producer_id.pop(node, None)

    def can_bump_epoch(self, node: int) -> bool:
        """False of a node that was not heard of."""
        return self._init_producer_id.get(node, 0) >= _BUMPS_EPOCH
