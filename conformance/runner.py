"""Does the steps of a case to a cluster and notes what the cluster answered."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias
from uuid import UUID

from conformance import frames
from conformance.scenario import (
    AwaitIsr,
    Case,
    CatchUp,
    DeleteTopic,
    Disconnect,
    Freeze,
    Listen,
    MoveLeader,
    Pause,
    ReadLog,
    Send,
    SetQuota,
    Settle,
    StartBroker,
    Step,
    StopBroker,
    Thaw,
    placeholder,
)
from conformance.targets.target import Target
from conformance.targets.wire import (
    FENCE,
    FENCE_ID,
    Connection,
    Sent,
    correlation_id,
    decoded,
    named,
    plain,
    requests_in,
)
from fakebroker.protocol.compression import DecompressedTooLargeError, DecompressionError, decompress
from fakebroker.protocol.messages import api_name, decode_response
from fakebroker.protocol.record_batch import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD, is_crc_valid, read_batch_header

Entry: TypeAlias = dict[str, Any]
Transcript: TypeAlias = list[Entry]

_POLL_MS = 5
_LOG_LIMIT_S = 20.0
_SHOWN_BYTES = 1024  # of records; more are named by their hash
_MAX_RECORDS = 1 << 28  # bytes of a batch, decompressed


def run(case: Case, target: Target) -> Transcript:
    """What the target answered to a case whose topics are there: an entry per step that notes something."""
    run_of_case = _Run(case, target)
    try:
        for step in case.steps:
            run_of_case.do(step)
    finally:
        run_of_case.end()
    return run_of_case.transcript()


class _Client:
    """A connection of a case."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.sent: dict[int, Sent] = {}
        self.sent_at: dict[int, float] = {}
        self.noted = 0
        self._unfinished = b""

    def send(self, data: bytes, now_s: float) -> None:
        found, self._unfinished = requests_in(self._unfinished + data)
        for number, sent in found.items():
            self.sent[number] = sent
            self.sent_at[number] = now_s
        self.connection.send(data)


class _Run:
    def __init__(self, case: Case, target: Target) -> None:
        self._target = target
        self._clients: dict[str, _Client] = {}
        self._entries: Transcript = []
        self._frozen: set[int] = set()
        self._ids = {name: (placeholder(name), real) for name, real in self._topic_ids(case).items()}

    def _topic_ids(self, case: Case) -> dict[str, UUID]:
        return self._target.topic_ids([topic.name for topic in case.topics])

    def transcript(self) -> Transcript:
        """With placeholders for topic ids, so that two clusters can say the same."""
        text = json.dumps(self._entries)
        for stand_in, real in self._ids.values():
            text = text.replace(str(real), str(stand_in)).replace(real.hex, stand_in.hex)
        entries: Transcript = json.loads(text)
        return entries

    def end(self) -> None:
        for broker in self._frozen:
            self._target.thaw(broker)
        for client in self._clients.values():
            client.connection.close()

    def do(self, step: Step) -> None:
        target = self._target
        match step:
            case Send(parts, conn, broker):
                data = b"".join(parts)
                for stand_in, real in self._ids.values():
                    data = data.replace(stand_in.bytes, real.bytes)
                self._client(conn, broker).send(data, target.now_s())
            case Settle(conn, within_ms):
                self._settle(conn, within_ms)
            case Listen(for_ms, conn):
                self._listen(conn, for_ms)
            case Disconnect(conn):
                self._clients.pop(conn).connection.close()
            case Pause(ms):
                target.pause(ms)
            case Freeze(broker):
                self._frozen.add(broker)
                target.freeze(broker)
            case Thaw(broker):
                self._frozen.discard(broker)
                target.thaw(broker)
            case MoveLeader(topic, broker, partition):
                target.move_leader(topic, partition, broker)
            case StopBroker(broker):
                target.stop_broker(broker)
            case StartBroker(broker):
                target.start_broker(broker)
            case DeleteTopic(topic):
                target.delete_topic(topic)
            case CatchUp(broker):
                target.catch_up(broker)
            case SetQuota(client_id, quotas):
                target.set_quota(client_id, quotas)
            case AwaitIsr(topic, isr, partition, within_ms):
                self._await_isr(topic, partition, set(isr), within_ms)
            case ReadLog(topic, partition, broker):
                self._entries.append(read_log(target, topic, partition, broker))

    def _client(self, name: str, broker: int = 1) -> _Client:
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = _Client(self._target.connect(broker))
        return client

    def _settle(self, name: str, within_ms: int) -> None:
        client = self._client(name)
        client.send(FENCE, self._target.now_s())
        limit = self._target.now_s() + within_ms / 1000
        connection = client.connection
        seen = client.noted
        end = "silent"
        while self._target.now_s() < limit:
            connection.wait(seen, limit)
            while seen < len(connection.arrivals):
                seen += 1
                if correlation_id(connection.arrivals[seen - 1].frame) == FENCE_ID:
                    end = "open"
                    break
            if end == "open" or connection.closed:
                break
        if connection.closed and end != "open":
            end = "closed"
        self._note(client, "settle", name, end)

    def _listen(self, name: str, for_ms: int) -> None:
        client = self._client(name)
        limit = self._target.now_s() + for_ms / 1000
        while self._target.now_s() < limit and not client.connection.closed:
            client.connection.wait(len(client.connection.arrivals), limit)
        self._note(client, "listen", name, "closed" if client.connection.closed else "silent")

    def _note(self, client: _Client, kind: str, name: str, end: str) -> None:
        answers = []
        while client.noted < len(client.connection.arrivals):
            arrival = client.connection.arrivals[client.noted]
            client.noted += 1
            number = correlation_id(arrival.frame)
            if number == FENCE_ID:
                break
            sent = client.sent.get(number)
            answers.append(
                {
                    "correlation_id": number,
                    "to": "?" if sent is None else f"{api_name(sent.api_key)} v{sent.version}",
                    "after_ms": round((arrival.at_s - client.sent_at.get(number, arrival.at_s)) * 1000, 1),
                    "says": opened(decoded(sent, arrival.frame)),
                }
            )
        self._entries.append({kind: name, "answers": answers, "end": end})

    def _await_isr(self, topic: str, partition: int, isr: set[int], within_ms: int) -> None:
        limit = self._target.now_s() + within_ms / 1000
        found = self._target.isr(topic, partition)
        while found != isr and self._target.now_s() < limit:
            self._target.pause(_POLL_MS * 4)
            found = self._target.isr(topic, partition)
        self._entries.append({"isr": f"{topic}-{partition}", "is": sorted(found)})


