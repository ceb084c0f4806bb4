"""Faults that change the bytes of responses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.faulty import FaultyCluster
from support.messages import decode_response
from support.requests import ONE_RECORD, produce, request

from fakebroker.core.journal.events import Answer

THREE: dict[int, bytes | None] = dict.fromkeys(range(3), ONE_RECORD)
WHOLE_SIZE = 48


def answered(do: Any, *frames: bytes, times: Any = "once") -> tuple[FaultyCluster, Any]:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce"}, do, times)
    client = kafka.connect()
    client.send(*(frames or (produce("t", 0),)))
    return kafka, client


def usual(*frames: bytes) -> bytes:
    """Return the response without a fault."""
    client = FaultyCluster().connect()
    client.send(*(frames or (produce("t", 0),)))
    data: bytes = client.data
    return data


@pytest.mark.parametrize(("then", "end"), [("fin", "fin"), ("reset", "reset"), ("stay", "")])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 20, 1000])
def test_cut_after_so_many_bytes(size: int, then: str, end: str) -> None:
    kafka, client = answered({"cut": {"bytes": size, "then": then}}, produce("t", 0), produce("t", 0))
    assert client.data == usual()[:size]
    assert client.end == end
    assert kafka.log_end() == 1  # the next request is never handled


@pytest.mark.parametrize("part", [1, 2, 3])
def test_cut_in_the_nth_partition(part: int) -> None:
    frame = produce("t", partitions=THREE)
    _, client = answered({"cut": {"part": part, "bytes": 0}}, frame)
    whole = usual(frame)
    assert whole.startswith(client.data)
    # The index of that partition is the last that was written: its error code would come next.
    assert client.data[-4:] == (part - 1).to_bytes(4, "big")
    assert 0 < len(client.data) < len(whole)


def test_in_the_second_partition_of_the_third_answer() -> None:
    frame = produce("t", partitions=THREE)
    _, client = answered({"cut": {"part": 2, "bytes": 1}}, *[frame] * 4, times={"on_call": 3, "count": 1})
    assert len(client.frames) == 2
    assert client.data[-5:] == b"\0\0\0\1\0"


def test_dripping() -> None:
    kafka, client = answered({"drip": {"bytes": 10, "every_ms": 5}}, produce("t", 0), produce("t", 0))
    assert [(at_ms, len(data)) for at_ms, data in client.came] == [(0, 10)]
    kafka.advance(1_000)
    size = len(usual())
    assert client.came[: -(-size // 10)][-1][0] == 5 * ((size - 1) // 10)
    assert client.produced() == [{0: (0, 0)}, {0: (0, 1)}]
    assert [event.outcome for event in kafka.told(Answer)] == ["sent", "sent"]


def test_coalesced_answers_come_together_or_when_the_time_is_over() -> None:
    kafka, client = answered({"coalesce": 3}, produce("t", 0), produce("t", 0))
    assert client.data == b""
    client.send(produce("t", 0))
    [(_, data)] = client.came
    assert len(data) == 3 * len(usual())
    kafka.add({"api": "Produce"}, {"coalesce": {"answers": 2, "within_ms": 50}})
    client.send(produce("t", 0))
    kafka.advance(49)
    assert len(client.frames) == 3
    kafka.advance(1)
    assert len(client.frames) == 4
    client.send(produce("t", 0))
    assert len(client.frames) == 5


def test_a_fault_that_fires_again_while_answers_are_kept_keeps_them() -> None:
    _, client = answered({"coalesce": 2}, produce("t", 0), produce("t", 0), times="every_time")
    [(_, data)] = client.came
    assert len(data) == 2 * len(usual())


def test_duplicated_wrongly_numbered_and_oversized() -> None:
    assert answered("duplicate")[1].data == usual() * 2
    changed = answered({"wrong_correlation_id": 5})[1].data
    assert changed[4:8] == (6).to_bytes(4, "big")
    assert changed[8:] == usual()[8:]
    assert answered({"oversize": 100_000})[1].data == (100_000).to_bytes(4, "big") + usual()[4:]
    assert answered("oversize")[1].data[:4] == b"\x7f\xff\xff\xff"


def fetch(kafka: FaultyCluster, client: Any, version: int = 12) -> Any:
    partitions = [
        {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1}
        | {"last_fetched_epoch": -1, "log_start_offset": -1}
        for index in range(2)
    ]
    values: dict[str, Any] = {
        "cluster_id": None,
        "max_wait": timedelta(seconds=5),
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "topics": [{"topic": "t", "partitions": partitions}],
    }
    before = len(client.data)
    client.send(request(1, version, values))
    response = decode_response(1, version, client.data[before + 4 :])[1]
    return {part.partition_index: part for topic in response.responses for part in topic.partitions}


def test_a_corrupted_batch_in_one_partition_of_a_fetch() -> None:
    kafka = FaultyCluster()
    client = kafka.connect()
    client.send(produce("t", partitions=THREE))
    good = fetch(kafka, client)
    kafka.add({"api": "Fetch", "topic": "t", "partition": 1}, "corrupt_batch")
    bad = fetch(kafka, client)
    assert bad[0] == good[0]
    assert bad[1].records[:-1] == good[1].records[:-1]
    assert bad[1].records[-1] == good[1].records[-1] ^ 1
    assert fetch(kafka, client) == good


def test_an_error_of_one_partition_completes_the_fetch_at_once() -> None:
    kafka = FaultyCluster()
    client = kafka.connect()
    kafka.add({"api": "Fetch", "partition": 1}, "NOT_LEADER_OR_FOLLOWER")
    partitions = fetch(kafka, client)
    assert int(partitions[1].error_code) == 6
    assert (partitions[1].high_watermark, partitions[1].records) == (-1, None)
    assert int(partitions[0].error_code) == 0
