"""The response to a request, changed by faults."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, final

from fakebroker.cluster.faults import wire
from fakebroker.cluster.faults.decoded_request import WHOLE, DecodedRequest
from fakebroker.cluster.faults.tree import Path, at, error_at, replaced
from fakebroker.core.faults.actions import Error
from fakebroker.core.faults.armed import Armed
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.framing import LENGTH_BYTES
from fakebroker.protocol.messages import decode_response, encode_response
from fakebroker.protocol.produce_response import PartitionProduceResponse, TopicProduceResponse

_ROLES = ("group", "member", "transactional_id")


@final
class DecodedResponse:
    """A response. `frame` is all of it; several changes are made before it is encoded again."""

    def __init__(self, asked: DecodedRequest, frame: bytes) -> None:
        self._frame: bytes | None = frame  # None after a change, until its bytes are needed
        self._asked = asked
        self._tree = asked.tree
        self._decoded: Any = None

    @property
    def frame(self) -> bytes:
        """Return the whole response as it is now."""
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
        """Return the parts of a response that a fault selects."""
        when = armed.fault.when
        if not when.entity_selectors:
            return WHOLE
        top = self._tree.roles(self._asked.message, (), {})
        return self._tree.matched(response, when, {name: top[name] for name in _ROLES if name in top})

    def is_good(self, armed: Armed) -> bool:
        """Return True if any of these parts has no error."""
        response = self._response
        for top in self.paths(response, armed):
            for leaf in self._tree.leaves(at(response, top), top):
                if error_at(response, leaf) in (ErrorCode.none, None):
                    return True
        return False

    def put_in(self, armed: Armed, error: Error, errors_frame: bytes) -> None:
        """Add the parts that were removed from the request, with their error. `errors_frame` is a response in which
        every part has failed."""
        errors = self._read(errors_frame)
        paths = self.paths(errors, armed)
        for path in paths:
            errors = self._tree.with_errors(errors, path, error.code)
        self._becomes(self._tree.merged(self._response, errors, paths))

    def fail(self, armed: Armed, error: Error) -> None:
        """Set the error of the selected parts. The work is kept, and so is the base offset of a Produce. Errors that
        parts have already stay."""
        over: tuple[ErrorCode, ...] | None = None
        if self._asked.api == "Produce":  # a Produce that was completed early has 7 by now
            over = (ErrorCode.none, ErrorCode.request_timed_out)
        response = self._response
        for path in WHOLE if error.level == "top" else self.paths(response, armed):
            response = self._tree.with_errors(response, path, error.code, over)
        self._becomes(_without_records(response) if self._asked.api == "Fetch" else response)

    def throttle(self, ms: int) -> None:
        """Set the throttle time of the response."""
        if hasattr(self._response, "throttle_time"):
            self._becomes(replaced(self._response, throttle_time=timedelta(milliseconds=ms)))

    def corrupt_batches(self, armed: Armed) -> None:
        """Flip a bit of the records."""
        self._becomes(wire.corrupted(self._tree, self._response, self.paths(self._response, armed)))

    def position_of_part(self, part: int) -> int:
        """Return where the error code of its n-th part is; its end if it has fewer."""
        return wire.position_of_part(self._tree, self._response, self._asked.header.correlation_id, part)

    def produce_topics(self) -> tuple[TopicProduceResponse, ...]:
        """Return the content of a Produce response, for listeners."""
        topics = []
        for topic in self._response.responses:
            roles = self._tree.roles_of(topic)
            partitions = tuple(
                PartitionProduceResponse(partition.index, int(partition.error_code), partition.base_offset)
                for partition in topic.partition_responses
            )
            topics.append(TopicProduceResponse(roles["topic"] or "", roles["topic_id"], partitions))
        return tuple(topics)


def _without_records(response: Any) -> Any:
    """Return a Fetch response in which failed partitions have nothing but their error, as
    FetchResponse.partitionResponse."""
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
