"""Messages of Apache Kafka 4.4 that kio lacks, declared as kio declares its own.

A message with the same fields as the version before is a copy of that, with another number.
Source   clients/src/main/resources/common/message/*.json @ 4.4
"""

from __future__ import annotations

from typing import Final

from kio.static.protocol import RequestPayload, ResponsePayload

from fakebroker.protocol.newer.api_versions_v5 import ApiVersionsRequest, ApiVersionsResponse
from fakebroker.protocol.newer.delete_groups_v3 import DeleteGroupsRequest, DeleteGroupsResponse
from fakebroker.protocol.newer.txn_offset_commit_v6 import TxnOffsetCommitRequest, TxnOffsetCommitResponse

__all__ = ["NEWER"]

# By API key and version. A version is one more than the newest of kio, or of those before it here.
NEWER: Final[dict[tuple[int, int], tuple[type[RequestPayload], type[ResponsePayload]]]] = {
    (18, 5): (ApiVersionsRequest, ApiVersionsResponse),
    (28, 6): (TxnOffsetCommitRequest, TxnOffsetCommitResponse),
    (42, 3): (DeleteGroupsRequest, DeleteGroupsResponse),
}
