"""Requests of producers in each transaction, and their readers: by hand for usual ones, else by the tables.

Source   clients/src/main/resources/common/message/{AddPartitionsToTxn,EndTxn}Request.json @ 4.4
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, decode_request_in_slices
from fakebroker.protocol.slices import Slices, finish

_ADD_PARTITIONS, _END = 24, 26
_TOPICS_OF_A_SLICE: Final = 256
BATCHED_SINCE: Final = 4  # of AddPartitionsToTxn: many transactions at once


class EndTxnRequest(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


class AddedTopic(NamedTuple):
    name: str
    partitions: tuple[int, ...]


class TransactionToAdd(NamedTuple):
    """One transaction of an AddPartitionsToTxn. Before version 4 there is just one, and its partitions are added."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: tuple[AddedTopic, ...]


class AddPartitionsRequest(NamedTuple):
    transactions: tuple[TransactionToAdd, ...]


def end_txn_of_kio(request: Any) -> EndTxnRequest:
    return EndTxnRequest(request.transactional_id, request.producer_id, request.producer_epoch, request.committed)


def _add_partitions_of_kio(version: int, request: Any) -> Slices[AddPartitionsRequest]:
    transactions: list[TransactionToAdd] = []
    if version < BATCHED_SINCE:
        topics = yield from _topics(request.v3_and_below_topics)
        transactional_id, producer_id = request.v3_and_below_transactional_id, request.v3_and_below_producer_id
        transactions.append(
            TransactionToAdd(transactional_id, producer_id, request.v3_and_below_producer_epoch, False, topics)
        )
        return AddPartitionsRequest(tuple(transactions))
    for txn in request.transactions:
        topics = yield from _topics(txn.topics)
        transactions.append(
            TransactionToAdd(txn.transactional_id, txn.producer_id, txn.producer_epoch, txn.verify_only, topics)
        )
        if len(transactions) % _TOPICS_OF_A_SLICE == 0:
            yield
    return AddPartitionsRequest(tuple(transactions))


def _topics(topics: Any) -> Slices[tuple[AddedTopic, ...]]:
    added: list[AddedTopic] = []
    for topic in topics:
        added.append(AddedTopic(topic.name, tuple(topic.partitions)))
        if len(added) % _TOPICS_OF_A_SLICE == 0:
            yield
    return tuple(added)


def read_end_txn_of_kio(version: int, frame: bytes | LargeFrame, offset: int) -> EndTxnRequest:
    """Read the body by the tables. Raises ProtocolError like `messages.decode_request`."""
    return end_txn_of_kio(decode_request(_END, version, _whole(frame), offset))


def read_add_partitions_of_kio(version: int, frame: bytes | LargeFrame, offset: int) -> AddPartitionsRequest:
    """Read the body by the tables. Raises ProtocolError like `messages.decode_request`."""
    request = decode_request(_ADD_PARTITIONS, version, _whole(frame), offset)
    return finish(_add_partitions_of_kio(version, request))


def read_end_txn_in_slices(
    version: int, frame: bytes | LargeFrame, offset: int, max_elements: int
) -> Slices[EndTxnRequest]:
    """Read the body in slices. Raises ProtocolError also for more elements than `max_elements`."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    return end_txn_of_kio((yield from decode_request_in_slices(_END, version, whole, offset, max_elements)))


def read_add_partitions_in_slices(
    version: int, frame: bytes | LargeFrame, offset: int, max_elements: int
) -> Slices[AddPartitionsRequest]:
    """Read the body in slices. Raises ProtocolError also for more elements than `max_elements`."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    request = yield from decode_request_in_slices(_ADD_PARTITIONS, version, whole, offset, max_elements)
    return (yield from _add_partitions_of_kio(version, request))


def _whole(frame: bytes | LargeFrame) -> bytes:
    return frame if isinstance(frame, bytes) else frame.join()
