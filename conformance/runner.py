"""Does the steps of a case to a cluster and records what the cluster answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from conformance import frames
from conformance.awaited_groups import await_coordinator, await_group
from conformance.dying.awaited import await_partition
from conformance.random_ids import RandomIds
from conformance.sasl.nonces import ScramExchanges
from conformance.sasl.token_ids import TokenIds
from conformance.scenario import (
    LOOPBACK,
    AwaitCoordinator,
    AwaitGroup,
    AwaitIsr,
    AwaitPartition,
    AwaitTransaction,
    Case,
    CatchUp,
    CutOff,
    DeleteTopic,
    Disconnect,
    Freeze,
    Hear,
    Join,
    KillBroker,
    Listen,
    MakeTopics,
    MoveLeader,
    Pause,
    PauseBroker,
    Play,
    ReadLog,
    ReadTransactions,
    ResumeBroker,
    SaslFinal,
    Send,
    SetQuota,
    Settle,
    StartBroker,
    Step,
    StopBroker,
    Thaw,
    placeholder,
)
from conformance.session_ids import SessionIds
from conformance.targets.target import Target, ask
from conformance.targets.wire import FENCE, FENCE_ID, Connection, Sent, correlation_id, requests_in
from conformance.transactions.awaited import await_transaction
from conformance.transactions.stand_ins import ProducerIds
from conformance.transcripts.recording import Answer, Entry, Heard, Isr, Log, Recording
from conformance.transcripts.words import batches_in
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.record_batch import read_batch_header
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME

_POLL_MS = 5
_LOG_LIMIT_S = 20.0


def run(case: Case, target: Target) -> Recording:
    """Run a case with existing topics, and return an entry per step that notes something."""
    run_of_case = _Run(case, target)
    try:
        for step in case.steps:
            run_of_case.do(step)
    finally:
        run_of_case.end()
    return run_of_case.recording()


def run_as_far_as_it_goes(case: Case, target: Target) -> tuple[Recording, str]:
    """Run a case that may wait in vain. Return what was noted until then, and what it waited for."""
    run_of_case = _Run(case, target)
    try:
        for step in case.steps:
            run_of_case.do(step)
    except (RuntimeError, OSError) as reason:
        return run_of_case.recording(), str(reason)
    finally:
        run_of_case.end()
    return run_of_case.recording(), ""


class _Client:
    """A connection of a case."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.sent: dict[int, Sent] = {}
        self.sent_at: dict[int, float] = {}
        self.noted = 0
        self._unfinished = b""

    def send(self, data: bytes, now_s: float) -> None:
        requests, self._unfinished = requests_in(self._unfinished + data)
        for number, sent in requests.items():
            self.sent[number] = sent
            self.sent_at[number] = now_s
        self.connection.send(data)