def read_log(target: Target, topic: str, partition: int, broker: int) -> Entry:
    """The committed log of a partition: its offsets, and each batch as stored, its records decompressed.

    Waits until the watermark has reached the end, at most 20 s; then says where both are.
    """
    connection = target.connect(broker)
    try:
        limit = target.now_s() + _LOG_LIMIT_S
        while True:
            [described] = _ask(connection, target, 3, 12, frames.metadata([topic])).topics
            epoch = next((p.leader_epoch for p in described.partitions if p.partition_index == partition), -1)
            [end] = _ask(connection, target, 23, 4, frames.end_offset(topic, partition, epoch)).topics[0].partitions
            [part] = _ask(connection, target, 1, 11, frames.fetch(topic, 0, partition)).responses[0].partitions
            if part.error_code == 1 and part.log_start_offset > 0:
                frame = frames.fetch(topic, part.log_start_offset, partition)
                [part] = _ask(connection, target, 1, 11, frame).responses[0].partitions
            if end.end_offset == part.high_watermark or end.error_code or target.now_s() > limit:
                break
            target.pause(_POLL_MS)
        batches = batches_in(bytes(part.records or b""))
        while batches and (end_of_read := _end(batches)) < part.high_watermark:
            # Kafka ends a read where a segment ends.
            frame = frames.fetch(topic, end_of_read, partition)
            [more] = _ask(connection, target, 1, 11, frame).responses[0].partitions
            found = batches_in(bytes(more.records or b""))
            if not found:
                break
            batches += found
    finally:
        connection.close()
    return {
        "log": f"{topic}-{partition}",
        "error": named(part.error_code),
        "log_start_offset": part.log_start_offset,
        "high_watermark": part.high_watermark,
        "log_end_offset": end.end_offset,
        "batches": batches,
    }


def _end(batches: list[Entry]) -> int:
    return int(batches[-1]["base_offset"] + batches[-1]["last_offset_delta"] + 1)


def opened(says: Any) -> Any:
    """The body of an answer with the records of a Fetch as batches, so that what differs can be named."""
    if not isinstance(says, dict):
        return says
    for topic in says.get("responses", ()):
        for part in topic.get("partitions", ()):
            data = bytes.fromhex(part.get("records") or "")
            if data:
                batches = batches_in(data)
                whole = sum(batch["batch_length"] + LOG_OVERHEAD for batch in batches)
                part["records"] = {"batches": batches, "bytes_of_the_next": len(data) - whole}
    return says


def batches_in(data: bytes) -> list[Entry]:
    """The batches of a Fetch answer as plain values; one that is cut off at the end is left out."""
    found = []
    while len(data) >= RECORD_BATCH_OVERHEAD:
        header = read_batch_header(data)
        if len(data) < header.size_in_bytes:
            break
        whole, data = data[: header.size_in_bytes], data[header.size_in_bytes :]
        records: bytes | str = whole[RECORD_BATCH_OVERHEAD:]
        try:
            if header.compression:
                records = decompress(header.compression, whole[RECORD_BATCH_OVERHEAD:], _MAX_RECORDS)
        except (DecompressionError, DecompressedTooLargeError) as problem:
            records = str(problem)
        fields = header._asdict() | {"is_crc_valid": is_crc_valid(whole, 0, len(whole)), "records": _shown(records)}
        found.append(fields)
    return found


def _shown(records: bytes | str) -> Any:
    if isinstance(records, bytes) and len(records) > _SHOWN_BYTES:
        return {"bytes": len(records), "sha256": hashlib.sha256(records).hexdigest()}
    return plain(records)


def _ask(connection: Connection, target: Target, api_key: int, version: int, frame: bytes) -> Any:
    seen = len(connection.arrivals)
    connection.send(frame)
    connection.wait(seen, target.now_s() + _LOG_LIMIT_S)
    if len(connection.arrivals) == seen:
        raise RuntimeError(f"{api_name(api_key)} v{version} was not answered while reading the log")
    return decode_response(api_key, version, connection.arrivals[seen].frame)[1]
