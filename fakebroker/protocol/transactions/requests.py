"""What producers ask in each transaction, and how it is read: by hand if it is ordinary, else by kio.

Source   clients/src/main/resources/common/message/{AddPartitionsToTxn,EndTxn}Request.json @ 4.4
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, decode_request_in_slices
from fakebroker.protocol.slices import Slices

_ADD_PARTITIONS, _END = 24, 26
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
    """One transaction of an AddPartitionsToTxn; before version 4 there is just one, whose partitions are added."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    topics: tuple[AddedTopic, ...]


class AddPartitionsRequest(NamedTuple):
    transactions: tuple[TransactionToAdd, ...]


def end_txn_of_kio(request: Any) -> EndTxnRequest:
    return EndTxnRequest(request.transactional_id, request.producer_id, request.producer_epoch, request.committed)


def add_partitions_of_kio(version: int, request: Any) -> AddPartitionsRequest:
    if version >= BATCHED_SINCE:
        return AddPartitionsRequest(
            tuple(
                TransactionToAdd(
                    each.transactional_id, each.producer_id, each.producer_epoch, each.verify_only, _topics(each.topics)
                )
                for each in request.transactions
            )
        )
    only = TransactionToAdd(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        False,
        _topics(request.v3_and_below_topics),
    )
    return AddPartitionsRequest((only,))


def _topics(topics: Any) -> tuple[AddedTopic, ...]:
    return tuple(AddedTopic(each.name, tuple(each.partitions)) for each in topics)


def read_end_txn_of_kio(version: int, frame: bytes | LargeFrame, offset: int) -> EndTxnRequest:
    """Raises ProtocolError like `messages.decode_request`."""
    return end_txn_of_kio(decode_request(_END, version, _whole(frame), offset))


def read_add_partitions_of_kio(version: int, frame: bytes | LargeFrame, offset: int) -> AddPartitionsRequest:
    """The same."""
    return add_partitions_of_kio(version, decode_request(_ADD_PARTITIONS, version, _whole(frame), offset))


def read_end_txn_in_slices(
    version: int, frame: bytes | LargeFrame, offset: int, max_elements: int
) -> Slices[EndTxnRequest]:
    """ProtocolError also for more elements than that."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    return end_txn_of_kio((yield from decode_request_in_slices(_END, version, whole, offset, max_elements)))


def read_add_partitions_in_slices(
    version: int, frame: bytes | LargeFrame, offset: int, max_elements: int
) -> Slices[AddPartitionsRequest]:
    """The same."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    request = yield from decode_request_in_slices(_ADD_PARTITIONS, version, whole, offset, max_elements)
    return add_partitions_of_kio(version, request)


def _whole(frame: bytes | LargeFrame) -> bytes:
    return frame if isinstance(frame, bytes) else frame.join()
