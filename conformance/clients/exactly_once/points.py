"""Points at which a program that consumes, transforms and produces may die: after every own step, and before and after
every request of a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.clients.exactly_once.proxy import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)


@dataclass(frozen=True)
class Point:
    """step      the program ends itself after this step of its own; else
    api_key   it is killed before the broker has this request, or, `is_after`, before it has the answer
    at_start   before it has consumed anything
    aborts    in a transaction that it aborts
    is_done   the input has its effect: no program consumes it again
    """

    name: str
    step: str | None = None
    api_key: int | None = None
    is_after: bool = False
    at_start: bool = False
    aborts: bool = False
    is_done: bool = False


def _request(name: str, api_key: int, **more: bool) -> list[Point]:
    is_done = more.pop("is_done", False)
    return [
        Point(f"before {name}", None, api_key, **more),
        Point(f"before the response to {name}", None, api_key, is_after=True, is_done=is_done, **more),
    ]


STEPS = [
    Point("after init", "init", at_start=True),
    Point("after consuming", "consumed"),
    Point("after begin", "begun"),
    Point("after the first produce", "produced"),
    Point("after a flush", "flushed"),
    Point("after sending offsets", "offsets"),
    Point("after a commit", "committed", is_done=True),
    Point("after an abort", "aborted", aborts=True),
]
REQUESTS = [
    *_request("InitProducerId", INIT_PRODUCER_ID, at_start=True),
    *_request("AddPartitionsToTxn", ADD_PARTITIONS_TO_TXN),
    *_request("Produce", PRODUCE),
    *_request("AddOffsetsToTxn", ADD_OFFSETS_TO_TXN),
    *_request("TxnOffsetCommit", TXN_OFFSET_COMMIT),
    *_request("EndTxn", END_TXN, is_done=True),
    *_request("EndTxn of an abort", END_TXN, aborts=True),
]
POINTS: Sequence[Point] = (*STEPS, *REQUESTS)
