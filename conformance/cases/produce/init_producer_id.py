"""InitProducerId: new ids, and requests that cannot be."""

from __future__ import annotations

from datetime import timedelta

from conformance.frames import batch, init_producer_id, produce
from conformance.scenario import Case, ReadLog, Send, Settle, Topic

_USED = Topic("producer-id-used")


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = ()) -> Case:
    logs = tuple(ReadLog(topic.name) for topic in topics)
    return Case(f"producer-id/{name}", why, (Send(frames), Settle(), *logs), topics)


CASES: list[Case] = [
    *(
        _case(
            f"v{version}",
            "each request gets a new producer id, with epoch 0",
            init_producer_id(version=version),
            init_producer_id(version=version, correlation_id=2),
        )
        for version in range(6)
    ),
    _case(
        "timeout",
        "without a transactional id the transaction timeout is not checked",
        *(
            init_producer_id(transaction_timeout=timedelta(milliseconds=ms), correlation_id=n)
            for n, ms in enumerate((0, -1, 1, (1 << 31) - 1))
        ),
    ),
    _case(
        "empty-transactional-id", "an empty transactional id: INVALID_REQUEST", init_producer_id(transactional_id="")
    ),
    *(
        _case(
            f"old-id-v{version}",
            "a request with a producer id and without a transactional id",
            init_producer_id(version=version, producer_id=77, producer_epoch=3),
            init_producer_id(version=version, producer_id=77, producer_epoch=-1, correlation_id=2),
            init_producer_id(version=version, producer_id=-1, producer_epoch=3, correlation_id=3),
            init_producer_id(version=version, producer_id=-2, producer_epoch=-1, correlation_id=4),
        )
        for version in (3, 4, 5)
    ),
    _case(
        "epoch-lost",
        "a producer id without an epoch, or the reverse, with a transactional id: INVALID_REQUEST",
        init_producer_id(transactional_id="producer-id-half", producer_id=77, producer_epoch=-1),
        init_producer_id(transactional_id="producer-id-half", producer_id=-1, producer_epoch=7, correlation_id=2),
    ),
    _case(
        "produce",
        "batches with a producer id that was never assigned are accepted",
        produce(_USED.name, batch(b"v", producer_id=987_654, producer_epoch=7, base_sequence=0)),
        topics=(_USED,),
    ),
]
