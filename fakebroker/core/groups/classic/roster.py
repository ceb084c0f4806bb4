"""The members of a classic group, its leader, and the members that it waits for.

Theory   Each JoinGroup needs to know whether members are missing, so they are counted: members that have not joined,
         pending ids, and members of a new generation that have not synced. An id is pending until a member joins with
         it.
Source   group-coordinator/.../classic/ClassicGroup.java @ 4.2.
Differs  The next leader is the oldest member that has joined; in Kafka the first one in the order of a hash table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import JoinAnswer, MemberProtocol, Reply, SyncAnswer
from fakebroker.core.groups.classic.protocols import SupportedProtocols
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError


@final
class Roster:
    """The members of a group. `members` is by id, oldest first."""

    def __init__(self, leader_id: str | None) -> None:
        """Begin without members. A group that is loaded knows its leader before its members are added."""
        self.leader_id = leader_id
        self.members: dict[str, ClassicGroupMember] = {}
        self._static_members: dict[str, str] = {}  # member id by instance id
        self._supported = SupportedProtocols()
        self._pending_join: set[str] = set()
        self._pending_sync: set[str] = set()
        self._awaiting_join = 0

    def add(self, member: ClassicGroupMember, reply: Reply[JoinAnswer] | None = None) -> None:
        """Add a member; the first one becomes the leader if there is none."""
        instance_id = member.group_instance_id
        if instance_id is not None:
            assert instance_id not in self._static_members, f"{instance_id} is a member already"
            self._static_members[instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supported.add(member)
        member.awaiting_join = reply
        self._awaiting_join += reply is not None
        self._pending_join.discard(member.member_id)

    def update_member(
        self,
        member: ClassicGroupMember,
        protocols: tuple[MemberProtocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        reply: Reply[JoinAnswer] | None,
    ) -> None:
        """Update a member that has rejoined. Without `reply` it does not wait for a JoinGroup response."""
        self._supported.remove(member)
        member.protocols = protocols
        self._supported.add(member)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._awaiting_join += (reply is not None) - (member.awaiting_join is not None)
        member.awaiting_join = reply

    def remove(self, member_id: str) -> None:
        """Remove the member, also if it is pending. Do nothing if the id is unknown."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supported.remove(member)
            self._awaiting_join -= member.awaiting_join is not None
            if member.group_instance_id is not None:
                self._static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self._pending_join.discard(member_id)
        self._pending_sync.discard(member_id)

    def replace_static_member(self, instance_id: str, old_member_id: str, new_member_id: str) -> ClassicGroupMember:
        """Give a static member a new id. Requests that wait under the old id get FENCED_INSTANCE_ID."""
        old = self.members[old_member_id]
        self.complete_join(old, JoinAnswer(ErrorCode.fenced_instance_id, old_member_id))
        old.complete_sync(SyncAnswer(ErrorCode.fenced_instance_id))
        new = ClassicGroupMember(
            new_member_id,
            old.group_instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocol_type,
            old.protocols,
            old.assignment,
        )
        del self.members[old_member_id]
        self.members[new_member_id] = new
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        self._static_members[instance_id] = new_member_id
        return new

    def static_member_id(self, instance_id: str) -> str | None:
        return self._static_members.get(instance_id)

    def validate_member(self, member_id: str, instance_id: str | None) -> None:
        """Raise KafkaError if there is no such member, or if another member has the instance id by now."""
        if instance_id is not None:
            existing = self._static_members.get(instance_id)
            if existing is None:
                raise KafkaError(ErrorCode.unknown_member_id, kafka_name(ErrorCode.unknown_member_id))
            if existing != member_id:
                raise KafkaError(ErrorCode.fenced_instance_id, kafka_name(ErrorCode.fenced_instance_id))
        if member_id not in self.members:
            raise KafkaError(ErrorCode.unknown_member_id, kafka_name(ErrorCode.unknown_member_id))

    def elect_joined_leader(self) -> bool:
        """Replace a leader that has not rejoined by a member that has. Return False if no member has, or if there are
        no members."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].awaiting_join is None:
            joined = (member.member_id for member in self.members.values() if member.awaiting_join is not None)
            leader_id = next(joined, None)
            if leader_id is None:
                return False
            self.leader_id = leader_id
        return True

    # The members that the group waits for.

    def is_pending(self, member_id: str) -> bool:
        """Return True if the id was given out and no member has joined with it."""
        return member_id in self._pending_join

    def add_pending(self, member_id: str) -> None:
        assert member_id not in self.members
        self._pending_join.add(member_id)

    @property
    def awaiting_join_count(self) -> int:
        return self._awaiting_join

    @property
    def have_all_joined(self) -> bool:
        return len(self.members) == self._awaiting_join and not self._pending_join

    @property
    def pending_sync(self) -> list[str]:
        """Return the ids, sorted."""
        return sorted(self._pending_sync)

    @property
    def have_all_synced(self) -> bool:
        return not self._pending_sync

    def add_pending_sync(self, member_id: str) -> None:
        assert member_id in self.members
        self._pending_sync.add(member_id)

    def remove_pending_sync(self, member_id: str) -> None:
        self._pending_sync.discard(member_id)

    def clear_pending_sync(self) -> None:
        self._pending_sync.clear()

    @property
    def rebalance_timeout_ms(self) -> int:
        """Return the longest rebalance timeout of the members."""
        return max(0, *(member.rebalance_timeout_ms for member in self.members.values()), 0)

    def complete_join(self, member: ClassicGroupMember, answer: JoinAnswer) -> None:
        """Complete the JoinGroup that the member waits for, if any."""
        reply = self.take_join(member)
        if reply is not None:
            reply.complete(answer)

    def take_join(self, member: ClassicGroupMember) -> Reply[JoinAnswer] | None:
        """Return the JoinGroup that the member waits for, if any. The caller completes it."""
        reply, member.awaiting_join = member.awaiting_join, None
        if reply is not None:
            self._awaiting_join -= 1
        return reply

    def complete_all_joins(self, code: ErrorCode) -> None:
        for member in list(self.members.values()):
            self.complete_join(member, JoinAnswer(code, member.member_id))

    def complete_all_syncs(self, code: ErrorCode) -> None:
        for member in list(self.members.values()):
            member.complete_sync(SyncAnswer(code))

    # Protocols.

    def any_is_known_to_all(self, names: Iterable[str]) -> bool:
        return self._supported.any_is_known_to(len(self.members), names)

    def select_protocol(self) -> str:
        """Raise KafkaError if no protocol is supported by all members."""
        return self._supported.select(self.members.values(), len(self.members))

    def check_invariants(self) -> None:
        """Check that the counts fit the members.

        A static member that is replaced before it has synced stays in `_pending_sync` under its old id. Kafka does the
        same, and a rebalance follows."""
        members = self.members.values()
        assert self._awaiting_join == sum(member.awaiting_join is not None for member in members)
        assert self._static_members == {
            member.group_instance_id: member.member_id for member in members if member.group_instance_id is not None
        }
        assert not self._pending_join & self.members.keys()
        assert self.leader_id in self.members or (self.leader_id is None and not self.members)
        self._supported.check_invariants(members)
