"""Errors after the work: for each, a case in which Kafka does the work and returns this error.

The error alone does not show that the work was done, since Kafka may also return it before the work. So each case is
named here.
"""

from __future__ import annotations

from typing import Final

AFTER: Final[dict[tuple[str, str], str]] = {
    ("Produce", "REQUEST_TIMED_OUT"): "frozen/times-out",
    ("Produce", "NOT_LEADER_OR_FOLLOWER"): "moved/v9",
    ("Produce", "UNKNOWN_TOPIC_OR_PARTITION"): "deleted/v9",
    ("OffsetCommit", "COORDINATOR_NOT_AVAILABLE"): "offset-commit/frozen-too-long",
    ("OffsetCommit", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("OffsetDelete", "COORDINATOR_NOT_AVAILABLE"): "unconfirmed/offset-delete",
    ("OffsetDelete", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("DeleteGroups", "COORDINATOR_NOT_AVAILABLE"): "unconfirmed/delete-groups",
    ("DeleteGroups", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("JoinGroup", "COORDINATOR_NOT_AVAILABLE"): "unconfirmed/join-new",
    ("JoinGroup", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("LeaveGroup", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("SyncGroup", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("ConsumerGroupHeartbeat", "COORDINATOR_NOT_AVAILABLE"): "unconfirmed/consumer-heartbeat",
    ("ConsumerGroupHeartbeat", "NOT_COORDINATOR"): "unconfirmed/moves",
    ("JoinGroup", "UNKNOWN_MEMBER_ID"): "leave-group/waiting",
    ("Heartbeat", "REBALANCE_IN_PROGRESS"): "group-timeouts/rebalance",
    ("LeaveGroup", "COORDINATOR_NOT_AVAILABLE"): "unconfirmed/leave-group",
    ("SyncGroup", "REBALANCE_IN_PROGRESS"): "group-timeouts/sync-of-leader",
    ("DeleteRecords", "REQUEST_TIMED_OUT"): "delete-records/frozen-follower",
    ("InitProducerId", "NOT_COORDINATOR"): "transactions-unconfirmed/moves-transactions-three-1",
    ("AddPartitionsToTxn", "NOT_COORDINATOR"): "transactions-unconfirmed/moves-transactions-three-1",
    ("AddOffsetsToTxn", "NOT_COORDINATOR"): "transactions-unconfirmed/moves-transactions-three-1",
    ("EndTxn", "NOT_COORDINATOR"): "transactions-unconfirmed/moves-transactions-three-1",
    ("TxnOffsetCommit", "COORDINATOR_NOT_AVAILABLE"): "transactions-unconfirmed/offsets-late-transactions-three-1",
    ("TxnOffsetCommit", "NOT_COORDINATOR"): "transactions-unconfirmed/offsets-move-transactions-three-1",
}
