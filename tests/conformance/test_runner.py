"""Notes of a case about a log."""

from __future__ import annotations

from datetime import timedelta

from support.virtual_target import VirtualTarget

from conformance.frames import batch, produce, request
from conformance.runner import read_log
from conformance.scenario import Topic
from conformance.targets.boxes import BOXES
from conformance.targets.target import ask

_DELETE_RECORDS = 21


def test_a_log_whose_beginning_was_deleted_is_read_from_where_it_now_begins() -> None:
    target = VirtualTarget(BOXES["one"])
    target.create_topics([Topic("t")])
    connection = target.connect(1)
    for value in (b"a", b"b", b"c"):
        ask(connection, target, 0, 9, produce("t", batch(value)))
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "offset": 2}]}]
    deletes = request(_DELETE_RECORDS, 2, {"topics": topics, "timeout": timedelta(seconds=1)})
    ask(connection, target, _DELETE_RECORDS, 2, deletes)
    began_s = target.now_s()

    log = read_log(target, "t", 0, 1)

    assert (log.error, log.start, log.watermark, log.end, len(log.batches)) == (0, 2, 3, 3, 1)
    assert target.now_s() - began_s < 1, "nothing is waited for"
