"""Write the transaction markers that coordinators request from a broker, to the partitions that it leads.

Theory   Each partition gets its own result: an error if it does not exist or is not led here. One of __consumer_offsets
         is written through its group coordinator, which commits or drops the offsets. The response comes when all
         markers are replicated, or at the timeout. Very many markers are written in slices, so other work runs in
         between; Kafka appends them partition by partition beside all other requests.
Units    milliseconds.
Source   core/.../server/KafkaApis.scala handleWriteTxnMarkersRequest @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, final

from fakebroker.core.clock import HasNow
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.in_turns import InTurns
from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.transactions.marker_sender import TxnMarkerEntry
from fakebroker.core.transactions.markers import TxnMarker, write_markers
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition

_NO_ERROR: Final = ErrorCode.none
_MARKERS_OF_A_SLICE: Final = 16  # each is an append with its replication

Answered = Callable[[Mapping[TopicPartition, ErrorCode]], None]
CompleteOffsets = Callable[[int, TxnMarker, Callable[[ErrorCode], None]], None]


class _Answer:
    """The results for the markers of one request. It responds when all are known."""

    __slots__ = ("_answered", "_errors", "_left")

    def __init__(self, left: int, answered: Answered) -> None:
        self._left = left
        self._answered = answered
        self._errors: dict[TopicPartition, ErrorCode] = {}

    def tell(self, errors: Mapping[TopicPartition, ErrorCode], count: int) -> None:
        self._errors.update(errors)
        self._left -= count
        if self._left == 0:
            self._answered(self._errors)

    def tell_one(self, partition: TopicPartition, code: ErrorCode) -> None:
        self.tell({partition: code}, 1)

    def written(self, status: Sequence[ProducePartitionStatus]) -> None:
        errors: dict[TopicPartition, ErrorCode] = {}
        for partition_status in status:
            code = partition_status.response.error_code
            errors[partition_status.topic_partition] = _NO_ERROR if code == 0 else ErrorCode(code)
        self.tell(errors, len(status))


@final
class MarkerWriter:
    """The writer of one broker. `complete_offsets` ends a transaction in a partition of __consumer_offsets."""

    def __init__(
        self,
        clock: HasNow,
        metadata: MetadataCache,
        replicas: ReplicaManager,
        in_turns: InTurns,
        complete_offsets: CompleteOffsets,
        request_timeout_ms: Callable[[], int],
    ) -> None:
        self._clock = clock
        self._metadata = metadata
        self._replicas = replicas
        self._in_turns = in_turns
        self._complete_offsets = complete_offsets
        self._request_timeout_ms = request_timeout_ms

    def write(self, entry: TxnMarkerEntry, answered: Answered) -> None:
        """Write the markers of any coordinator. `answered` is called once, now or later. A partition named twice gets
        one marker."""
        partitions = entry.partitions
        if len(partitions) > 1:
            partitions = tuple(dict.fromkeys(partitions))
        answer = _Answer(len(partitions), answered)
        txn_marker = TxnMarker(entry.producer_id, entry.producer_epoch, entry.marker, entry.transaction_version)
        if len(partitions) > _MARKERS_OF_A_SLICE:
            self._in_turns.go_on("writing markers", self._write_in_slices(partitions, txn_marker, answer))
        elif partitions:
            self._write(partitions, txn_marker, answer)
        else:
            answered({})

    def _write_in_slices(
        self, partitions: Sequence[TopicPartition], txn_marker: TxnMarker, answer: _Answer
    ) -> Slices[None]:
        for start in range(0, len(partitions), _MARKERS_OF_A_SLICE):
            if start:
                yield
            self._write(partitions[start : start + _MARKERS_OF_A_SLICE], txn_marker, answer)

    def _write(self, partitions: Sequence[TopicPartition], txn_marker: TxnMarker, answer: _Answer) -> None:
        markers: dict[Partition, TxnMarker] = {}
        for topic_partition in partitions:
            partition = self._metadata.find_partition(topic_partition.topic, topic_partition.partition)
            if partition is None:
                answer.tell_one(topic_partition, ErrorCode.unknown_topic_or_partition)
            elif topic_partition.topic == GROUP_METADATA_TOPIC_NAME:
                self._complete_offsets(topic_partition.partition, txn_marker, partial(answer.tell_one, topic_partition))
            else:
                markers[partition] = txn_marker
        if markers:
            write_markers(self._replicas, self._request_timeout_ms(), markers, answer.written, self._clock.now)