class _Run:
    def __init__(self, case: Case, target: Target) -> None:
        self._target = target
        self._clients: dict[str, _Client] = {}
        self._entries: list[Entry] = []
        self._frozen, self._paused, self._cut = set[int](), set[int](), set[int]()
        self._random_ids = RandomIds()
        self._session_ids = SessionIds()
        self._producer_ids = ProducerIds()
        self._scram = ScramExchanges()
        self._token_ids = TokenIds()
        self._ids = self._placeholders([topic.name for topic in case.topics])

    def _placeholders(self, names: Sequence[str]) -> dict[str, tuple[UUID, UUID]]:
        return {name: (placeholder(name), real) for name, real in self._target.topic_ids(names).items()}

    def recording(self) -> Recording:
        return tuple(self._entries)

    def end(self) -> None:
        for broker in self._frozen:
            self._target.thaw(broker)
        for broker in self._paused:
            self._target.resume_broker(broker)
        for broker in self._cut:
            self._target.join(broker)
        for client in self._clients.values():
            client.connection.close()

    def do(self, step: Step) -> None:
        target = self._target
        match step:
            case Send(parts, conn, broker, host, listener):
                data = b"".join(parts)
                for stand_in, real in self._ids.values():
                    data = data.replace(stand_in.bytes, real.bytes)
                data = self._session_ids.real(self._random_ids.real(self._token_ids.real(data)))
                data = self._producer_ids.real(data)
                self._client(conn, broker, host, listener).send(data, target.now_s())
            case Settle(conn, within_ms):
                self._settle(conn, within_ms)
            case Listen(for_ms, conn):
                self._listen(conn, for_ms)
            case Hear(answers, conn, within_ms):
                self._hear(conn, answers, within_ms)
            case SaslFinal(conn=conn):
                client = self._client(conn)
                client.send(self._scram.final(step, client.connection.arrivals[-1].frame), target.now_s())
            case Disconnect(conn):
                self._clients.pop(conn).connection.close()
            case Pause(ms):
                target.pause(ms)
            case Freeze(broker):
                self._frozen.add(broker)
                target.freeze(broker)
            case Play(broker):
                self._frozen.add(broker)
                target.play(broker)
            case Thaw(broker):
                self._frozen.discard(broker)
                target.thaw(broker)
            case MoveLeader(topic, broker, partition):
                target.move_leader(topic, partition, broker)
                if topic == TRANSACTION_STATE_TOPIC_NAME and self._producer_ids.first_epoch is None:
                    self._producer_ids.first_epoch = leader_epoch(target, topic, broker)
            case StopBroker(broker):
                target.stop_broker(broker)
            case StartBroker(broker):
                target.start_broker(broker)
            case MakeTopics(topics):
                target.create_topics(topics)
                self._ids |= self._placeholders([topic.name for topic in topics])
            case KillBroker(broker):
                target.kill_broker(broker)
                self._paused.discard(broker)
            case PauseBroker(broker):
                self._paused.add(broker)
                target.pause_broker(broker)
            case ResumeBroker(broker):
                self._paused.discard(broker)
                target.resume_broker(broker)
            case CutOff(broker):
                self._cut.add(broker)
                target.cut_off(broker)
            case Join(broker):
                self._cut.discard(broker)
                target.join(broker)
            case DeleteTopic(topic):
                target.delete_topic(topic)
            case CatchUp(broker):
                target.catch_up(broker)
            case SetQuota(client_id, quotas):
                target.set_quota(client_id, quotas)
            case AwaitIsr(topic, isr, partition, within_ms):
                self._await_isr(topic, partition, set(isr), within_ms)
            case AwaitPartition():
                await_partition(target, step)
            case ReadLog(topic, partition, broker):
                log = read_log(target, topic, partition, broker)
                stored = tuple(map(self._producer_ids.stored, log.batches))
                self._entries.append(replace(log, batches=stored))
            case AwaitCoordinator():
                await_coordinator(target, step)
            case AwaitGroup():
                await_group(target, step)
            case AwaitTransaction():
                await_transaction(target, step)
            case ReadTransactions(transactional_id, broker):
                self._entries.append(self._read_transactions(transactional_id, broker))

    def _read_transactions(self, transactional_id: str, broker: int) -> Log:
        log = read_log(self._target, TRANSACTION_STATE_TOPIC_NAME, 0, broker)
        batches = tuple(self._producer_ids.state_records(transactional_id, list(log.batches)))
        return Log(f"{log.partition}:{transactional_id}", log.error, 0, len(batches), len(batches), batches)

    def _client(self, name: str, broker: int = 1, host: str = LOOPBACK, listener: str = "PLAINTEXT") -> _Client:
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = _Client(self._target.connect(broker, host, listener))
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
        limit = round(self._target.now_s() + for_ms / 1000, 6)  # virtual time is whole milliseconds
        while self._target.now_s() < limit and not client.connection.closed:
            client.connection.wait(len(client.connection.arrivals), limit)
        self._note(client, "listen", name, "closed" if client.connection.closed else "silent")

    def _hear(self, name: str, answers: int, within_ms: int) -> None:
        client = self._client(name)
        limit = self._target.now_s() + within_ms / 1000
        connection = client.connection
        wanted = client.noted + answers
        while len(connection.arrivals) < wanted and not connection.closed and self._target.now_s() < limit:
            connection.wait(len(connection.arrivals), limit)
        is_whole = len(connection.arrivals) >= wanted
        self._note(client, "hear", name, "open" if is_whole else "closed" if connection.closed else "silent")

    def _note(self, client: _Client, kind: str, name: str, end: str) -> None:
        answers = []
        while client.noted < len(client.connection.arrivals):
            arrival = client.connection.arrivals[client.noted]
            client.noted += 1
            number = correlation_id(arrival.frame)
            if number == FENCE_ID:
                break
            after_ms = round((arrival.at_s - client.sent_at.get(number, arrival.at_s)) * 1000, 1)
            sent = client.sent.get(number)
            frame = self._scram.stand_ins(name, sent, self._with_placeholders(arrival.frame))
            frame = self._random_ids.stand_ins(sent, self._token_ids.stand_ins(sent, frame))
            frame = self._producer_ids.stand_ins(sent, self._session_ids.stand_ins(sent, frame))
            answers.append(Answer(sent, frame, after_ms))
        self._entries.append(Heard(kind, name, tuple(answers), end))

    def _with_placeholders(self, frame: bytes) -> bytes:
        """Replace the ids of topics by placeholders, so that two clusters can have equal bytes."""
        for stand_in, real in self._ids.values():
            frame = frame.replace(real.bytes, stand_in.bytes)
        return frame

    def _await_isr(self, topic: str, partition: int, isr: set[int], within_ms: int) -> None:
        limit = self._target.now_s() + within_ms / 1000
        current = self._target.isr(topic, partition)
        while current != isr and self._target.now_s() < limit:
            self._target.pause(_POLL_MS * 4)
            current = self._target.isr(topic, partition)
        self._entries.append(Isr(f"{topic}-{partition}", tuple(sorted(current))))


