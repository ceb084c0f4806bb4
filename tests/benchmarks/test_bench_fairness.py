"""The neighbours and the prober do what they say, and what becomes of what they saw."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from support.watchdog import LIMIT_S, join, wait_until

from benchmarks import fairness
from benchmarks.drivers.driver import Address
from benchmarks.drivers.frames import error_at, produce_frame, record_batch
from benchmarks.neighbours import crowd, hostile
from benchmarks.neighbours.attacks import ATTACKS, Attack
from benchmarks.neighbours.crowd import UNANSWERED, UNLIMITED, Neighbours, Probe
from benchmarks.neighbours.situations import FETCHED_BYTES, KINDS, Seen
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, OURS, ask
from conformance import frames
from fakebroker import FakeCluster
from fakebroker.protocol.record_batch import is_crc_valid

compiled = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
QUIET = frames.api_versions(version=0)
PERIOD_US = 2_000
PATIENCE_MS = 60_000


@contextmanager
def broker(followers: str = "instant") -> Iterator[Address]:
    with FakeCluster(followers=followers) as kafka:
        kafka.create_topic("busy", 1, 3)
        first = kafka.endpoints[0]
        yield first.host, first.port


def counted(flood: crowd.Program) -> list[dict[str, Any]]:
    """Return the reports of the flood from its start until it has done something."""
    flood.tell()
    results: list[dict[str, Any]] = []

    def has_done_something() -> bool:
        flood.tell()
        results.append(flood.result())
        return bool(results[-1]["requests"])

    wait_until(has_done_something, "a neighbour's first request")
    return results


@compiled
@pytest.mark.parametrize("window", [UNLIMITED, 4])
def test_neighbours_send_and_count_what_is_answered(window: int) -> None:
    frame = produce_frame("busy", 0, record_batch(10), acks=1)
    with broker() as address:
        neighbours = Neighbours("n", frame, window, error_at("busy"))
        with crowd.flood(address, neighbours, 3) as flood:
            done = counted(flood)
        end = ask(address, 2, 1, frames.list_offsets("busy", -1, version=1)).topics[0].partitions[0].offset
    assert sum(one["requests"] for one in done) <= end
    assert {(one["errors"], one["lost"]) for one in done} == {(0, 0)}
    assert all(one["seconds"] > 0 for one in done)


@compiled
def test_neighbours_without_answers_count_what_the_socket_took() -> None:
    frame = produce_frame("busy", 0, record_batch(10), acks=0)
    with broker() as address, crowd.flood(address, Neighbours("n", frame, UNANSWERED), 1) as flood:
        assert counted(flood)[-1]["requests"] > 0


@compiled
def test_an_answer_with_an_error_is_counted() -> None:
    frame = produce_frame("none", 0, record_batch(10), acks=1)
    with broker() as address, crowd.flood(address, Neighbours("n", frame, 2, error_at("none")), 1) as flood:
        done = counted(flood)
    requests = sum(one["requests"] for one in done)
    assert 0 < requests == done[-1]["errors"]


@compiled
def test_a_probe_is_not_early_and_knows_how_late_it_was_itself() -> None:
    late = Probe("late", produce_frame("busy", 0, record_batch(10), -1, 50), 50, error_at("busy"), 7)
    with broker("frozen") as address:
        probes = [(address, late), (address, Probe("quiet", QUIET))]
        with crowd.prober(probes, 100, PERIOD_US, PATIENCE_MS) as prober:
            prober.tell()
            seen = prober.result()
    assert 0 < seen["own"]["samples"] <= 50
    for name in ("late", "quiet"):
        assert seen[name]["samples"] + seen[name]["left_out"] == seen["own"]["samples"]
        assert {seen[name][what] for what in ("errors", "unanswered", "lost")} == {0}
    assert 0 <= seen["late"]["min_ms"] <= seen["late"]["p50_ms"] <= seen["late"]["p99_ms"] <= seen["late"]["max_ms"]
    assert seen["own"]["min_ms"] >= 0


@compiled
def test_what_is_never_answered_counts_with_the_time_it_waited() -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as deaf,
        crowd.prober([(deaf.getsockname(), Probe("quiet", QUIET, connections=5))], 20, PERIOD_US, 100) as prober,
    ):
        prober.tell()
        seen = prober.result()["quiet"]
    assert (seen["samples"], seen["unanswered"], seen["left_out"]) == (5, 5, 5)
    assert 100 <= seen["min_ms"] <= seen["max_ms"]


@compiled
def test_a_stall_is_seen_by_all_that_were_due_in_it() -> None:
    """The server answers nothing until all have asked: what was due first waits longest."""
    answer = b"\0\0\0\x06" + bytes(6)

    def serve(listener: socket.socket) -> None:
        connections = [listener.accept()[0] for _ in range(40)]
        for connection in connections:
            connection.recv(100)
        for connection in connections:
            with closing(connection):
                connection.sendall(answer)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        # 40 requests need 40 ms; a prober that has no core for a while has a second.
        with crowd.prober(
            [(listener.getsockname(), Probe("quiet", QUIET, connections=40))], 1_000, 1_000, PATIENCE_MS
        ) as prober:
            prober.tell()
            seen = prober.result()["quiet"]
        join(thread)
    # A connection that was answered may be asked again before the prober sees that it is closed.
    assert seen["samples"] - seen["unanswered"] == 40
    assert seen["max_ms"] > seen["min_ms"] + 20


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_neighbours_are_answered_without_an_error(kind: Neighbours) -> None:
    with broker() as address:
        ask(address, 0, 7, produce_frame("busy", 0, record_batch(FETCHED_BYTES), acks=1))
        with socket.create_connection(address, timeout=LIMIT_S) as connection:
            connection.sendall(kind.frame + QUIET)
            data = connection.recv(4 + 4 + 2 + 1 << 16)
    at = kind.error_at or (8 if kind.window == UNANSWERED else 0)
    assert not at or data[at : at + 2] == b"\0\0"


def test_the_bytes_of_attacks_are_what_they_say() -> None:
    for batch in (
        hostile.records_bomb(1_000),
        hostile.value_bomb(100_000),
        hostile.headers_bomb(5_000),
        hostile.gzip_of_members(2_000),
        hostile.many_records(300),
    ):
        assert is_crc_valid(batch, 0, len(batch))
    assert len(hostile.metadata_of(100)) == len(hostile.metadata_of(0)) + 1_000
    assert len(hostile.fetch_of("busy", 100)) == len(hostile.fetch_of("busy", 0)) + 1_600


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (hostile.records_bomb(1_000), 32),  # INVALID_TIMESTAMP
        (hostile.value_bomb(100_000), 0),
        (hostile.headers_bomb(5_000), 0),
        (hostile.gzip_of_members(2_000), 0),
        (hostile.many_records(300), 0),
    ],
    ids=["records", "value", "headers", "members", "many"],
)
def test_small_ones_are_taken_or_refused_for_what_they_are(batch: bytes, error: int) -> None:
    with broker() as address:
        answer = ask(address, 0, 7, hostile.produce("busy", batch))
        assert answer.responses[0].partition_responses[0].error_code == error
        several = ask(address, 0, 7, hostile.produce_to_partitions("busy", batch, 2)).responses[0].partition_responses
        assert {part.index: part.error_code for part in several} == {0: error, 1: 3}
        assert len(ask(address, 1, 4, hostile.fetch_of("busy", 10)).responses[0].partitions) == 10
        assert len(ask(address, 3, 4, hostile.metadata_of(10)).topics) == 10
        assert ask(address, 2, 1, hostile.search_by_time("busy")).topics[0].partitions[0].error_code == 0


def seen(lateness: float, stall: float, **more: float) -> Seen:
    def all_of(value: float) -> dict[str, float]:
        return {"p50_ms": value / 4, "p99_ms": value / 2, "max_ms": value}

    return Seen({"late": all_of(lateness), "quiet": all_of(stall), "own": all_of(0.1), "realtime": 1}, **more)  # type: ignore[arg-type]


def test_rows_beside_neighbours_hold_the_limit_and_omit_peers_without_timeouts() -> None:
    peers = {
        OURS: seen(30, 8, rate=1_000),
        MOCK: Seen({"quiet": seen(1, 2).probes["quiet"]}, rate=100),
        KAFKA: seen(60, 4),
    }
    peers[KFAKE] = Seen(note="missing: no go")
    rows = list(fairness.rows("8 x acks=1", False, True, peers))
    by = {(row.work.removeprefix("8 x acks=1: "), row.peer): row for row in rows}
    assert by["lateness p99", "limit"].met() is False
    assert by["lateness max", "limit"].met() is True
    assert by["lateness max", KAFKA].ratio == 2
    assert ("lateness max", MOCK) not in by
    assert by["round trip max", MOCK].ratio == 0.25
    assert by["round trip max", KFAKE].note == "missing: no go"
    assert (by["what they get", MOCK].ratio, by["what they get", KAFKA].theirs) == (10, None)


def test_rows_of_an_attack_have_the_longest_wait_of_a_client() -> None:
    peers = {OURS: seen(120, 90, answered_ms=500.0, memory_mb=20.0), KAFKA: Seen(note="it ended")}
    by = {(row.work, row.peer): row for row in fairness.rows("a", True, False, peers)}
    assert by["a: lateness max", "limit"].met() is False
    assert by["a: round trip max", "limit"].met() is True
    assert by["a: memory", KAFKA].note == "it ended"
    assert by["a: answered after", KAFKA].ours == 500


def test_each_attack_has_a_name_and_is_in_the_full_run() -> None:
    names = [case.name for case in fairness.cases(quick=False) if isinstance(case, Attack)]
    assert names == [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
    assert json.dumps(names)
    assert len(fairness.cases(quick=True)) < len(fairness.cases(quick=False))
