"""The brokers' versions and features, as far as transactions depend on them.

Source   clients/.../clients/ApiVersions.java, NodeApiVersions.java of 4.3.
"""

from __future__ import annotations

NO_FEATURES_EPOCH = -1
_BUMPS_EPOCH = 3  # the first InitProducerId version that accepts a producer id and bumps its epoch (KIP-360)


class ApiVersions:
    """The brokers' versions. `transaction_version` is the feature level with the newest epoch seen."""

    def __init__(self) -> None:
        self.max_finalized_features_epoch = NO_FEATURES_EPOCH
        self.transaction_version = 0
        self._init_producer_id: dict[int, int] = {}

    def update(self, node: int, init_producer_id: int, features_epoch: int, transaction_version: int) -> None:
        """Apply an ApiVersions response: the newest version of InitProducerId, and the features that the node knows."""
        self._init_producer_id[node] = init_producer_id
        if features_epoch > self.max_finalized_features_epoch:
            self.max_finalized_features_epoch = features_epoch
            self.transaction_version = transaction_version

    def remove(self, node: int) -> None:
        """Forget a node that is disconnected. Features belong to the cluster, and stay."""
        self._init_producer_id.pop(node, None)

    def can_bump_epoch(self, node: int) -> bool:
        """Return True if the node can bump the epoch; False for an unknown node."""
        return self._init_producer_id.get(node, 0) >= _BUMPS_EPOCH
