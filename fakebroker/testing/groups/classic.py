"""A consumer of the classic protocol: members join, the leader assigns, all sync. On a rebalance it commits, gives up
all partitions and joins again (eager)."""

from __future__ import annotations

from typing import Any

from fakebroker.testing.groups import frames
from fakebroker.testing.groups.frames import Place
from fakebroker.testing.groups.member import (
    HEARTBEAT_MS,
    ILLEGAL_GENERATION,
    REBALANCE_MS,
    REBALANCING,
    REQUEST_MS,
    SESSION_MS,
    UNKNOWN_MEMBER,
    SimulatedConsumer,
)

_MEMBER_ID_REQUIRED = 79


class ClassicConsumer(SimulatedConsumer):
    """A member of a classic group."""

    _must_join = True
    _shares: dict[str, list[Place]] | None = None  # the assignment for SyncGroup

    def _wants_to_join(self) -> bool:
        return self._must_join or self._shares is not None

    def _ask_to_join(self) -> bool:
        if self._shares is not None:
            frame = frames.sync(self._next(), self.group, self.member_id, self.generation, self._shares)
            self._to_coordinator(frames.SYNC, frame, REBALANCE_MS + REQUEST_MS)
            return True
        self._own([])
        frame = frames.join(self._next(), self.group, self.member_id, SESSION_MS, REBALANCE_MS)
        self._to_coordinator(frames.JOIN, frame, REBALANCE_MS + REQUEST_MS)
        return True

    def _ask_to_beat(self) -> None:
        self._to_coordinator(frames.BEAT, frames.heartbeat(self._next(), self.group, self.member_id, self.generation))

    def _ask_to_leave(self) -> bool:
        if not self.member_id:
            return False
        self._to_coordinator(frames.LEAVE, frames.leave(self._next(), self.group, self.member_id))
        return True

    def _on_answer(self, api: int, answer: Any) -> None:
        error = int(answer.error_code)
        if self._is_of_coordinator(error):
            return
        if api == frames.LEAVE:
            self.crash()
        elif api == frames.JOIN:
            self._on_joined(error, answer)
        elif api == frames.SYNC and not error:
            self._shares = None
            self._own(frames.places_in(bytes(answer.assignment)))
            self._told(self.owned)
            self._confirmed()
            self._beat_ms = self._now_ms + HEARTBEAT_MS
        elif error:
            self._on_error(error)
        else:
            self._confirmed()

    def _on_joined(self, error: int, answer: Any) -> None:
        if error == _MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif error:
            self._on_error(error)
        else:
            self._must_join = False
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self._shares = {}
            if answer.leader == answer.member_id and not answer.skip_assignment:
                self._shares = self._assigned(sorted(member.member_id for member in answer.members))

    def _assigned(self, members: list[str]) -> dict[str, list[Place]]:
        known = self._simulation.cluster.metadata.topic(self.topic)
        shares: dict[str, list[Place]] = {member: [] for member in members}
        for index in range(0 if known is None else len(known.partitions)):
            shares[members[index % len(members)]].append((self.topic, index))
        return shares

    def _on_error(self, error: int) -> None:
        """Join again. Unless the error only announces a rebalance, the owned partitions are lost."""
        self._must_join, self._shares = True, None
        if error in (UNKNOWN_MEMBER, ILLEGAL_GENERATION):
            self._own([])
            self.generation = -1
        if error == UNKNOWN_MEMBER:
            self.member_id = ""
        if error not in (UNKNOWN_MEMBER, ILLEGAL_GENERATION, REBALANCING):
            self._back_off()

    def _on_commit_errors(self, errors: set[int]) -> None:
        super()._on_commit_errors(errors)
        for error in errors & {UNKNOWN_MEMBER, ILLEGAL_GENERATION, REBALANCING}:
            self._on_error(error)
