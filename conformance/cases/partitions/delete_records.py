"""DeleteRecords: which offsets, of which topics, and which requests wait for which log start offsets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from conformance.frames import batch, batch_of, fetch, list_offsets, produce, request
from conformance.scenario import At, Case, Freeze, Send, Settle, StartBroker, StopBroker, Thaw, Topic
from conformance.shared_steps import warm
from fakebroker.protocol.record_batch import Record

_KEY = 21
_TIMEOUT_MS = 1_500


def delete_records(
    *partitions: tuple[str, int, int], version: int = 2, correlation_id: int = 1, timeout_ms: int = 30_000
) -> bytes:
    """(topic, partition, offset) each."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for name, index, offset in partitions:
        topics.setdefault(name, []).append({"partition_index": index, "offset": offset})
    values = {
        "topics": [{"name": name, "partitions": parts} for name, parts in topics.items()],
        "timeout": timedelta(milliseconds=timeout_ms),
    }
    return request(_KEY, version, values, correlation_id)


def _filled(name: str, count: int = 3) -> tuple[bytes, ...]:
    """Return so many batches of one record each."""
    return tuple(produce(name, batch(b"%d" % number), correlation_id=200 + number) for number in range(count))


def _seen(name: str, *offsets: int) -> tuple[bytes, ...]:
    """Return requests for the offsets of a partition, and for its records from some offsets on."""
    return (
        list_offsets(name, -2, correlation_id=301),
        list_offsets(name, -1, correlation_id=302),
        list_offsets(name, 0, correlation_id=303),
        *(fetch(name, offset, correlation_id=310 + offset) for offset in offsets),
    )


def _offset(what: str, offset: int) -> Case:
    name = f"delete-records-{what}"
    return Case(
        f"delete-records/offset-{what}",
        "an offset: -1 is the high watermark; above it and below 0 it is OFFSET_OUT_OF_RANGE "
        "(Partition.deleteRecordsOnLeader)",
        (Send(_filled(name)), Settle(), Send((delete_records((name, 0, offset)), *_seen(name, 0, 1, 2, 3))), Settle()),
        (Topic(name),),
    )


def _versions() -> list[Case]:
    cases = []
    for version in range(3):
        name = f"delete-records-v{version}"
        cases.append(
            Case(
                f"delete-records/v{version}",
                "some records, the same again, fewer, all, too many, an unknown topic and partition, nothing",
                (
                    Send(_filled(name, 4)),
                    Settle(),
                    Send(
                        (
                            delete_records((name, 0, 2), version=version),
                            delete_records((name, 0, 2), version=version, correlation_id=2),
                            delete_records((name, 0, 1), version=version, correlation_id=3),
                            delete_records((name, 0, 9), version=version, correlation_id=4),
                            delete_records(
                                ("delete-records-nobody", 0, 0), (name, 7, 0), version=version, correlation_id=5
                            ),
                            delete_records(version=version, correlation_id=6),
                            delete_records((name, 0, -1), version=version, correlation_id=7),
                        )
                    ),
                    Settle(),
                    Send(_seen(name, 3, 4)),
                    Settle(),
                ),
                (Topic(name),),
            )
        )
    return cases


def _policy(policy: str) -> Case:
    name = f"delete-records-{policy.replace(',', '-')}"
    keyed = batch_of([Record(b"k", b"v")])
    return Case(
        f"delete-records/policy-{policy.replace(',', '-')}",
        "a topic that is only compacted keeps its records: POLICY_VIOLATION",
        (Send((produce(name, keyed),)), Settle(), Send((delete_records((name, 0, 1)), *_seen(name))), Settle()),
        (Topic(name, configs={"cleanup.policy": policy}),),
    )


_MIDDLE = "delete-records-middle"
_PARTS = Topic("delete-records-parts", 3)
_EMPTY = Topic("delete-records-empty")
_TWICE = Topic("delete-records-twice")
_FROZEN = Topic("delete-records-frozen", replicas=3)
_ZERO = Topic("delete-records-zero", replicas=3)
_THAWED = Topic("delete-records-thawed", replicas=3)
_ALL_IN = Topic("delete-records-replicated", replicas=3)
_BEHIND = Topic("delete-records-behind", replicas=3)
_FOLLOWER = Topic("delete-records-follower", replicas=3)
_ABSENT = Topic("delete-records-absent")
_STOPPED = Topic("delete-records-stopped", replicas=3)

