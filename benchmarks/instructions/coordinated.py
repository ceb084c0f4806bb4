"""The parts of the guard's work that coordinators serve: heartbeats, rebalances, offset commits, transactions.

Each function prepares a cluster of one broker in process and returns a function that does so many operations. Time
moves only where an operation needs it, by a fixed number of milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.transactions.requests import ERROR_AT_END, Frames
from conformance import frames
from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.replication.behaviour import INSTANT
from fakebroker.network.connection import Connection
from fakebroker.network.effects import InternalError, Send
from fakebroker.protocol.messages import decode_response

Work = Callable[[int], None]

OFFSET_COMMIT, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, SYNC_GROUP, INIT_PRODUCER_ID = 8, 10, 11, 12, 14, 22
COMMIT_VERSION, FIND_VERSION, JOIN_VERSION, HEARTBEAT_VERSION, SYNC_VERSION, INIT_VERSION = 7, 2, 3, 2, 2, 4
START = Now(0, 1_800_000_000_000)
TURN = 32  # requests that come with one read
SESSION = timedelta(minutes=5)
STEP_MS, MOST_STEPS = 1, 5_000
CONFIG = BrokerConfig().with_text(
    {
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
)


class Served:
    """A cluster of one broker, and the time that its clients have."""

    def __init__(self) -> None:
        self.cluster = Cluster(START, 1, config=CONFIG, followers=INSTANT)
        self.now = START
        self.cluster.admin.create_topic(NewTopic("t000", 1, 1), START)

    def connect(self) -> Connection:
        return self.cluster.open_connection(1, "bench", self.now)

    def advance(self, ms: int) -> None:
        self.now = Now(self.now.mono_ms + ms, self.now.wall_ms + ms)
        self.cluster.advance_to(self.now)

    def exchange(self, connection: Connection, data: bytes) -> bytes:
        """Send the bytes and return the responses. Virtual time passes until there is one."""
        self.cluster.receive(connection, data, self.now)
        return self.answers(connection)

    def answers(self, connection: Connection) -> bytes:
        for _ in range(MOST_STEPS):
            effects = self.cluster.take_effects()
            for effect in effects:
                if isinstance(effect, InternalError):
                    raise effect.error
            sent = b"".join(
                effect.data for effect in effects if isinstance(effect, Send) and effect.connection is connection
            )
            if sent:
                return sent
            self.advance(STEP_MS)
        raise AssertionError(f"no answer within {MOST_STEPS} ms")

    def ask(self, connection: Connection, api_key: int, version: int, values: dict[str, Any]) -> Any:
        """Return the first response without an error: while a coordinator loads it answers with one."""
        for _ in range(MOST_STEPS):
            request = frames.request(api_key, version, values)
            answer: Any = decode_response(api_key, version, self.exchange(connection, request)[4:])[1]
            if not answer.error_code:
                return answer
            self.advance(STEP_MS)
        raise AssertionError(f"API {api_key} is answered {answer.error_code!r}")

    def repeat(self, connection: Connection, frame: bytes, no_error: Callable[[Any], bool], version: int) -> Work:
        """Return work that sends the same request over and over, pipelined."""
        data = frame * TURN
        api_key = int.from_bytes(frame[4:6], "big")
        answers = self.exchange(connection, data)
        size = 4 + int.from_bytes(answers[:4], "big")
        if len(answers) != TURN * size or not no_error(decode_response(api_key, version, answers[4:size])[1]):
            raise AssertionError(f"API {api_key} is not answered {TURN} times without an error")

        def work(count: int) -> None:
            for _ in range(count // TURN):
                self.cluster.receive(connection, data, self.now)
                self.cluster.take_effects()

        return work


def joined(served: Served, connection: Connection, group: str) -> dict[str, Any]:
    """Make a group with one member that has synced; return the fields that each of its requests has."""
    served.ask(connection, FIND_COORDINATOR, FIND_VERSION, {"key": group, "key_type": 0})
    joined = served.ask(connection, JOIN_GROUP, JOIN_VERSION, join(group, "", b""))
    member = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}
    given = [{"member_id": joined.member_id, "assignment": b"x" * 100}]
    served.ask(connection, SYNC_GROUP, SYNC_VERSION, {**member, "assignments": given})
    return member


def join(group: str, member_id: str, metadata: bytes) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout": SESSION,
        "rebalance_timeout": SESSION,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": metadata}],
    }


def heartbeat() -> Work:
    served = Served()
    connection = served.connect()
    frame = frames.request(HEARTBEAT, HEARTBEAT_VERSION, joined(served, connection, "g"))
    return served.repeat(connection, frame, lambda answer: not answer.error_code, HEARTBEAT_VERSION)


def offset_commit() -> Work:
    served = Served()
    connection = served.connect()
    member = joined(served, connection, "g")
    partition = {"partition_index": 0, "committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": ""}
    values = {
        "group_id": member["group_id"],
        "generation_id_or_member_epoch": member["generation_id"],
        "member_id": member["member_id"],
        "topics": [{"name": "t000", "partitions": [partition]}],
    }
    frame = frames.request(OFFSET_COMMIT, COMMIT_VERSION, values)
    return served.repeat(
        connection, frame, lambda answer: not answer.topics[0].partitions[0].error_code, COMMIT_VERSION
    )


def rebalance() -> Work:
    """An operation: the only member of a group joins with other metadata, then syncs."""
    served = Served()
    connection = served.connect()
    member = joined(served, connection, "g")
    turns = iter(range(1 << 30))

    def work(count: int) -> None:
        for _ in range(count):
            values = join("g", member["member_id"], b"metadata %d" % (next(turns) % 2))
            answer = served.exchange(connection, frames.request(JOIN_GROUP, JOIN_VERSION, values))
            generation = int.from_bytes(answer[14:18], "big")
            given = [{"member_id": member["member_id"], "assignment": b"x" * 100}]
            synced = {**member, "generation_id": generation, "assignments": given}
            served.exchange(connection, frames.request(SYNC_GROUP, SYNC_VERSION, synced))

    return work


def transaction(version: int) -> Work:
    """An operation: one record in one partition, and its commit. Version 1 adds the partition first."""
    served = Served()
    connection = served.connect()
    served.ask(connection, FIND_COORDINATOR, FIND_VERSION, {"key": "t", "key_type": 1})
    values = {
        "transactional_id": "t",
        "transaction_timeout": timedelta(minutes=15),
        "producer_id": -1,
        "producer_epoch": -1,
    }
    given = served.ask(connection, INIT_PRODUCER_ID, INIT_VERSION, values)
    made = Frames("t", "t000", 0, (given.producer_id, given.producer_epoch), version)

    def until_taken(frame: Callable[[], bytes], error_at: int) -> bytes:
        for _ in range(MOST_STEPS):
            answer = served.exchange(connection, frame())
            if answer[error_at : error_at + 2] == b"\0\0":
                return answer
            served.advance(STEP_MS)
        raise AssertionError(f"a request of the transaction still fails after {MOST_STEPS} ms")

    def work(count: int) -> None:
        for _ in range(count):
            if version == 1:
                until_taken(lambda: made.add, made.added_error_at)
            until_taken(lambda: made.produce, made.produced_error_at)
            made.ended(until_taken(lambda: made.end, ERROR_AT_END))

    return work
