"""The supported features, derived from the served APIs: a client that sees a feature uses its APIs.

Features without APIs (`metadata.version`) are those of Kafka 4.4: tools show them.
Source   server-common/.../common/{Feature,MetadataVersion,GroupVersion,TransactionVersion,ShareVersion,StreamsVersion}
         .java @ 4.4
"""

from __future__ import annotations

from fakebroker.apis import registry
from fakebroker.core.controller.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    METADATA_VERSION,
    TRANSACTION_VERSION,
)

_METADATA_LEVELS = (7, 33)
_END_TXN, _CONSUMER_GROUP_HEARTBEAT, _SHARE_GROUP_HEARTBEAT, _SHARE_FETCH, _STREAMS_GROUP_HEARTBEAT = 26, 68, 76, 78, 88


def supported_features() -> dict[str, tuple[int, int]]:
    """Return the lowest and the highest level of each."""
    served = registry.load()
    features = {METADATA_VERSION: _METADATA_LEVELS, ELIGIBLE_LEADER_REPLICAS_VERSION: (0, 1)}
    if _CONSUMER_GROUP_HEARTBEAT in served:
        features["group.version"] = (0, 1)
    if _SHARE_GROUP_HEARTBEAT in served and _SHARE_FETCH in served:
        features["share.version"] = (0, 2 if served[_SHARE_FETCH].serves(2) else 1)
    if _STREAMS_GROUP_HEARTBEAT in served:
        features["streams.version"] = (0, 1)
    if _END_TXN in served:  # from v5 on its response has another epoch (KIP-890)
        features[TRANSACTION_VERSION] = (0, 2 if served[_END_TXN].serves(5) else 0)
    return features
