"""Producer ids that a cluster gives, and the times of what it writes by itself: stand-ins, the same on every cluster.

Theory   `producer(1)` stands for the first producer id that an answer to InitProducerId or EndTxn told, in what is sent
         behind it and in transcripts; so two clusters say the same bytes, and an id that is not the one it should be is
         a difference. An id is eight bytes, many of them zero, so it is not looked for: an answer is decoded, changed
         and encoded again, if that gives the same bytes when nothing is changed.
         The marker that ends a transaction has the coordinator's time; it has `MARKER_MS` here, and the CRC that fits.
         Its coordinator's epoch is counted from the one that a case begins with, if the case moves coordinators.
         A case that writes to the log of transactions itself does so behind what other cases left there: where that was
         is told as 0.
Units    wall milliseconds.
"""

from __future__ import annotations

import struct
from dataclasses import fields, is_dataclass, replace
from typing import Any

from conformance.frames import with_crc
from conformance.targets.described import KEY as DESCRIBE_TRANSACTIONS
from conformance.targets.described import described_transactions
from conformance.targets.wire import Sent
from conformance.transcripts.words import batches_in
from fakebroker.protocol.errors import InvalidRecordError, ProtocolError
from fakebroker.protocol.messages import decode_response, encode_response
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    decode_records,
    encode_batch,
    is_crc_valid,
    read_batch_header,
)
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME
from fakebroker.protocol.transaction_records.transaction_log import TransactionLogValue, decode_record

MARKER_MS = 1_700_000_000_123
MADE_UP_EPOCH = 1_000  # coordinators have lower ones, and cases that move coordinators say these or higher ones
_PRODUCE, _INIT_PRODUCER_ID, _END_TXN = 0, 22, 26
_TELLING = (_INIT_PRODUCER_ID, _END_TXN)
_STAND_IN = 0x7EAD_1D00_0000_0000
_PREFIX = struct.pack(">q", _STAND_IN)[:4]
_CRC_AT, _BASE_TIMESTAMP_AT, _PRODUCER_ID_AT, _LENGTH_AT = 17, 27, 43, 8  # in a batch of magic 2
_EPOCH_AT = 5  # before the end of the marker's record, which has no headers
_OVERHEAD = 12  # of a batch, that its length does not count


def producer(number: int) -> int:
    """Stands for the `number`th producer id that the cluster gives, from 1 on."""
    return _STAND_IN + number


