"""A simulated consumer: it reads its partitions in order and commits processed offsets, as Kafka's consumers do.

Theory   This is what both protocols share: finding the coordinator, fetching committed offsets, fetching from leaders,
         committing at intervals and before giving partitions up. The subclasses (classic.py, consumer.py) get the
         assignment. There is one connection to the coordinator and one for fetches, each with one request at a time.
         `act` handles responses and sends what is due. A paused consumer does nothing, like a paused process; it keeps
         its assignment until a response says otherwise. A crashed consumer is gone.
Units    milliseconds since the start of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakebroker.testing.actors.simulated_connection import SimulatedConnection
from fakebroker.testing.groups import frames
from fakebroker.testing.groups.frames import Place
from fakebroker.testing.groups.judge import GroupHistory
from fakebroker.testing.simulation import Simulation
from fakebroker.testing.wire import FETCH, fetch

SESSION_MS, REBALANCE_MS, HEARTBEAT_MS, REQUEST_MS = 10_000, 15_000, 3_000, 5_000
COMMIT_EVERY_MS, BACKOFF_MS, FETCH_WAIT_MS = 1_000, 100, 500
# Sessions of crashed members end, the others are notified, join and sync, and requests to stopped brokers time out.
# Each of these may be necessary twice.
SETTLES_MS = 2 * (SESSION_MS + REBALANCE_MS + HEARTBEAT_MS + REQUEST_MS)
# For this time after a request with result NONE, no coordinator can have taken the partitions: no session has expired.
SURE_MS = 5_000
_NONE, _LOADING, _NOT_AVAILABLE, _NOT_COORDINATOR = 0, 14, 15, 16
ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, FENCED_EPOCH, STALE_EPOCH = 22, 25, 27, 110, 113


class SimulatedConsumer:
    """A simulated consumer. `watermark` returns that of a partition, if known. `history` gets all reports."""

    def __init__(
        self,
        name: str,
        simulation: Simulation,
        history: GroupHistory,
        group: str,
        topic: str,
        watermark: Callable[[Place], int | None] = lambda place: None,
    ) -> None:
        self.name, self.group, self.topic = name, group, topic
        self._simulation, self._history, self._watermark = simulation, history, watermark
        self.is_alive, self.is_paused = True, False
        self.generation = -1  # or member epoch
        self.member_id = ""
        self.owned: list[Place] = []
        self.positions: dict[Place, int] = {}
        self.dirty: dict[Place, int] = {}  # processed, but not committed
        self._committing: dict[Place, int] = {}
        self._connection, self._fetch_connection = SimulatedConnection(simulation), SimulatedConnection(simulation)
        self._fetched: Place | None = None
        self._turn = 0  # round-robin index of partitions to fetch, and of brokers to ask for the coordinator
        self._coordinator: int | None = None
        self._not_before_ms = self._fetch_not_before_ms = 0
        self._beat_ms = self._commit_ms = 0
        self._is_leaving = False
        self._number = self._asked_ms = 0

    # Actions of a plan.

    def crash(self) -> None:
        """Crash: the connections close, without a LeaveGroup."""
        self.is_alive = False
        self._history.gives_up(self.name, self.owned)
        self._connection.close()
        self._fetch_connection.close()

    def leave(self) -> None:
        """Leave in order: commit, notify the coordinator, stop."""
        self._is_leaving = True

    # Behaviour.

    @property
    def is_settled(self) -> bool:
        """True if the consumer has its assignment, and knows where to read."""
        return self.generation >= 0 and set(self.positions) == set(self.owned) and not self._wants_to_join()

    def act(self) -> bool:
        """Handle responses and send what is due. Return True if there was anything to do."""
        if not self.is_alive or self.is_paused:
            return False
        did = False
        fetched = self._fetch_connection.take()
        if fetched is not None:
            did = True
            self._on_fetched(fetched.frame)
        answer = self._connection.take()
        if answer is not None:
            did = True
            if answer.frame is None:
                self._lose_coordinator()
                self._commit_again()
            elif answer.api == frames.FIND:
                self._on_found(frames.answered(answer.api, answer.frame))
            elif answer.api == frames.COMMIT:
                self._on_committed(frames.answered(answer.api, answer.frame))
            elif answer.api == frames.OFFSETS:
                self._on_offsets(frames.answered(answer.api, answer.frame))
            else:
                self._on_answer(answer.api, frames.answered(answer.api, answer.frame))
        if self.is_alive and self._connection.is_idle and self._now_ms >= self._not_before_ms:
            did = self._ask() or did
        if self.is_alive and self._fetch_connection.is_idle and self._now_ms >= self._fetch_not_before_ms:
            did = self._fetch() or did
        return did

    def next_wake_ms(self) -> int | None:
        """Return when the consumer next has something to do by itself."""
        if not self.is_alive or self.is_paused:
            return None
        times = [
            link.gives_up_ms for link in (self._connection, self._fetch_connection) if link.gives_up_ms is not None
        ]
        if self._connection.is_idle:
            times += [self._not_before_ms, self._beat_ms, *([self._commit_ms] if self.dirty else [])]
        if self._fetch_connection.is_idle and self.positions:
            times.append(self._fetch_not_before_ms)
        return min((time_ms for time_ms in times if time_ms > self._now_ms), default=None)

    # Overridden by each protocol.

    def _wants_to_join(self) -> bool:
        raise NotImplementedError

    def _ask_to_join(self) -> bool:
        raise NotImplementedError

    def _ask_to_beat(self) -> None:
        raise NotImplementedError

    def _ask_to_leave(self) -> bool:
        """Return False if no request is needed."""
        raise NotImplementedError

    def _on_answer(self, api: int, answer: Any) -> None:
        raise NotImplementedError

    # Requests.

    @property
    def _now_ms(self) -> int:
        return self._simulation.elapsed_ms

    def _ask(self) -> bool:
        if self._coordinator is None:
            self._turn += 1
            brokers = list(self._simulation.cluster.registry.broker_ids)
            self._send(
                brokers[self._turn % len(brokers)], frames.FIND, frames.find_coordinator(self._next(), self.group)
            )
        elif self.dirty and (self._is_leaving or self._wants_to_join() or self._now_ms >= self._commit_ms):
            self._ask_to_commit()
        elif self._is_leaving:
            self._own([])
            if not self._ask_to_leave():
                self.crash()
        elif self._wants_to_join():
            return self._ask_to_join()
        elif missing := [place for place in self.owned if place not in self.positions]:
            self._send(self._coordinator, frames.OFFSETS, frames.fetch_offsets(self._next(), self.group, missing))
        elif self._now_ms >= self._beat_ms:
            self._beat_ms = self._now_ms + HEARTBEAT_MS
            self._ask_to_beat()
        else:
            return False
        return True

    def _send(self, broker: int, api: int, frame: bytes, patience_ms: int = REQUEST_MS) -> None:
        self._asked_ms = self._now_ms
        self._connection.ask(broker, api, frame, patience_ms)

    def _to_coordinator(self, api: int, frame: bytes, patience_ms: int = REQUEST_MS) -> None:
        assert self._coordinator is not None
        self._send(self._coordinator, api, frame, patience_ms)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _back_off(self) -> None:
        self._not_before_ms = self._now_ms + BACKOFF_MS

    def _lose_coordinator(self) -> None:
        self._coordinator = None
        self._back_off()

    def _is_of_coordinator(self, error: int) -> bool:
        """Return True if the coordinator has moved or is not ready."""
        if error in (_NOT_AVAILABLE, _NOT_COORDINATOR):
            self._lose_coordinator()
        elif error == _LOADING:
            self._back_off()
        else:
            return False
        return True

    def _on_found(self, answer: Any) -> None:
        if answer.error_code == _NONE:
            self._coordinator = int(answer.node_id)
        else:
            self._back_off()

    # Committing.

    def _ask_to_commit(self) -> None:
        self._commit_ms = self._now_ms + COMMIT_EVERY_MS
        self._committing, self.dirty = self.dirty, {}
        for place, offset in self._committing.items():
            self._history.commits(self.name, place, offset)
        frame = frames.commit(self._next(), self.group, self.member_id, self.generation, self._committing)
        self._to_coordinator(frames.COMMIT, frame)

    def _on_committed(self, answer: Any) -> None:
        requested = self._committing
        errors = {
            (topic.name, part.partition_index): int(part.error_code)
            for topic in answer.topics
            for part in topic.partitions
        }
        for place, error in errors.items():
            if error == _NONE:
                self._history.committed(self.name, place, requested.pop(place), self.generation)
            elif error in (ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, STALE_EPOCH):
                self._history.refused(self.name, place, requested[place])
        self._commit_again()
        self._on_commit_errors(set(errors.values()) - {_NONE})

    def _commit_again(self) -> None:
        """Mark the offsets for another commit, as the result is unknown."""
        for place, offset in self._committing.items():
            if place in self.positions:
                self.dirty.setdefault(place, offset)
        self._committing = {}

    def _on_commit_errors(self, errors: set[int]) -> None:
        for error in errors:
            self._is_of_coordinator(error)

    # Reading.

    def _on_offsets(self, answer: Any) -> None:
        [group] = answer.groups
        if self._is_of_coordinator(int(group.error_code)):
            return
        for topic in group.topics:
            for part in topic.partitions:
                place = topic.name, part.partition_index
                if part.error_code != _NONE:
                    self._back_off()
                elif place in self.owned:
                    committed = int(part.committed_offset)
                    self.positions[place] = max(committed, 0)
                    self._history.resumes(self.name, place, max(committed, 0), committed)

    def _fetch(self) -> bool:
        if not self.positions or self._wants_to_join() or self._is_leaving:
            return False
        self._turn += 1
        place = sorted(self.positions)[self._turn % len(self.positions)]
        leader = self._simulation.partition(*place).leader_id
        self._fetched = place
        if leader < 0:
            self._fetch_not_before_ms = self._now_ms + BACKOFF_MS
            return False
        frame = fetch(self._next(), *place, self.positions[place], FETCH_WAIT_MS)
        self._fetch_connection.ask(leader, FETCH, frame, REQUEST_MS)
        return True

    def _on_fetched(self, frame: bytes | None) -> None:
        self._fetch_not_before_ms = self._now_ms
        place = self._fetched
        if frame is None or place is None or place not in self.positions:
            self._fetch_not_before_ms = self._now_ms + BACKOFF_MS
            return
        error, offsets = frames.offsets_in(frame)
        if error != _NONE:
            self._fetch_not_before_ms = self._now_ms + BACKOFF_MS
        for offset in offsets:
            if offset >= self.positions[place]:  # a fetch returns whole batches
                self._history.reads(self.name, place, offset, self._watermark(place))
                self.positions[place] = self.dirty[place] = offset + 1

    # Ownership.

    def _told(self, places: Sequence[Place]) -> None:
        """Report the assignment. A consumer that was paused reads old responses, which may contradict the current
        owners."""
        is_news = self._connection.answered_ms == self._now_ms
        self._history.owns(self.name, self.generation, places, self._now_ms if is_news else None)

    def _confirmed(self) -> None:
        """Report that the coordinator has confirmed the member's ownership."""
        if self._now_ms < self._asked_ms + SURE_MS:
            self._history.holds(self.name, self.owned, self._asked_ms + SURE_MS)

    def _own(self, places: Sequence[Place]) -> None:
        """Set the owned partitions. The others are no longer read."""
        self._history.gives_up(self.name, [place for place in self.owned if place not in places])
        self.owned = list(places)
        self.positions = {place: offset for place, offset in self.positions.items() if place in self.owned}
        self.dirty = {place: offset for place, offset in self.dirty.items() if place in self.owned}
        if self._fetched not in self.positions:
            self._fetched = None
