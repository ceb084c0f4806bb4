"""Requests and responses of consumer groups, as plain values.

Units    milliseconds.
Source   clients/src/main/resources/common/message/ConsumerGroup{Heartbeat,Describe}{Request,Response}.json @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from fakebroker.core.groups.consumer.state.member import ReportedPartitions
from fakebroker.protocol.group_records.many_names import Names

NOT_SAID = -1  # the rebalance timeout is unchanged


class ConsumerHeartbeatRequest(NamedTuple):
    """A ConsumerGroupHeartbeat request. None or NOT_SAID means that the value is unchanged or missing. `may_describe`
    tells which topics the client may describe, also after the response; None for all."""

    version: int
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = NOT_SAID
    topic_names: Names | None = None
    topic_regex: str | None = None
    assignor: str | None = None
    owned: Sequence[ReportedPartitions] | None = None
    client_id: str = ""
    client_host: str = ""
    may_describe: Callable[[str], bool] | None = None

    @property
    def is_full(self) -> bool:
        """Return True for a full request, as a client sends when a response was lost."""
        is_subscribed = self.topic_names is not None or self.topic_regex is not None
        return self.rebalance_timeout_ms != NOT_SAID and is_subscribed and self.owned is not None


class HeartbeatAnswer(NamedTuple):
    """A ConsumerGroupHeartbeat response. Without an assignment nothing has changed for the member."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Sequence[ReportedPartitions] | None = None


class NamedPartitions(NamedTuple):
    """Partitions of a topic that exists."""

    topic_id: UUID
    topic_name: str
    partitions: Sequence[int]


class DescribedConsumerMember(NamedTuple):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topic_names: Sequence[str]
    topic_regex: str | None
    assignment: Sequence[NamedPartitions]
    target: Sequence[NamedPartitions]
    is_classic: bool


class DescribedConsumerGroup(NamedTuple):
    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: Sequence[DescribedConsumerMember]
