"""Reads of committed records: the last stable offset, aborted ranges, and which parked fetches complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.cases.partitions.delete_records import delete_records
from conformance.frames import batch, fetch, list_offsets, produce
from conformance.scenario import Case, Listen, Pause, Send, Settle, Step, placeholder
from conformance.transactions.frames import describe_producers
from conformance.transactions.steps import READ_COMMITTED, Txn, ask, both, numbered

_WITH_TOPIC_IDS = 13


def _filled(txn: Txn) -> Sequence[Step]:
    """A plain record, an aborted and a committed transaction, then an open one: offsets 0, 1-2 (3 is the marker),
    4 (5), 6 plain, 7."""
    return (
        *txn.begin(),
        *ask(produce(txn.topic, batch(b"plain"))),
        *txn.written(b"a", b"b"),
        *txn.ended(commit=False),
        Pause(3),  # markers have different times
        *txn.written(b"c", sequence=0 if txn.is_v2 else 2, epoch=txn.after(1)),
        *txn.ended(epoch=txn.after(1)),
        *ask(produce(txn.topic, batch(b"plain"))),
        *txn.written(b"open", sequence=0 if txn.is_v2 else 3, epoch=txn.after(2)),
        *ask(produce(txn.topic, batch(b"behind"))),
    )


def _fetch(txn: Txn, offset: int, version: int, isolation: int = READ_COMMITTED, **values: Any) -> bytes:
    topic = placeholder(txn.topic) if version >= _WITH_TOPIC_IDS else txn.topic
    return fetch(topic, offset, version=version, isolation_level=isolation, **values)


def _versions(txn: Txn) -> Sequence[Step]:
    return (
        *_filled(txn),
        *ask(*(_fetch(txn, 0, version, isolation) for version in range(4, 19) for isolation in (0, 1))),
    )


def _offsets(txn: Txn) -> Sequence[Step]:
    """Read from each offset, with small limits too; then abort the open transaction as well."""
    return (
        *_filled(txn),
        *ask(*(_fetch(txn, offset, 12) for offset in range(11))),
        *ask(*(_fetch(txn, offset, 12, max_bytes=1) for offset in range(9))),
        *txn.ended(commit=False, epoch=txn.after(2)),
        *ask(*(_fetch(txn, offset, 12) for offset in range(11))),
        *ask(*(_fetch(txn, offset, 12, max_bytes=1) for offset in range(10))),
        *ask(*(_fetch(txn, offset, 12, max_bytes=200) for offset in range(10))),
    )


def _list_offsets(txn: Txn) -> Sequence[Step]:
    times = (-1, -2, -3, 0, 1_700_000_000_000, 1_700_000_000_001)
    requests = [
        list_offsets(txn.topic, time, version=version, isolation_level=isolation)
        for version in (2, 5, 7)
        for time in times
        for isolation in (0, 1)
        if time != -3 or version == 7
    ]
    return *_filled(txn), *ask(*requests), Pause(3), *txn.ended(epoch=txn.after(2)), *ask(*requests)


def _later_times(txn: Txn) -> Sequence[Step]:
    """Records by their time, which are behind the last stable offset."""
    first, second = 1_700_000_000_000, 1_700_000_000_100
    requests = [
        list_offsets(txn.topic, time, isolation_level=isolation)
        for time in (first, second, second + 1, -3)
        for isolation in (0, 1)
    ]
    return (
        *txn.begin(),
        *ask(produce(txn.topic, batch(b"first", timestamp_ms=first))),
        *txn.written(b"open"),
        *ask(produce(txn.topic, batch(b"second", timestamp_ms=second))),
        *ask(*requests),
        *txn.ended(),
        *ask(*requests),
    )


def _long_poll(txn: Txn, commit: bool = True) -> Sequence[Step]:
    """Park a fetch at the last stable offset: records do not complete it, the marker does."""
    waits = _fetch(txn, 0, 12, max_wait_ms=8_000)
    return (
        *txn.begin(),
        *txn.written(b"open"),
        Send(numbered([waits]), "b"),
        *ask(txn.write(b"more", sequence=1)),
        *ask(produce(txn.topic, batch(b"plain"))),
        Listen(150, "b"),
        *txn.ended(commit),
        Settle("b"),
    )


def _long_poll_aborted(txn: Txn) -> Sequence[Step]:
    return _long_poll(txn, commit=False)


def _waits_for_bytes(txn: Txn) -> Sequence[Step]:
    """Fetch with min.bytes that count only up to the last stable offset."""
    waits = _fetch(txn, 0, 12, max_wait_ms=8_000, min_bytes=150)
    return (
        *txn.begin(),
        *ask(produce(txn.topic, batch(b"plain"))),
        *txn.written(b"open"),
        Send(numbered([waits]), "b"),
        *ask(produce(txn.topic, batch(b"behind"))),
        Listen(150, "b"),
        *txn.ended(),
        Settle("b"),
    )


def _session(txn: Txn) -> Sequence[Step]:
    """Fetch in a session: the last stable offset moves without new records."""
    first = fetch(txn.topic, 0, version=12, isolation_level=READ_COMMITTED, session_epoch=0)
    return (
        *txn.begin(),
        *ask(first),
        *txn.written(b"open"),
        *txn.ended(),
        *ask(txn.read(), txn.last_stable()),
    )


def _empty(txn: Txn) -> Sequence[Step]:
    """Read an empty partition, and one with markers only."""
    return (
        *txn.begin(),
        *ask(txn.read(), txn.last_stable()),
        *ask(txn.add(0)),
        *ask(txn.read(), txn.last_stable()),
        *txn.ended(),
        *ask(txn.read(), txn.read(1), txn.read(2), txn.last_stable()),
    )


def _deleted_in_part(txn: Txn) -> Sequence[Step]:
    """The log start is moved into the open transaction's only batch, then behind it, then to the watermark."""
    return (
        *txn.begin(),
        *txn.written(b"a", b"b", b"c"),
        *ask(produce(txn.topic, batch(b"plain"))),
        *(
            frame
            for start in (1, 3, -1)
            for frame in ask(
                delete_records((txn.topic, 0, start)),
                txn.last_stable(),
                list_offsets(txn.topic, -2),
                *(txn.read(offset) for offset in range(5)),
                describe_producers(txn.topic),
            )
        ),
        *txn.ended(),
        *ask(txn.last_stable(), txn.read(4), txn.read(5), describe_producers(txn.topic)),
    )


CASES: list[Case] = [
    *both("read-versions", "each version, with read_committed and read_uncommitted", _versions),
    *both("read-offsets", "from each offset: the aborted transactions", _offsets),
    *both("read-list-offsets", "ListOffsets with read_committed", _list_offsets),
    *both("read-times", "ListOffsets by time, beyond the last stable offset", _later_times),
    *both("read-waits", "a parked Fetch completes with a COMMIT marker", _long_poll),
    *both("read-waits-aborted", "a parked Fetch completes with an ABORT marker", _long_poll_aborted),
    *both("read-bytes", "min_bytes with read_committed", _waits_for_bytes),
    *both("read-session", "read_committed in a fetch session", _session),
    *both("read-deleted", "the records of an open transaction are deleted, in part and completely", _deleted_in_part),
    *both("read-empty", "an empty partition, and one with only markers", _empty),
]
