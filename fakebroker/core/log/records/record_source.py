"""The records of one batch, decompressed: at once if they are small, else piece by piece, as often as asked.

Theory   A validation reads the records once, seldom two or three times. A small batch is decompressed once and kept for
         that long. A large one is never in memory as a whole: it is decompressed anew each time, and other work may run
         between two pieces.
Units    sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from fakebroker.protocol.compression import DecompressedTooLargeError, DecompressionError, decompress_pieces
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, BatchHeader
from fakebroker.protocol.record_stream.fields import RecordFields
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

# The largest size of an uncompressed request: the default of socket.request.max.bytes.
MAX_DECOMPRESSED_BYTES: Final = 104_857_600

SMALL_BYTES: Final = 64 * 1024  # Some 200 us of work, for a walk over the smallest possible records.
EACH_BYTES: Final = 8 * 1024  # The same, if each record is processed.
_SMALL_PIECES: Final = 8  # The limit of pieces: they may be empty.


@final
class RecordSource:
    """The records of a sound batch. Decompressing raises KafkaError as an append does: UNKNOWN_SERVER_ERROR for broken
    data, MESSAGE_TOO_LARGE for more than MAX_DECOMPRESSED_BYTES.

    data, start   all of the records, if they are small, and where they begin; else `data` is None
    """

    def __init__(self, batch: bytes, header: BatchHeader, topic_partition: TopicPartition) -> None:
        self._batch = batch
        self._codec = header.compression
        self._topic_partition = topic_partition
        self.data: bytes | None = None
        self.start = 0
        if self._codec:
            self._decompress_if_small()
        elif len(batch) <= RECORD_BATCH_OVERHEAD + SMALL_BYTES:
            self.data = batch
            self.start = RECORD_BATCH_OVERHEAD

    def _decompress_if_small(self) -> None:
        pieces: list[bytes] = []
        size = 0
        for piece in self._decompressed():
            pieces.append(piece)
            size += len(piece)
            if size > SMALL_BYTES or len(pieces) > _SMALL_PIECES:
                return
        self.data = pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def feed_all(self, stream: RecordFields, at_once: int) -> Slices[None]:
        """Feed the stream until its end, or until it is stopped, in fixed slices of `at_once` bytes. Raise
        InvalidRecordError as the stream does."""
        if self.data is None and self._codec:
            for piece in self._decompressed():
                for start in range(0, len(piece), at_once):
                    stream.feed(piece if len(piece) <= at_once else piece[start : start + at_once])
                    if stream.is_stopped:
                        return
                    yield
                if not piece:
                    yield
        else:
            data, position = self._batch, RECORD_BATCH_OVERHEAD
            if self.data is not None:
                data, position = self.data, self.start
            end = len(data)
            while position < end:
                passed_by = min(stream.to_pass_by, end - position)
                if passed_by:
                    stream.pass_by(passed_by)
                    position += passed_by
                stream.feed(data[position : position + at_once])
                if stream.is_stopped:
                    return
                position += at_once
                if position < end:
                    yield
        stream.finish()

    def _decompressed(self) -> Iterator[bytes]:
        try:
            yield from decompress_pieces(self._codec, self._batch[RECORD_BATCH_OVERHEAD:], MAX_DECOMPRESSED_BYTES)
        except DecompressionError as error:
            raise KafkaError(ErrorCode.unknown_server_error, f"Failed to decompress record stream: {error}") from None
        except DecompressedTooLargeError:
            raise KafkaError(
                ErrorCode.message_too_large,
                f"The record batch in the append to {self._topic_partition} decompresses to more than "
                f"{MAX_DECOMPRESSED_BYTES} bytes.",
            ) from None
