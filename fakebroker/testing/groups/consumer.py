"""A consumer of KIP-848: heartbeats return its assignment. It commits partitions before it gives them up, and then
confirms."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fakebroker.testing.groups import frames
from fakebroker.testing.groups.frames import Place
from fakebroker.testing.groups.member import (
    FENCED_EPOCH,
    ILLEGAL_GENERATION,
    REBALANCE_MS,
    STALE_EPOCH,
    UNKNOWN_MEMBER,
    SimulatedConsumer,
)

_LEAVES = -1


class ConsumerGroupConsumer(SimulatedConsumer):
    """A member of a consumer group."""

    _target: list[Place] | None = None  # assigned, but not owned yet

    def _wants_to_join(self) -> bool:
        return self.generation < 0 or self._target is not None

    def _ask_to_join(self) -> bool:
        """Take the assignment and confirm it. The offsets of partitions to give up are already committed."""
        if self._target is not None:
            self._own(self._target)
            self._target = None
        self._ask_to_beat()
        return True

    def _ask_to_beat(self) -> None:
        self._send_beat(max(self.generation, 0))

    def _ask_to_leave(self) -> bool:
        if self.generation < 0:
            return False
        self._send_beat(_LEAVES)
        return True

    def _send_beat(self, epoch: int) -> None:
        self.member_id = self.name
        known = self._simulation.cluster.metadata.topic(self.topic)
        owned: dict[UUID, list[int]] = {}
        if known is not None and self.owned and epoch != 0:
            owned[known.topic_id] = [index for _, index in self.owned]
        frame = frames.consumer_heartbeat(
            self._next(), self.group, self.member_id, epoch, REBALANCE_MS, self.topic, owned
        )
        self._to_coordinator(frames.CONSUMER_BEAT, frame)

    def _on_answer(self, api: int, answer: Any) -> None:
        error = int(answer.error_code)
        if self._is_of_coordinator(error):
            return
        if error in (UNKNOWN_MEMBER, FENCED_EPOCH):
            self._lose_everything()
        elif error:
            self._back_off()
        elif answer.member_epoch < 0:
            self.crash()
        else:
            self.generation = answer.member_epoch
            self._confirmed()
            if answer.assignment is not None:
                assigned = [
                    (self.topic, index) for topic in answer.assignment.topic_partitions for index in topic.partitions
                ]
                self._told(assigned)
                if set(assigned) != set(self.owned):
                    self._target = assigned

    def _lose_everything(self) -> None:
        self.generation, self._target = -1, None
        self._own([])

    def _on_commit_errors(self, errors: set[int]) -> None:
        super()._on_commit_errors(errors)
        if errors & {UNKNOWN_MEMBER, ILLEGAL_GENERATION}:
            self._lose_everything()
        elif STALE_EPOCH in errors:
            self._beat_ms = 0  # the response has its epoch
