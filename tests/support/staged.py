"""A cluster for each API that changes something: a request of the API has an effect, and clients read the state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from conformance import config_frames, consumer_group_frames, frames, group_frames, offset_frames
from conformance.transactions import frames as txn_frames
from support.faulty import AnyClient, FaultyCluster
from support.messages import decode_response

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
LONG = timedelta(seconds=30)
G, C, X = "g", "c", "x"  # a group of members, one of consumers, a transactional id


class Stage:
    """A cluster with a topic t of two partitions, which broker 1 leads, and coordinators; clients by broker."""

    def __init__(self) -> None:
        settings: dict[str, Any] = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
        more: dict[str, Any] = {"group.initial.rebalance.delay.ms": 0, "group.consumer.assignment.interval.ms": 0}
        self.kafka = FaultyCluster(partitions=2, **settings, **more)
        self._readers: dict[int, AnyClient] = {}
        self.ask(group_frames.find_coordinator("warm"))
        self.ask(txn_frames.find_transaction_coordinator("warm"))
        self.kafka.advance(10)
        self.producer_id = -1
        self.member_id = ""

    def broker_of(self, frame: bytes) -> int:
        """Return the broker of a request."""
        key, _ = _key_and_version(frame)
        if key not in _COORDINATED:
            return 1
        return self.kafka.partition(0, GROUPS if key in _OF_GROUPS else TRANSACTIONS).leader_id

    def ask(self, frame: bytes) -> Any:
        """Return the response."""
        return decode_response(*_key_and_version(frame), self.raw(frame))[1]

    def raw(self, frame: bytes) -> bytes:
        """Return the bytes of the response without their length; nothing if none comes within ten seconds. The request
        has its own connection, so that it delays no other."""
        return self._answer(self.kafka.connect(self.broker_of(frame)), frame)

    def _read(self, frame: bytes) -> bytes:
        broker = self.broker_of(frame)
        if broker not in self._readers:
            self._readers[broker] = self.kafka.connect(broker)
        return self._answer(self._readers[broker], frame)

    def _answer(self, client: AnyClient, frame: bytes) -> bytes:
        client.came.clear()
        client.send(frame)
        limit_ms = self.kafka.elapsed_ms + 10_000
        while not client.frames and self.kafka.elapsed_ms < limit_ms:
            self.kafka.advance(1_000)
        return b"".join(client.frames)

    def state(self) -> dict[str, str]:
        """Return all that can be read, and the end of each log."""
        values = {str(index): self._read(frame).hex() for index, frame in enumerate(_READS)}
        for topic in ("t", "u", GROUPS, TRANSACTIONS):
            for index in range(3):
                partition = self.kafka.cluster.metadata.find_partition(topic, index)
                if partition is not None:
                    log = partition.leader_log
                    ends = f"{log.log_start_offset} {partition.high_watermark} {log.log_end_offset}"
                    values[f"{topic}-{index}"] = f"{ends}, led by {partition.leader_id}, {partition.isr}"
        return values


def _key_and_version(frame: bytes) -> tuple[int, int]:
    return int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big")


_OF_GROUPS = frozenset({8, 9, 11, 12, 13, 14, 15, 16, 28, 42, 47, 68, 69})
_COORDINATED = _OF_GROUPS | {22, 24, 25, 26, 65, 66}
_READS = (
    frames.metadata(None),
    *(frames.list_offsets("t", -1, index) for index in (0, 1)),
    config_frames.describe((config_frames.TOPIC, "t", ["retention.ms"])),
    group_frames.list_groups(),
    group_frames.describe_groups([G]),
    consumer_group_frames.describe(C),
    offset_frames.offset_fetch({G: None, C: None}),
    txn_frames.describe_transactions(X),
    txn_frames.describe_producers("t", 0, 1),
    frames.request(48, 1, {"components": (), "strict": False}),
    frames.request(50, 0, {"users": None}),
    frames.request(46, 0, {"timeout": LONG, "topics": None}),
)
Prepare = Callable[[Stage], bytes]  # makes the cluster ready, and gives the request


def _joined(stage: Stage) -> None:
    stage.member_id = stage.ask(group_frames.join_group(G, version=3, protocols=(("range", b"p"),))).member_id


def _stable(stage: Stage) -> None:
    _joined(stage)
    stage.ask(group_frames.sync_group(G, stage.member_id, 1, {stage.member_id: b"all"}))


def _committed(stage: Stage) -> None:
    stage.ask(offset_frames.offset_commit(G, [("t", 0, 5), ("t", 1, 6)]))


def _initialised(stage: Stage) -> None:
    stage.producer_id = stage.ask(txn_frames.init_transactions(X)).producer_id


def _open(stage: Stage) -> None:
    _initialised(stage)
    stage.ask(txn_frames.add_partitions(X, {"t": (0,)}, producer_id=stage.producer_id))
    batch = txn_frames.in_transaction(b"a", producer_id=stage.producer_id)
    stage.ask(frames.produce("t", batch, version=11, transactional_id=X))


def _first(*steps: Callable[[Stage], None], then: Callable[[Stage], bytes]) -> Prepare:
    def prepare(stage: Stage) -> bytes:
        for step in steps:
            step(stage)
        return then(stage)

    return prepare


def _topics(key: int, version: int, **values: Any) -> Prepare:
    return lambda stage: frames.request(key, version, values | {"timeout": LONG})


def _produced(stage: Stage) -> None:
    stage.ask(frames.produce("t", frames.batch(b"a", b"b")))


def _with_offsets(stage: Stage) -> None:
    _initialised(stage)
    stage.ask(txn_frames.add_offsets(X, G, producer_id=stage.producer_id))


def _mark(stage: Stage) -> bytes:
    return txn_frames.write_markers(txn_frames.marker({"t": (0,)}, producer_id=stage.producer_id, commit=False))


def _quota(stage: Stage) -> bytes:
    entity = [{"entity_type": "client-id", "entity_name": "somebody"}]
    ops = [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]
    return frames.request(49, 1, {"entries": [{"entity": entity, "ops": ops}], "validate_only": False})


def _scram(stage: Stage) -> bytes:
    up = {"name": "u", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
    return frames.request(51, 0, {"deletions": (), "upsertions": [up]})


_TOPIC = {"num_partitions": 1, "replication_factor": 3, "assignments": (), "configs": ()}
# By API: what makes its request change something. Produce has tests of its own (test_pairs.py).
CHANGES: dict[str, Prepare] = {
    "OffsetCommit": lambda stage: offset_frames.offset_commit(G, [("t", 0, 5)]),
    "OffsetDelete": _first(_committed, then=lambda stage: offset_frames.offset_delete(G, [("t", [0])])),
    "DeleteGroups": _first(_committed, then=lambda stage: group_frames.delete_groups([G])),
    "JoinGroup": lambda stage: group_frames.join_group(G, version=3, protocols=(("range", b"p"),)),
    "SyncGroup": _first(
        _joined, then=lambda stage: group_frames.sync_group(G, stage.member_id, 1, {stage.member_id: b"all"})
    ),
    "LeaveGroup": _first(_stable, then=lambda stage: group_frames.leave_group(G, stage.member_id)),
    "ConsumerGroupHeartbeat": lambda stage: consumer_group_frames.join(C, "m", "t"),
    "InitProducerId": lambda stage: txn_frames.init_transactions(X),
    "AddPartitionsToTxn": _first(
        _initialised, then=lambda stage: txn_frames.add_partitions(X, {"t": (0,)}, producer_id=stage.producer_id)
    ),
    "AddOffsetsToTxn": _first(
        _initialised, then=lambda stage: txn_frames.add_offsets(X, G, producer_id=stage.producer_id)
    ),
    "EndTxn": _first(_open, then=lambda stage: txn_frames.end_txn(X, producer_id=stage.producer_id, version=4)),
    "WriteTxnMarkers": _first(_open, then=_mark),
    "TxnOffsetCommit": _first(
        _with_offsets,
        then=lambda stage: txn_frames.txn_offset_commit(X, G, [("t", 0, 5)], producer_id=stage.producer_id, version=4),
    ),
    "CreateTopics": _topics(19, 7, topics=[{"name": "u"} | _TOPIC], validate_only=False),
    "DeleteTopics": _topics(20, 5, topic_names=("t",), topics=()),
    "DeleteRecords": _first(
        _produced,
        then=_topics(21, 2, topics=[{"name": "t", "partitions": [{"partition_index": 0, "offset": 1}]}]),
    ),
    "CreatePartitions": _topics(37, 3, topics=[{"name": "t", "count": 3, "assignments": None}], validate_only=False),
    "AlterConfigs": lambda stage: config_frames.alter((config_frames.TOPIC, "t", {"retention.ms": "5"})),
    "IncrementalAlterConfigs": lambda stage: config_frames.incremental(
        (config_frames.TOPIC, "t", [("retention.ms", config_frames.SET, "5")])
    ),
    "AlterPartitionReassignments": _topics(
        45,
        0,
        topics=[{"name": "t", "partitions": [{"partition_index": 0, "replicas": (1, 2)}]}],
        allow_replication_factor_change=True,
    ),
    "AlterClientQuotas": _quota,
    "AlterUserScramCredentials": _scram,
}