CASES: list[Case] = [
    *_versions(),
    *(
        _offset(what, offset)
        for what, offset in {
            "0": 0,
            "1": 1,
            "watermark": 3,
            "beyond": 4,
            "largest": 2**63 - 1,
            "minus-1": -1,
            "minus-2": -2,
            "smallest": -(2**63),
        }.items()
    ),
    *(_policy(policy) for policy in ("compact", "compact,delete", "delete")),
    Case(
        "delete-records/middle",
        "the middle of a batch: Fetch returns the whole batch, ListOffsets finds no time before the start",
        (
            Send((produce(_MIDDLE, batch(b"a", b"b", b"c")), produce(_MIDDLE, batch(b"d"), correlation_id=2))),
            Settle(),
            Send((delete_records((_MIDDLE, 0, 1)), *_seen(_MIDDLE, 0, 1, 2, 3))),
            Settle(),
        ),
        (Topic(_MIDDLE),),
    ),
    Case(
        "delete-records/partitions",
        "each partition gets its own result",
        (
            Send((produce(_PARTS.name, {index: batch(b"x", b"y") for index in range(3)}),)),
            Settle(),
            Send(
                (delete_records((_PARTS.name, 0, 1), (_PARTS.name, 1, 5), (_PARTS.name, 2, -1), (_PARTS.name, 3, 0)),)
            ),
            Settle(),
        ),
        (_PARTS,),
    ),
    Case(
        "delete-records/empty",
        "an empty partition",
        (
            Send(tuple(delete_records((_EMPTY.name, 0, offset), correlation_id=offset + 3) for offset in (-1, 0, 1))),
            Settle(),
        ),
        (_EMPTY,),
    ),
    Case(
        "delete-records/twice",
        "one partition twice in one request: the last one counts",
        (
            Send(_filled(_TWICE.name)),
            Settle(),
            Send((delete_records((_TWICE.name, 0, 3), (_TWICE.name, 0, 1)), *_seen(_TWICE.name))),
            Settle(),
        ),
        (_TWICE,),
    ),
    Case(
        "delete-records/bad-names",
        "invalid names, and the metadata log",
        (
            Send(
                (delete_records(("a/b", 0, 0), ("", 0, 0), ("__cluster_metadata", 0, 0), ("delete-records-x", -1, 0)),)
            ),
            Settle(),
        ),
    ),
    Case(
        "delete-records/replicated",
        "three replicas: the response comes when all have advanced their log start offset",
        (*warm(_ALL_IN.name), Send((delete_records((_ALL_IN.name, 0, 1)), *_seen(_ALL_IN.name))), Settle()),
        (_ALL_IN,),
        "three",
    ),
    Case(
        "delete-records/frozen-follower",
        "a follower that does not fetch: REQUEST_TIMED_OUT, and the previous low watermark",
        (
            *warm(_FROZEN.name),
            Freeze(3),
            Send((delete_records((_FROZEN.name, 0, 1), timeout_ms=_TIMEOUT_MS),)),
            Settle(),
            Send(_seen(_FROZEN.name, 0, 1)),
            Settle(),
            Thaw(3),
        ),
        (_FROZEN,),
        "three",
        (At(1, _TIMEOUT_MS),),
    ),
    Case(
        "delete-records/no-time",
        "a timeout of 0 expires at once",
        (
            *warm(_ZERO.name),
            Freeze(3),
            Send((delete_records((_ZERO.name, 0, 1), timeout_ms=0),)),
            Settle(),
            Thaw(3),
        ),
        (_ZERO,),
        "three",
    ),
    Case(
        "delete-records/thawed",
        "the request completes when the follower fetches again",
        (
            *warm(_THAWED.name),
            Freeze(3),
            Send((delete_records((_THAWED.name, 0, 1)),)),
            Thaw(3),
            Settle(),
        ),
        (_THAWED,),
        "three",
    ),
    Case(
        "delete-records/beyond-watermark",
        "records above the high watermark cannot be deleted: OFFSET_OUT_OF_RANGE",
        (
            *warm(_BEHIND.name),
            Freeze(3),
            Send((produce(_BEHIND.name, batch(b"new"), acks=1, correlation_id=2),)),
            Settle(),
            Send(
                (
                    delete_records((_BEHIND.name, 0, 2)),
                    delete_records((_BEHIND.name, 0, -1), timeout_ms=0, correlation_id=3),
                )
            ),
            Settle(),
            Thaw(3),
        ),
        (_BEHIND,),
        "three",
    ),
    Case(
        "delete-records/follower-asked",
        "the request goes to a follower, and to a broker without a replica: NOT_LEADER_OR_FOLLOWER",
        (
            *warm(_FOLLOWER.name),
            Send((delete_records((_FOLLOWER.name, 0, 1), (_ABSENT.name, 0, 0)),), "b", 2),
            Settle("b"),
        ),
        (_FOLLOWER, _ABSENT),
        "three",
    ),
    Case(
        "delete-records/stopped-broker",
        "the request does not wait for a stopped broker",
        (
            *warm(_STOPPED.name),
            StopBroker(3),
            Send((delete_records((_STOPPED.name, 0, 1)), *_seen(_STOPPED.name))),
            Settle(),
            StartBroker(3),
        ),
        (_STOPPED,),
        "stops",
    ),
]
