"""A simulated exactly-once processor: each input record makes one output record, in a transaction that also commits the
offset.

Theory   InitProducerId fences the previous processor with the same transactional id. Then it fetches the committed
         offset of its group, and waits while a transaction with this offset is open. It reads the input from there,
         with a few records per transaction. After an abort it fetches the offset again.
"""

from __future__ import annotations

from typing import Any

from fakebroker.protocol.messages import decode_response
from fakebroker.testing import wire
from fakebroker.testing.groups.frames import OFFSETS, fetch_offsets
from fakebroker.testing.transactions import frames
from fakebroker.testing.transactions.frames import Place
from fakebroker.testing.transactions.job import Job
from fakebroker.testing.transactions.judge import TransactionHistory
from fakebroker.testing.transactions.network import Network
from fakebroker.testing.transactions.oracle import batches_in, committed
from fakebroker.testing.transactions.producer import REQUEST_MS, TransactionalProducer
from fakebroker.testing.wire import FETCH

_OFFSETS_VERSION = 8
_MAX_BYTES, _MAX_RECORDS = 400, 3
IDLE_MS = 200  # until it fetches input again


class Processor(TransactionalProducer):
    """A processor from the partition `source` to `target`. `position` is the next offset to read, None while it is
    unknown."""

    def __init__(
        self,
        name: str,
        transactional_id: str,
        network: Network,
        history: TransactionHistory,
        version: int,
        timeout_ms: int,
        source: Place,
        target: Place,
        pace_ms: int = 5,
    ) -> None:
        super().__init__(name, transactional_id, network, history, version, timeout_ms, pace_ms)
        self.group = f"group of {transactional_id}"
        self.source, self.target = source, target
        self.position: int | None = None

    def _ask(self) -> bool:
        if (
            self._wants_id
            or self.transaction is not None
            or self.jobs
            or self._coordinators[frames.TRANSACTION] is None
        ):
            return super()._ask()
        if self._coordinators[frames.GROUP] is None:
            self._find(frames.GROUP)
        elif self.position is None:
            frame = fetch_offsets(self._next(), self.group, [self.source])
            self._to_coordinator(OFFSETS, frame, frames.GROUP)
        else:
            leader = self._simulation.partition(*self.source).leader_id
            if leader < 0:
                self._back_off()
                return False
            frame = wire.fetch(self._next(), *self.source, self.position, 0, True, _MAX_BYTES)
            self.line.ask(leader, FETCH, frame, REQUEST_MS)
        return True

    def _decoded(self, api: int, frame: bytes) -> Any:
        if api == FETCH:
            return frames.fetched(frame)
        if api == OFFSETS:
            return decode_response(OFFSETS, _OFFSETS_VERSION, frame)[1]
        return super()._decoded(api, frame)

    def _on_answer(self, api: int, answer: Any) -> None:
        if api == FETCH:
            self._on_fetched(answer)
        elif api == OFFSETS:
            self._on_offsets(answer)
        else:
            super()._on_answer(api, answer)

    def _on_offsets(self, answer: Any) -> None:
        [group] = answer.groups
        error = int(group.error_code)
        if error:
            if not self._is_again(error, frames.GROUP):
                raise AssertionError(f"{self.name} requested its offsets, and got {error}")
            return
        [part] = [part for topic in group.topics for part in topic.partitions]
        if part.error_code:
            self._back_off()  # UNSTABLE_OFFSET_COMMIT: a transaction is open
        else:
            self.position = max(int(part.committed_offset), 0)
            self._think()

    def _on_fetched(self, fetched: frames.PartitionFetchResult) -> None:
        assert self.position is not None
        batches = batches_in(fetched.records)
        given = [] if fetched.error else committed(batches, fetched.aborted, self.position)[:_MAX_RECORDS]
        if not given:
            if batches and not fetched.error:
                self.position = batches[-1].last + 1
            self._not_before_ms = self._now_ms + IDLE_MS
            return
        number = self._begun + 1
        values = [b"%s-%d of %d" % (self.name.encode(), number, offset) for offset, _ in given]
        for (offset, _), value in zip(given, values, strict=True):
            self._history.effect(self.source, offset, value)
        self.jobs.append(Job(((self.target, tuple(values)),), True, {self.source: given[-1][0] + 1}))

    def _on_done(self, job: Job, committed: bool) -> None:
        self.position = job.offsets[self.source] if committed else None
