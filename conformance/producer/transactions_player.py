"""The calls of an application that has transactions, on ours, and what a transaction manager asks and is answered."""

from __future__ import annotations

import zlib
from itertools import cycle
from typing import Any

from conformance.producer.accumulator_player import START_MS, AccumulatorPlayer, name_of, text_of
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    FindCoordinator,
    GroupMetadata,
    InitProducerId,
    TransactionalRequestResult,
    TxnAnswer,
    TxnOffsetCommit,
    TxnRequest,
)
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.topic_partition import TopicPartition

Json = dict[str, Any]

DROPPED = -2  # in place of an error code: the connection goes


class TransactionsPlayer:
    """The commands `txn` and `versions`, and the state of the manager after each command."""

    def __init__(self, player: AccumulatorPlayer) -> None:
        self._player = player
        self._manager = player.manager
        self._results: list[TransactionalRequestResult] = []
        self._inits: set[int] = set()
        self._done: set[int] = set()

    def do_txn(self, command: Json, results: list[Any]) -> None:
        try:
            self._call(command, results)
        except ProducerError as error:
            self._player.events.append({"threw": name_of(error), "text": text_of(error)})

    def _call(self, command: Json, results: list[Any]) -> None:
        manager = self._manager
        assert manager is not None
        match command["op"]:
            case "init":
                at = self._remember(manager.initialize_transactions(), results)
                self._inits.add(at)
            case "begin":
                manager.begin_transaction()
            case "commit":
                self._remember(manager.begin_commit(), results)
            case "abort":
                self._remember(manager.begin_abort(), results)
            case "offsets":
                offsets = {TopicPartition("in", index): offset for index, offset in command["offsets"]}
                self._remember(manager.send_offsets_to_transaction(offsets, GroupMetadata("g")), results)
            case "await":
                self._await(len(self._results) - 1 - command["which"], results)

    def _remember(self, result: TransactionalRequestResult, results: list[Any]) -> int:
        at = next((at for at, one in enumerate(self._results) if one is result), len(self._results))
        if at == len(self._results):
            self._results.append(result)
        results.append(at)
        return at

    def _await(self, at: int, results: list[Any]) -> None:
        if at < 0 or not self._results[at].is_completed:
            results.append("waits")
            return
        self._results[at].acknowledge()
        if at in self._inits and isinstance(self._manager, TransactionManager43):  # KafkaProducer.initTransactions
            self._manager.maybe_update_transaction_v2_enabled(on_initialization=True)

    def do_versions(self, command: Json, results: list[Any]) -> None:
        self._player.api_versions.update(command["node"], command["init"], command["epoch"], command["level"])

    def manager_told(self) -> Json:
        """Return the state of the manager, and record the calls that are done now."""
        manager = self._manager
        if manager is None:
            return {}
        for at, result in enumerate(self._results):
            if at not in self._done and result.is_completed:
                self._done.add(at)
                error = result.error
                texts = ("", "") if error is None else (name_of(error), text_of(error))
                self._player.events.append({"done": at, "error": texts[0], "text": texts[1]})
        return {
            "manager": [
                manager.state.name,
                *manager.producer_id_and_epoch,
                "" if manager.last_error is None else name_of(manager.last_error),
                manager.has_in_flight_request,
                len(manager.pending),
                manager.has_unresolved_sequences(),
                self._player.now_ms - START_MS,
            ]
        }


def asked(request: TxnRequest) -> list[Any]:
    """A request as the judge tells it."""
    name = type(request).__name__
    match request:
        case InitProducerId():
            return [name, request.transactional_id or "", request.timeout_ms, *request.producer]
        case AddPartitionsToTxn():
            return [name, *request.producer, *map(str, sorted(request.partitions))]
        case AddOffsetsToTxn():
            return [name, *request.producer, request.group_id]
        case TxnOffsetCommit():
            offsets = [one for partition, offset in sorted(request.offsets.items()) for one in (str(partition), offset)]
            return [name, *request.producer, request.group.group_id, request.is_v2, *offsets]
        case EndTxn():
            return [name, *request.producer, request.committed, request.is_v2]
        case FindCoordinator():
            return [name, request.kind.name, request.key]


def answer_to(request: TxnRequest, command: Json) -> TxnAnswer:
    """Return the response that the command prescribes."""
    codes = command["txn_errors"]
    partitions: list[TopicPartition] = []
    if isinstance(request, AddPartitionsToTxn):
        partitions = sorted(request.partitions)
    elif isinstance(request, TxnOffsetCommit):
        partitions = sorted(request.offsets)
    gives_producer = codes[0] == 0 and (
        isinstance(request, InitProducerId) or (isinstance(request, EndTxn) and request.is_v2)
    )
    producer = ProducerIdAndEpoch(command["id"], command["epoch"]) if gives_producer else ProducerIdAndEpoch()
    return TxnAnswer(codes[0], command["node"], producer, tuple(zip(partitions, cycle(codes), strict=False)))


def state_of(batch: ProducerBatch) -> list[Any]:
    data = batch.records()
    return [
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        zlib.crc32(data),
    ]