class ProducerIds:
    """The producer ids of one run of a case, and their stand-ins."""

    def __init__(self) -> None:
        self._stand_ins: dict[int, int] = {}  # by the real ids
        self._real: dict[int, int] = {}
        self.first_epoch: int | None = None  # of the coordinator; each cluster has its history

    def real(self, data: bytes) -> bytes:
        """Whole frames that the case sends, with the ids that this cluster gave."""
        at = data.find(_PREFIX)
        while at >= 0:
            [stand_in] = struct.unpack_from(">q", data, at)
            real_id = struct.pack(">q", self._real.get(stand_in, stand_in))
            data = _with_crc_around(data[:at] + real_id + data[at + 8 :], at)
            at = data.find(_PREFIX, at + 8)
        return data

    def stand_ins(self, sent: Sent | None, frame: bytes) -> bytes:
        """Return a response with stand-ins; new ids are learned."""
        if sent is None:
            return frame
        try:
            if sent.api_key == DESCRIBE_TRANSACTIONS:
                return self._described(frame)
            number, says = decode_response(sent.api_key, sent.version, frame)
            if sent.api_key in _TELLING:
                self._learn(getattr(says, "producer_id", -1))
            if not self._real or encode_response(says, number)[4:] != frame:
                return frame
            return encode_response(self._in(says), number)[4:]
        except (ProtocolError, ValueError):
            return frame

    def _described(self, frame: bytes) -> bytes:
        says, places = described_transactions(frame)
        for state, at in zip(says["transaction_states"], places, strict=True):
            if state["transaction_state"]:  # an unknown transaction has 0
                frame = _put(frame, at, self._stand_ins.get(state["producer_id"], state["producer_id"]))
        return frame

    def stored(self, batch: bytes) -> bytes:
        """A batch as it is in a log."""
        header = read_batch_header(batch)
        if header.magic != 2:
            return batch
        changed = batch
        if header.producer_id in self._stand_ins:
            changed = _put(changed, _PRODUCER_ID_AT, self._stand_ins[header.producer_id])
        if header.is_control and min(header.base_timestamp_ms, header.max_timestamp_ms) > MARKER_MS:
            for at in (_BASE_TIMESTAMP_AT, _BASE_TIMESTAMP_AT + 8):
                changed = _put(changed, at, MARKER_MS)
        if header.is_control and self.first_epoch:
            [epoch] = struct.unpack_from(">i", batch, len(batch) - _EPOCH_AT)
            changed = changed[:-_EPOCH_AT] + struct.pack(">i", self._since_first(epoch)) + changed[-1:]
        return with_crc(changed) if changed != batch and is_crc_valid(batch, 0, len(batch)) else changed

    def state_records(self, transactional_id: str, batches: list[bytes]) -> list[bytes]:
        """Return the records of __transaction_state about one id, a batch for each record, as if there were no
        others."""
        records: list[bytes] = []
        for batch in batches:
            for record in decode_records(batch):
                named = decode_record(record.key, record.value)
                if named is None or named[0] != transactional_id:
                    continue
                value = None if named[1] is None else self._state(named[1], record.value)
                alone = encode_batch([Record(record.key, value)], base_timestamp_ms=MARKER_MS)
                records.append(_put(alone, 0, len(records)))
        return records

    def _state(self, state: TransactionLogValue, value: bytes | None) -> bytes:
        assert value is not None
        [version] = struct.unpack_from(">h", value)
        if state.encode(version) != value:
            raise InvalidRecordError(f"{value.hex()} is not written as it is read")
        ids = {
            name: self._stand_ins.get(getattr(state, name), getattr(state, name))
            for name in ("producer_id", "previous_producer_id", "next_producer_id")
        }
        times = {
            name: MARKER_MS if getattr(state, name) > MARKER_MS else getattr(state, name)
            for name in ("transaction_last_update_timestamp_ms", "transaction_start_timestamp_ms")
        }
        topics = sorted(
            (
                replace(part, partition_ids=tuple(sorted(part.partition_ids)))
                for part in state.transaction_partitions or ()
            ),
            key=lambda part: part.topic,
        )
        parts = None if state.transaction_partitions is None else tuple(topics)
        changes: dict[str, Any] = {**ids, **times, "transaction_partitions": parts}
        return replace(state, **changes).encode(version)

    def _since_first(self, coordinator_epoch: int) -> int:
        """Return the epoch since the first one, or unchanged if the case made it up itself."""
        first = self.first_epoch or 0
        return coordinator_epoch - first if first <= coordinator_epoch < MADE_UP_EPOCH else coordinator_epoch

    def _learn(self, producer_id: int) -> None:
        if producer_id >= 0 and producer_id not in self._stand_ins:
            stand_in = producer(len(self._stand_ins) + 1)
            self._stand_ins[producer_id] = stand_in
            self._real[stand_in] = producer_id

    def _in(self, value: Any, name: str = "") -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            changed = {
                field.name: self._in(getattr(value, field.name), field.name) for field in fields(value) if field.init
            }
            if changed.get("name") == TRANSACTION_STATE_TOPIC_NAME and "partition_responses" in changed:
                changed["partition_responses"] = tuple(map(_as_if_first, changed["partition_responses"]))
            return replace(value, **changed)
        if isinstance(value, tuple):
            return tuple(self._in(item, name) for item in value)
        if name == "coordinator_epoch":
            return type(value)(self._since_first(value))
        if name == "producer_id":
            return type(value)(self._stand_ins.get(value, value))
        if name == "records" and value:
            return self._fetched(bytes(value))
        return value

    def _fetched(self, data: bytes) -> bytes:
        batches = batches_in(data)
        whole = sum(map(len, batches))
        return b"".join(map(self.stored, batches)) + self._cut_off(data[whole:])

    def _cut_off(self, batch: bytes) -> bytes:
        """Return the beginning of a batch with a CRC of zeros: it cannot be checked."""
        whole = batch.ljust(RECORD_BATCH_OVERHEAD, b"\0")
        header = read_batch_header(whole)
        is_told = len(batch) >= _PRODUCER_ID_AT + 8
        producer_id = self._stand_ins.get(header.producer_id, header.producer_id) if is_told else 0
        whole = _put(whole, _PRODUCER_ID_AT, producer_id)
        if header.is_control:
            whole = _put(_put(whole, _BASE_TIMESTAMP_AT, MARKER_MS), _BASE_TIMESTAMP_AT + 8, MARKER_MS)
        return (whole[:_CRC_AT] + bytes(4) + whole[_CRC_AT + 4 :])[: len(batch)]


def _as_if_first(appended: Any) -> Any:
    """Return the part of a Produce response for a partition, as if the batch were the first."""
    return replace(appended, base_offset=type(appended.base_offset)(min(appended.base_offset, 0)))


def _with_crc_around(data: bytes, at: int) -> bytes:
    """Return the data with a new CRC, if the id at this place is that of a batch in a Produce frame."""
    start = at - _PRODUCER_ID_AT
    if not _is_in_produce(data, at) or start < 0 or data[start + 16] != 2:
        return data
    end = start + _OVERHEAD + struct.unpack_from(">i", data, start + _LENGTH_AT)[0]
    if not at < end <= len(data):
        return data
    return data[:start] + with_crc(data[start:end]) + data[end:]


def _is_in_produce(data: bytes, at: int) -> bool:
    """Return True if the frame around this place is a Produce request."""
    start = 0
    while start + 6 <= len(data):
        size, api_key = struct.unpack_from(">ih", data, start)
        if at < start + 4 + size:
            return bool(api_key == _PRODUCE)
        start += 4 + size
    return False


def _put(data: bytes, at: int, number: int) -> bytes:
    return data[:at] + struct.pack(">q", number) + data[at + 8 :]
