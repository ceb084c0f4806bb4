"""Transactional batches without a transaction: no coordinator runs on either side."""

from __future__ import annotations

from conformance.frames import batch, produce
from conformance.scenario import Case, ReadLog, Send, Settle, Topic


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), logs: int = 1) -> Case:
    read = tuple(ReadLog(topic.name, index) for topic in topics for index in range(min(topic.partitions, logs)))
    return Case(f"request/{name}", why, (Send(frames), Settle(), *read), topics)


_ONE_TXN = Topic("request-one-txn", 2)
_TXN_V9 = Topic("request-txn-v9")
_TXN_V12 = Topic("request-txn-v12")
_TXN_NOBODY = Topic("request-txn-nobody")
_TXN_TWO = Topic("request-txn-two", 3)
_TXN_AND = Topic("request-txn-and", 3)
_TXN_ID = Topic("request-txn-id")
_TXN_BATCH = batch(b"v", attributes=0x10, producer_id=4002, producer_epoch=0, base_sequence=0)


CASES: list[Case] = [
    _case(
        "transactional-without-id",
        "one transactional batch without a transactional id fails the whole request: "
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        produce(_ONE_TXN.name, {0: batch(b"plain"), 1: _TXN_BATCH}),
        produce(_ONE_TXN.name, {0: batch(b"plain"), 1: _TXN_BATCH}, version=3, correlation_id=2),
        produce("request-nobody", _TXN_BATCH, correlation_id=3),
        topics=(_ONE_TXN,),
        logs=2,
    ),
    _case(
        "transactional-v9",
        "a transactional batch of a transaction that was never started",
        produce(_TXN_V9.name, _TXN_BATCH, version=9, transactional_id="request-txn"),
        topics=(_TXN_V9,),
    ),
    _case(
        "transactional-v12",
        "a batch of a transaction that was never started, if the broker may add the partition itself (KIP-890)",
        produce(_TXN_V12.name, _TXN_BATCH, version=12, transactional_id="request-txn"),
        topics=(_TXN_V12,),
    ),
    _case(
        "transactional-nobody",
        "a transactional batch without a producer id",
        produce(_TXN_NOBODY.name, batch(b"v", attributes=0x10), transactional_id="request-txn"),
        topics=(_TXN_NOBODY,),
    ),
    _case(
        "transactional-two",
        "two producers in one request: INVALID_PRODUCER_ID_MAPPING",
        *(
            produce(
                _TXN_TWO.name,
                {
                    0: batch(b"v"),
                    1: _TXN_BATCH,
                    2: batch(b"v", attributes=0x10, producer_id=producer_id, producer_epoch=epoch, base_sequence=0),
                },
                transactional_id="request-txn",
                correlation_id=number,
            )
            for number, (producer_id, epoch) in enumerate(((4003, 0), (4002, 1), (4002, 0)))
        ),
        topics=(_TXN_TWO,),
        logs=3,
    ),
    _case(
        "transactional-and-plain",
        "non-transactional batches next to a transactional one are appended",
        produce(_TXN_AND.name, {0: batch(b"v"), 1: _TXN_BATCH, 2: b""}, transactional_id="request-txn"),
        topics=(_TXN_AND,),
        logs=2,
    ),
    _case(
        "transactional-id-alone",
        "a transactional id with only non-transactional batches is not checked",
        produce(_TXN_ID.name, batch(b"v"), transactional_id="request-txn"),
        topics=(_TXN_ID,),
    ),
]
