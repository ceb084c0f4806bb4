"""The event of a batch that a leader appends or refuses, for a listener that wants to know of its records."""

from __future__ import annotations

from fakebroker.core.journal.events import Append
from fakebroker.core.journal.fingerprints import fingerprints, fingerprints_if_whole, producer_of
from fakebroker.core.probe import Probe
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.topic_partition import TopicPartition


def tell_append(
    probe: Probe,
    tp: TopicPartition,
    leader: tuple[int, int],
    records: bytes,
    offsets: tuple[int, int] = (-1, -1),
    is_duplicate: bool = False,
    error_code: ErrorCode = ErrorCode.none,
) -> None:
    """Tell that the leader, in this epoch, has appended a batch at its first and last offset, had it already, or has
    refused it. `records` are the bytes of the request."""
    if not probe.hears(Append):
        return
    broker, leader_epoch = leader
    names = fingerprints_if_whole(records) if error_code else fingerprints(records)
    where, error = (probe.request, broker), kafka_name(error_code)
    producer = producer_of(records)
    probe.tell(
        Append(*probe.times, *where, *tp, error, *offsets, is_duplicate, leader_epoch, *producer, names), records
    )
