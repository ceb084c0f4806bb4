"""Members of a group that join and leave, against a cluster in this process: assignments, records and commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fakebroker import FakeCluster
from fakebroker.protocol.errors import ProtocolError
from fakebroker_load.job import leaders_of
from fakebroker_load.plan import plan_connections
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.scenario.reads import ReaderOptions
from fakebroker_load.traffic.membership import Membership
from fakebroker_load.wire.member_messages import assigned, deal, subscription_to
from fakebroker_load.worker import run, run_in_loop

EACH = 150
SENT = RequestGroup(
    "sent", "orders", -1, "NONE", partitions=3, connections=3, requests_per_connection=EACH, pause_ms=20, ramp_ms=20
)
READ = RequestGroup("read", "orders", -1, "NONE", client="member", partitions=3, connections=2, session_ms=2_000)
REFUSED = {22, 25, 27}

Row = dict[str, Any]


@contextmanager
def cluster() -> Iterator[FakeCluster]:
    config = {"group.min.session.timeout.ms": 100, "group.initial.rebalance.delay.ms": 0}
    with FakeCluster(brokers=3, config=config) as kafka:
        kafka.create_topic("orders", partitions=3)
        yield kafka


def rows_of(kafka: FakeCluster, *groups: RequestGroup) -> list[Row]:
    scenario = LoadScenario("s", groups)
    metadata = leaders_of([(broker.host, broker.port) for broker in kafka.endpoints], scenario)
    table = plan_connections(scenario, metadata.leaders, 1)
    return [row for batch in run(iter(table.to_batches()), run_id="id") for row in batch.to_pylist()]


def told(rows: list[Row], what: str) -> list[Row]:
    return [row for row in rows if row["read"] and row["read"]["what"] == what]


def committed_at_last(rows: list[Row]) -> dict[int, int]:
    """Return the offset of the last answer about each partition."""
    answers = sorted(told(rows, "committed"), key=lambda row: row["answered_us"])
    return {row["partition"]: row["read"]["offset"] for row in answers}


def test_a_group_that_stays_reads_and_commits_all_once() -> None:
    with cluster() as kafka:
        rows = rows_of(kafka, SENT, READ)
    reads = Counter((row["partition"], row["read"]["offset"]) for row in told(rows, "record"))
    assert set(reads) == {(partition, offset) for partition in range(3) for offset in range(EACH)}
    assert committed_at_last(rows) == dict.fromkeys(range(3), EACH)
    assert [row["outcome"] for row in told(rows, "done")] == ["done", "done"]
    assert len({row["read"]["member"] for row in told(rows, "owns")}) == 2


def check_a_churn() -> tuple[set[str], set[str], list[int]]:
    """Let members come and go, and check that all is read. Return the members, those that left, and the error codes of
    commits of an old generation."""
    churn = replace(READ, connections=3, life_ms=(200, 500), vanish_every=3)
    with cluster() as kafka:
        rows = rows_of(kafka, SENT, churn)
    reads = Counter((row["partition"], row["read"]["offset"]) for row in told(rows, "record"))
    assert set(reads) == {(partition, offset) for partition in range(3) for offset in range(EACH)}
    assert committed_at_last(rows) == dict.fromkeys(range(3), EACH)
    assert [row["outcome"] for row in told(rows, "done")] == ["done"] * 3
    owners: dict[tuple[int, int | None], set[str]] = {}
    for row in told(rows, "owns"):
        if row["partition"] is not None:
            owners.setdefault((row["read"]["generation"], row["partition"]), set()).add(row["read"]["member"])
    assert {len(owner_ids) for owner_ids in owners.values()} == {1}
    newest = {row["connection"]: 0 for row in rows}
    old = []
    for row in rows:
        if row["read"] and row["read"]["what"] == "owns":
            newest[row["connection"]] = row["read"]["generation"]
        elif row["read"] and row["read"]["what"] == "commit" and row["read"]["generation"] < newest[row["connection"]]:
            old.append(row["error_code"])
    members = {row["read"]["member"] for row in told(rows, "owns")}
    return members, {row["read"]["member"] for row in told(rows, "left")}, old


def test_members_come_and_go_and_every_record_is_read() -> None:
    """The number of commits of an old generation depends on the machine. So runs are added up until there are some."""
    members: set[str] = set()
    left: set[str] = set()
    old: list[int] = []
    for _ in range(20):
        of_run = check_a_churn()
        members |= of_run[0]
        left |= of_run[1]
        old += of_run[2]
        if len(old) > 3 and len(members) > 5 and left < members:
            break
    assert len(members) > 5
    assert left < members  # some have vanished
    assert len(old) > 3
    assert set(old) <= REFUSED


def test_a_member_that_leaves_commits_what_it_has_read() -> None:
    """A membership lasts shorter than the time between two commits: without the last commit no member makes
    progress."""
    with cluster() as kafka:
        rows = rows_of(kafka, SENT, replace(READ, connections=1, life_ms=(200, 300)))
    read: dict[tuple[str, int], int] = {}
    done: dict[tuple[str, int], int] = {}
    for row in told(rows, "record"):
        read[row["read"]["member"], row["partition"]] = row["read"]["offset"] + 1
    for row in told(rows, "commit"):
        if row["error_code"] == 0:
            done[row["read"]["member"], row["partition"]] = row["read"]["offset"]
    left = {row["read"]["member"] for row in told(rows, "left")}
    assert len(read) > 3
    assert {member for member, _ in read} <= left
    assert {place: done[place] for place in read} == read


def test_range_gives_the_first_ones_more() -> None:
    members = [(name, subscription_to("t")) for name in ("c", "a", "b")] + [("d", subscription_to("u"))]
    shares = deal(members, "t", 5)
    assert {name: list(assigned(data, "t")) for name, data in shares.items()} == {"a": [0, 1], "b": [2, 3], "c": [4]}
    assert {name: list(assigned(data, "t")) for name, data in deal(members, "t", 1).items()} == {
        "a": [0],
        "b": [],
        "c": [],
    }
    assert list(assigned(b"", "t")) == []


def test_what_is_no_subscription_is_told() -> None:
    with pytest.raises(ProtocolError, match="a member's subscription: "):
        deal([("a", b"")], "t", 1)
    with pytest.raises(ProtocolError, match="an assignment: "):
        assigned(b"\0", "t")


def test_a_commit_that_is_answered_for_another_partition_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    part = SimpleNamespace(partition_index=2, error_code=0)
    answer = SimpleNamespace(topics=[SimpleNamespace(name="t", partitions=[part])])

    async def ask(*_: object) -> tuple[None, object]:
        return None, answer

    me = Membership("g", "t", ReaderOptions((), False, False, 1, 0, 0, 6_000, None, 0))
    monkeypatch.setattr(me, "_ask", ask)
    assert run_in_loop(me.commit({2: 5}, "m", 1))[1] == {2: 0}
    with pytest.raises(ProtocolError, match="about other partitions than the request"):
        run_in_loop(me.commit({1: 5}, "m", 1))
