"""A member of a classic group: its identity, its protocols, its assignment, and the responses that it waits for.

Units    milliseconds.
Source   group-coordinator/.../classic/ClassicGroupMember.java @ 4.2.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import final

from fakebroker.core.groups.classic.messages import (
    DescribedMember,
    JoinAnswer,
    MemberProtocol,
    Reply,
    SyncAnswer,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

EMPTY_ASSIGNMENT = b""


@final
class ClassicGroupMember:
    """A member of a classic group. `protocols` are in the member's order of preference.

    `is_new`: the member does not know its id yet, so it cannot send heartbeats."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_being_answered",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: tuple[MemberProtocol, ...],
        assignment: bytes = EMPTY_ASSIGNMENT,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: Reply[JoinAnswer] | None = None
        self.awaiting_sync: Reply[SyncAnswer] | None = None
        self.is_new = False
        self.is_being_answered = False  # its response of the rebalance is still to be sent

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Return True if the member waits for a response of the rebalance, and so need not send heartbeats. A new
        member does not qualify."""
        waits = self.awaiting_join is not None or self.awaiting_sync is not None or self.is_being_answered
        return waits and not self.is_new

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for a protocol. Raise KafkaError if the member does not support it."""
        return self.protocol(protocol_name).metadata

    def protocol(self, protocol_name: str | None) -> MemberProtocol:
        """Return the protocol of that name. Raise KafkaError if the member does not support it."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol
        raise KafkaError(ErrorCode.unknown_server_error, f"Member does not support protocol {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the candidate that the member prefers. Raise KafkaError if it supports none."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise KafkaError(ErrorCode.unknown_server_error, "Member does not support any of the candidate protocols")

    def complete_sync(self, answer: SyncAnswer) -> None:
        """Complete the SyncGroup that the member waits for, if any."""
        reply, self.awaiting_sync = self.awaiting_sync, None
        if reply is not None:
            reply.complete(answer)

    def describe(self, protocol_name: str | None) -> DescribedMember:
        """Describe the member; without metadata if there is no protocol."""
        return DescribedMember(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            b"" if protocol_name is None else self.metadata(protocol_name),
            self.assignment,
        )
