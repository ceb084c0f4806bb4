"""What a request is told: its answer, changed by faults."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, final

from fakebroker.cluster.faults import wire
from fakebroker.cluster.faults.asked import WHOLE, Asked
from fakebroker.cluster.faults.tree import Path, at, error_at, replaced
from fakebroker.core.faults.actions import Action, Error
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.byte_actions import CorruptBatch, Cut
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.framing import LENGTH_BYTES
from fakebroker.protocol.messages import decode_response, encode_response
from fakebroker.protocol.produce_response import PartitionProduceResponse, TopicProduceResponse

_ROLES = ("group", "member", "transactional_id")


@final
class Told:
    """`frame` is the whole answer; it may be changed very often before it is written anew."""

    def __init__(self, asked: Asked, frame: bytes) -> None:
        self._frame: bytes | None = frame  # None once it is another answer, until somebody wants its bytes
        self._asked = asked
        self._tree = asked.tree
        self._decoded: Any = None

    @property
    def frame(self) -> bytes:
        """The whole answer as it is now."""
        if self._frame is None:
            self._frame = encode_response(self._decoded, self._asked.header.correlation_id)
        return self._frame

    @property
    def _response(self) -> Any:
        if self._decoded is None:
            self._decoded = self._read(self.frame)
        return self._decoded

    def _read(self, frame: bytes) -> Any:
        header = self._asked.header
        return decode_response(header.api_key, header.api_version, frame[LENGTH_BYTES:])[1]

    def _becomes(self, response: Any) -> None:
        self._decoded = response
        self._frame = None

    def paths(self, response: Any, armed: Armed) -> list[Path]:
        """The parts of an answer that a fault is for."""
        when = armed.fault.when
        if not when.entity_selectors:
            return WHOLE
        top = self._tree.roles(self._asked.message, (), {})
        return self._tree.matched(response, when, {name: top[name] for name in _ROLES if name in top})

    def is_good(self, armed: Armed) -> bool:
        """Whether any of these parts has no error."""
        response = self._response
        for top in self.paths(response, armed):
            for leaf in self._tree.leaves(at(response, top), top):
                if error_at(response, leaf) in (ErrorCode.none, None):
                    return True
        return False

    def put_in(self, armed: Armed, error: Error, errors_frame: bytes) -> None:
        """The parts that were taken out of the request, failed; `errors_frame` is how all of it would fail."""
        errors = self._read(errors_frame)
        paths = self.paths(errors, armed)
        for path in paths:
            errors = self._tree.with_errors(errors, path, error.code)
        self._becomes(self._tree.merged(self._response, errors, paths))

    def fail(self, armed: Armed, error: Error) -> None:
        """What was done stays done; of a Produce the base offset as well. What failed by itself is told as it is."""
        over: tuple[ErrorCode, ...] | None = None
        if self._asked.api == "Produce":  # whose wait was ended has 7 by now
            over = (ErrorCode.none, ErrorCode.request_timed_out)
        response = self._response
        for path in WHOLE if error.level == "top" else self.paths(response, armed):
            response = self._tree.with_errors(response, path, error.code, over)
        self._becomes(_without_records(response) if self._asked.api == "Fetch" else response)

    def throttle(self, ms: int) -> None:
        """Say that the client is throttled."""
        if hasattr(self._response, "throttle_time"):
            self._becomes(replaced(self._response, throttle_time=timedelta(milliseconds=ms)))

    def corrupt(self, armed: Armed, action: CorruptBatch) -> None:
        """Flip a bit of the records."""
        self._becomes(wire.corrupted(self._tree, self._response, self.paths(self._response, armed)))

    def bytes_before(self, cut: Cut) -> int:
        """How many are written of it."""
        start = 0
        if cut.part:
            correlation_id = self._asked.header.correlation_id
            start = wire.position_of_part(self._tree, self._response, correlation_id, cut.part)
        return start + cut.bytes

    def changed(self, actions: Sequence[Action]) -> bytes:
        """What is written in its place."""
        return wire.changed(self.frame, actions)

    def produce_topics(self) -> tuple[TopicProduceResponse, ...]:
        """Of a Produce: what it says, for whoever listens."""
        found = []
        for topic in self._response.responses:
            roles = self._tree.roles_of(topic)
            partitions = tuple(
                PartitionProduceResponse(each.index, int(each.error_code), each.base_offset)
                for each in topic.partition_responses
            )
            found.append(TopicProduceResponse(roles["topic"] or "", roles["topic_id"], partitions))
        return tuple(found)


def _without_records(response: Any) -> Any:
    """A Fetch answer whose failed partitions have nothing but their error, as FetchResponse.partitionResponse."""
    topics = []
    for topic in response.responses:
        partitions = []
        for partition in topic.partitions:
            if partition.error_code is not ErrorCode.none:
                nothing = {"high_watermark": -1, "last_stable_offset": -1, "log_start_offset": -1}
                said = {name: value for name, value in nothing.items() if hasattr(partition, name)}
                partition = replaced(partition, aborted_transactions=None, records=None, **said)
            partitions.append(partition)
        topics.append(replaced(topic, partitions=tuple(partitions)))
    return replaced(response, responses=tuple(topics))
