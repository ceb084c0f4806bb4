"""A recording in words: a transcript of plain values, which is what is compared and shown.

Theory   Words are made of bytes whenever they are needed and never kept, so what is kept cannot disagree with them.
         What cannot be decoded is said as hex; of batches the records are told decompressed, since two compression
         libraries may store the same records in different bytes.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

from conformance.targets.wire import Sent, correlation_id, decoded, named, plain
from conformance.transcripts.recording import Answer, Entry, Heard, Isr, Recording
from fakebroker.protocol.compression import Codec, DecompressedTooLargeError, DecompressionError, decompress
from fakebroker.protocol.messages import api_name
from fakebroker.protocol.record_batch import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD, is_crc_valid, read_batch_header

EntryWords: TypeAlias = dict[str, Any]
Transcript: TypeAlias = list[EntryWords]

_SHOWN_BYTES = 1024  # of records; more are named by their hash
_MAX_RECORDS = 1 << 28  # bytes of a batch, decompressed
_CODECS = frozenset(Codec) - {Codec.NONE}  # 5 to 7 mean nothing: such records are told as they are


def words(recording: Recording) -> Transcript:
    """All of it: a dict per entry, of dicts, lists, texts and numbers."""
    return [entry_words(entry) for entry in recording]


def entry_words(entry: Entry) -> EntryWords:
    if isinstance(entry, Heard):
        return {
            entry.step: entry.conn,
            "answers": [answer_words(answer) for answer in entry.answers],
            "end": entry.end,
        }
    if isinstance(entry, Isr):
        return {"isr": entry.partition, "is": list(entry.members)}
    return {
        "log": entry.partition,
        "error": named(entry.error),
        "log_start_offset": entry.start,
        "high_watermark": entry.watermark,
        "log_end_offset": entry.end,
        "batches": [batch_words(batch) for batch in entry.batches],
    }


def answer_words(answer: Answer) -> dict[str, Any]:
    """`after_ms` only if it is known."""
    took = {} if answer.after_ms is None else {"after_ms": answer.after_ms}
    return {
        "correlation_id": correlation_id(answer.frame),
        "to": asked(answer.to),
        **took,
        "says": _opened(decoded(answer.to, answer.frame)),
    }


def asked(sent: Sent | None) -> str:
    """ "Produce v9"; "?" for an answer to nothing."""
    return "?" if sent is None else f"{api_name(sent.api_key)} v{sent.version}"


def batches_in(data: bytes) -> list[bytes]:
    """The whole batches of what a Fetch answered; one that is cut off at the end is left out."""
    batches = []
    while len(data) >= RECORD_BATCH_OVERHEAD:
        size = read_batch_header(data).size_in_bytes
        if not RECORD_BATCH_OVERHEAD <= size <= len(data):
            break
        batches.append(data[:size])
        data = data[size:]
    return batches


def batch_words(batch: bytes) -> dict[str, Any]:
    """A batch's header, whether its CRC is right, and its records decompressed: as hex, or a hash if they are long."""
    header = read_batch_header(batch)
    records: bytes | str = batch[RECORD_BATCH_OVERHEAD:]
    try:
        if header.compression in _CODECS:
            records = decompress(header.compression, batch[RECORD_BATCH_OVERHEAD:], _MAX_RECORDS)
    except (DecompressionError, DecompressedTooLargeError) as problem:
        records = str(problem)
    return header._asdict() | {"is_crc_valid": is_crc_valid(batch, 0, len(batch)), "records": _shown(records)}


def _shown(records: bytes | str) -> Any:
    if isinstance(records, bytes) and len(records) > _SHOWN_BYTES:
        return {"bytes": len(records), "sha256": hashlib.sha256(records).hexdigest()}
    return plain(records)


def _opened(says: Any) -> Any:
    """The body of an answer with the records of a Fetch as batches, so that what differs can be named."""
    if not isinstance(says, dict):
        return says
    for topic in says.get("responses", ()):
        for part in topic.get("partitions", ()):
            data = bytes.fromhex(part.get("records") or "")
            if data:
                batches = [batch_words(batch) for batch in batches_in(data)]
                whole = sum(batch["batch_length"] + LOG_OVERHEAD for batch in batches)
                part["records"] = {"batches": batches, "bytes_of_the_next": len(data) - whole}
    return says
