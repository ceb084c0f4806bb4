"""A member of a classic group: who it is, what it can do, what it is assigned, and what it waits for.

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
    """`is_new`: it has not been told its id yet, so nobody can expect heartbeats of it. `protocols` are in the order in
    which it likes them."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
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

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Who waits for a rebalance need not send any, unless it is new."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        """What it says of itself for a protocol. Raises KafkaError if it does not know it."""
        return self.protocol(protocol_name).metadata

    def protocol(self, protocol_name: str | None) -> MemberProtocol:
        """Return the protocol of that name. Raises KafkaError if the member does not know it."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol
        raise KafkaError(ErrorCode.unknown_server_error, f"Member does not support protocol {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str:
        """The one of them that it likes best. Raises KafkaError if it knows none."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise KafkaError(ErrorCode.unknown_server_error, "Member does not support any of the candidate protocols")

    def complete_sync(self, answer: SyncAnswer, in_turn: bool = False) -> bool:
        """False if it waits for no such answer."""
        reply, self.awaiting_sync = self.awaiting_sync, None
        if reply is None:
            return False
        reply.complete(answer, in_turn)
        return True

    def describe(self, protocol_name: str | None) -> DescribedMember:
        """Without metadata if there is no protocol."""
        return DescribedMember(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            b"" if protocol_name is None else self.metadata(protocol_name),
            self.assignment,
        )