def leader_epoch(target: Target, topic: str, broker: int) -> int:
    """Return the leader epoch of the topic's first partition, as a broker reports it."""
    connection = target.connect(broker)
    try:
        return int(ask(connection, target, 3, 12, frames.metadata([topic])).topics[0].partitions[0].leader_epoch)
    finally:
        connection.close()


def read_log(target: Target, topic: str, partition: int, broker: int) -> Log:
    """The committed log of a partition: its offsets, and each batch as stored.

    Waits until the watermark has reached the end, at most 20 s; then says where both are.
    """
    connection = target.connect(broker)
    try:
        limit = target.now_s() + _LOG_LIMIT_S
        while True:
            [described] = ask(connection, target, 3, 12, frames.metadata([topic])).topics
            epoch = next((p.leader_epoch for p in described.partitions if p.partition_index == partition), -1)
            [end] = ask(connection, target, 23, 4, frames.end_offset(topic, partition, epoch)).topics[0].partitions
            [part] = ask(connection, target, 1, 11, frames.fetch(topic, 0, partition)).responses[0].partitions
            if part.error_code is ErrorCode.offset_out_of_range:  # records were deleted, and it is not told how many
                earliest_request = frames.list_offsets(topic, frames.EARLIEST, partition)
                [first] = ask(connection, target, 2, 7, earliest_request).topics[0].partitions
                frame = frames.fetch(topic, first.offset, partition)
                [part] = ask(connection, target, 1, 11, frame).responses[0].partitions
            if end.end_offset == part.high_watermark or end.error_code or target.now_s() > limit:
                break
            target.pause(_POLL_MS)
        batches = batches_in(bytes(part.records or b""))
        while batches and (end_of_read := _end(batches)) < part.high_watermark:
            # Kafka ends a read where a segment ends.
            frame = frames.fetch(topic, end_of_read, partition)
            [more] = ask(connection, target, 1, 11, frame).responses[0].partitions
            more_batches = batches_in(bytes(more.records or b""))
            if not more_batches:
                break
            batches += more_batches
    finally:
        connection.close()
    return Log(
        f"{topic}-{partition}",
        int(part.error_code),
        int(part.log_start_offset),
        int(part.high_watermark),
        int(end.end_offset),
        tuple(batches),
    )


def _end(batches: list[bytes]) -> int:
    last = read_batch_header(batches[-1])
    return last.base_offset + last.last_offset_delta + 1
