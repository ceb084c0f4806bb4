"""The examples run as they stand, and print what they promise."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.forked import Forks

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


Run = Callable[[str], str]


@pytest.fixture(scope="module")
def run(forks: Forks) -> Run:
    """`run(name of a file)` returns what the example prints."""

    def run(name: str) -> str:
        done = forks.run(EXAMPLES / name, cwd=Path.cwd(), env=os.environ)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.clients
def test_request_timed_out(run: Run) -> None:
    lines = run("request_timed_out.py").splitlines()
    matches = [re.fullmatch(r"(.+?): +(\w+) +offset (\d+) +(\d+) ms", line) for line in lines]
    assert all(matches), lines
    rows = [(m[1], m[2], int(m[3]), int(m[4])) for m in matches if m]
    assert [(what, outcome, offset) for what, outcome, offset, _ in rows] == [
        ("healthy", "NONE", 0),
        ("followers frozen", "REQUEST_TIMED_OUT", 1),
        ("followers 200 ms behind", "NONE", 2),
        ("healthy again", "NONE", 3),
    ]
    assert rows[1][3] >= 500
    assert rows[2][3] >= 200


@pytest.mark.clients
def test_locked_user(run: Run) -> None:
    assert run("locked_user.py").splitlines() == [
        "alice: refused, the account is locked",
        "alice: has written",
        "bob: may not write",
    ]


def test_buggy_client(run: Run) -> None:
    retries, gives_up = run("buggy_client.py").splitlines()
    assert re.fullmatch(
        r"retries error 7: duplicate: orders-0 offset \d+: the same record as at offset \d+, written by request \d+ of "
        r"client 'sim' \d+ ms after request \d+",
        retries,
    )
    assert gives_up == "gives up:        None"


@pytest.mark.clients
def test_thirty_seconds(run: Run) -> None:
    error, went, journal = run("thirty_seconds.py").splitlines()
    assert error == "the client was told: REQUEST_TIMED_OUT"
    assert re.fullmatch(r"for the broker 30000 ms went by, for us \d+\.\d s", went)
    assert re.fullmatch(
        r"the journal: request \d+ of 'rdkafka' to kafkatest-0, acks=-1, timeout 30000 ms: "
        r"REQUEST_TIMED_OUT, offset 0, after 30000 ms",
        journal,
    )


@pytest.mark.clients
def test_sixty_seconds(run: Run) -> None:
    went, error, everything, committed = run("sixty_seconds.py").splitlines()
    match = re.fullmatch(r"for the broker 70 s went by, for us (\d+) ms", went)
    assert match
    assert int(match[1]) < 60_000  # these 70 s did not go by
    assert error == "the producer was told: _FENCED"
    assert everything == "who reads all: ['one']"
    assert committed == "who reads what is committed: []"


@pytest.mark.clients
def test_eight_days(run: Run) -> None:
    *reads, took = run("eight_days.py").splitlines()
    assert [line.split(":")[1].strip() for line in reads] == [
        "['one', 'two', 'three']",
        "[]",
        "[]",
        "['one', 'two', 'three']",
    ]
    assert re.fullmatch(r"which took \d+\.\d s", took)


READ_V1 = "what is read of what is committed: {'alice': ['alice -10', 'alice -99'], 'bob': ['bob +10']}"
READ_V2 = "what is read of what is committed: {'alice': ['alice -10'], 'bob': ['bob +10']}"


def test_torn_transaction(run: Run) -> None:
    """Version 1 is torn, version 2 is not; and the story shows what the program prints."""
    printed = run("torn_transaction.py")
    _, first, second = printed.split("--- version")
    assert READ_V1 in first
    assert "the request that was held arrives: NONE" in first
    assert READ_V2 in second
    assert "the request that was held arrives: PRODUCER_FENCED" in second
    story = (EXAMPLES.parent / "docs" / "stories" / "torn-transaction.md").read_text()
    for part in (first, second):
        assert part[part.index("the second transaction") :].strip() in story


def test_stale_leader(run: Run) -> None:
    """Records that acks=1 acknowledged are lost, and the story shows the output of the program."""
    printed = run("stale_leader.py")
    assert "  with acks=1:   NONE, offset 0" in printed
    assert "  with acks=all: NOT_LEADER_OR_FOLLOWER, offset 1" in printed
    [lost] = [line for line in printed.splitlines() if line.startswith("lost: ")]
    assert "acks=1" in lost
    assert printed in (EXAMPLES.parent / "docs" / "stories" / "stale-leader.md").read_text()


@pytest.mark.clients
def test_held_commit(run: Run) -> None:
    committed, aborted, read = run("held_commit.py").splitlines()
    assert re.fullmatch(r"the first is committed, after \d+\.\d s", committed)
    assert aborted == "the second is aborted"
    assert read == "what a consumer reads of what is committed: ['alice -10', 'alice -99', 'bob +10']"


def test_every_example_is_run() -> None:
    elsewhere = Path(__file__).parent / "spark" / "test_spark_reads_and_writes.py"
    source = Path(__file__).read_text() + elsewhere.read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in source] == []


@pytest.mark.clients
def test_lost_acknowledgement(run: Run) -> None:
    lines = [re.sub(r"request \d+", "request N", line) for line in run("lost_acknowledgement.py").splitlines()]
    assert lines == [
        "plain: the record of request N is written, offset 0",
        "plain: f1 acts on request N: disconnect, after_append",
        "plain: the record of request N is written, offset 1",
        "plain: sent 2 times, written 2 times",
        "idempotent: the record of request N is written, offset 0",
        "idempotent: f2 acts on request N: disconnect, after_append",
        "idempotent: the record of request N is known already, offset 0",
        "idempotent: sent 2 times, written 1 times",
    ]
