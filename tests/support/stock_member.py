"""A member of a classic group that behaves as stock clients do: joins, syncs, sends heartbeats, joins again if told to.

Each request gets one response, or its connection is closed. A witness gets the partitions that the member owns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakebroker.core.groups.classic.messages import JoinAnswer, SyncAnswer
from fakebroker.protocol.error_code import ErrorCode
from support.classic_members import Asked, ClassicMembers

HEARTBEAT_MS = 1_000
SESSION_MS = 10_000
REBALANCE_MS = 20_000
_ID_IS_LOST = {ErrorCode.unknown_member_id, ErrorCode.illegal_generation}


class Witness:
    """The owners of partitions by generation."""

    def __init__(self, partitions: Sequence[int]) -> None:
        self.partitions = partitions
        self.owners: dict[tuple[int, int], str] = {}
        self.last_generation = 0

    def told(self, generation: int, who: str, owned: bytes) -> None:
        """Check that each partition has one owner in each generation: a member, or the member of an instance id."""
        for partition in owned:
            owner = self.owners.setdefault((generation, partition), who)
            assert owner == who, f"{partition} is owned by {owner} and {who} in generation {generation}"
        self.last_generation = max(self.last_generation, generation)


class StockMember:
    """A stock member; with an `instance_id` it is static, and comes back under that."""

    def __init__(self, members: ClassicMembers, witness: Witness, instance_id: str | None = None) -> None:
        self._members = members
        self._witness = witness
        self.instance_id = instance_id
        self.is_alive = True
        self.asked: list[Asked[Any]] = []  # all that it ever asked
        self.member_id = ""
        self.generation = -1
        self.owned: bytes | None = None  # while it is in a generation
        self._joining: Asked[JoinAnswer] | None = None
        self._syncing: Asked[SyncAnswer] | None = None
        self._beating: Asked[ErrorCode] | None = None
        self._next_heartbeat_ms = 0
        self.is_fenced = False
        self._join()

    def __repr__(self) -> str:
        said = [request.answers for request in self.asked[-3:]]
        return f"StockMember({self.member_id!r}, instance {self.instance_id}, alive {self.is_alive}, told {said})"

    def crash(self) -> None:
        """Drop the member without a LeaveGroup."""
        self.is_alive = False

    def leave(self) -> None:
        """Send a LeaveGroup, unless a request is pending: then the connection is not read, and is closed."""
        self.is_alive = False
        waits = (self._joining, self._syncing, self._beating) != (None, None, None)
        if self.member_id and not waits:
            self.asked.append(self._members.leave(self.member_id))

    def act(self, now_ms: int) -> bool:
        """Read the responses, and do what is due; return whether there was anything."""
        if not self.is_alive or self.is_fenced:
            return False
        if self._joining is not None:
            joined = self._joining.answer
            if joined is None:
                return False
            self._joining = None
            self._on_joined(joined)
            return True
        if self._syncing is not None:
            synced = self._syncing.answer
            if synced is None:
                return False
            self._syncing = None
            self._on_synced(synced)
            return True
        if self._beating is not None:
            code = self._beating.answer
            if code is None:
                return False
            self._beating = None
            if code is not ErrorCode.none:
                self._on_error(code)
            return True
        if now_ms < self._next_heartbeat_ms:
            return False
        self._next_heartbeat_ms = now_ms + HEARTBEAT_MS
        self._beating = self._members.send_heartbeat(self.member_id, self.generation, self.instance_id)
        self.asked.append(self._beating)
        return True

    def _join(self) -> None:
        self.owned = None
        self._joining = self._members.join(
            self.member_id,
            instance_id=self.instance_id,
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
            knows_ids=True,
        )
        self.asked.append(self._joining)

    def _on_joined(self, joined: JoinAnswer) -> None:
        code = joined.error_code
        if code is ErrorCode.none:
            assert joined.member_id
            self.member_id, self.generation = joined.member_id, joined.generation_id
            is_leader = joined.leader == joined.member_id and not joined.skip_assignment
            assignments = self._assigned([member.member_id for member in joined.members]) if is_leader else None
            self._syncing = self._members.sync(self.member_id, self.generation, assignments, self.instance_id)
            self.asked.append(self._syncing)
        elif code is ErrorCode.member_id_required:
            self.member_id = joined.member_id
            self._join()
        else:
            self._on_error(code)

    def _assigned(self, member_ids: list[str]) -> dict[str, bytes]:
        shares: dict[str, bytes] = dict.fromkeys(member_ids, b"")
        for partition in self._witness.partitions:
            shares[member_ids[partition % len(member_ids)]] += bytes([partition])
        return shares

    def _on_synced(self, synced: SyncAnswer) -> None:
        if synced.error_code is ErrorCode.none:
            self.owned = synced.assignment
            self._witness.told(self.generation, self.instance_id or self.member_id, self.owned)
        else:
            self._on_error(synced.error_code)

    def _on_error(self, code: ErrorCode) -> None:
        if code is ErrorCode.fenced_instance_id:
            self.is_fenced = True
            return
        if code in _ID_IS_LOST:
            self.member_id, self.generation = "", -1
        self._join()
