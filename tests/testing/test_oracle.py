"""The oracle is small and knows nothing of the broker; and it notices when the broker is wrong."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import fakebroker.testing
from fakebroker.core.replication.partition import Partition
from fakebroker.testing.messages import ClientBatch, ClientFetch, ClientOutcome, ClientProduce, Violation
from fakebroker.testing.oracle import Oracle
from fakebroker.testing.oracle_partition import FROZEN
from fakebroker.testing.plan import from_text
from fakebroker.testing.replay import Replay
from fakebroker.testing.run import EVERY_STEP
from fakebroker.testing.worlds import orders_at

FOLDER = Path(fakebroker.testing.__file__).parent
RULES = ("rules.elections", "rules.producers", "rules.requests", "rules.sockets", "rules.transactions")
OWN = {f"fakebroker.testing.{name}" for name in ("messages", "oracle_partition", *RULES)}
KEY = ("t", 0)


@pytest.mark.parametrize("name", ["oracle", "oracle_partition", *RULES, "messages"])
def test_it_knows_nothing_of_the_broker(name: str) -> None:
    for node in ast.walk(ast.parse((FOLDER / f"{name.replace('.', '/')}.py").read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.module in OWN or str(node.module).split(".")[0] in sys.stdlib_module_names
        assert not isinstance(node, ast.Import)


def test_it_is_small() -> None:
    assert code_lines("oracle") + code_lines("oracle_partition") < 352
    assert code_lines("rules.elections") + code_lines("rules.requests") < 212


def code_lines(name: str) -> int:
    """Lines with code: without blank ones, comments, docstrings and imports."""
    source = (FOLDER / f"{name.replace('.', '/')}.py").read_text()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(1 for number, line in lines if line.strip() and line.strip()[0] != "#" and number not in left_out)


def frozen_cluster() -> Oracle:
    oracle = Oracle([1, 2, 3], 1_000)
    oracle.create_topic("t", 1, 3, 2)
    oracle.set_followers(FROZEN, None, None, None)
    oracle.requests.connect(1, 1)
    return oracle


def run_to(oracle: Oracle, at_ms: int) -> None:
    while (due := oracle.next_due()) <= at_ms:
        oracle.run(due, sum((orders[0] for orders in orders_at(oracle, due)), ()))
    oracle.now = at_ms


def test_stuck_requests_time_out_one_after_the_other() -> None:
    """Reference: N pipelined requests with timeout T on a stuck partition are completed at T, 2T, 3T."""
    oracle = frozen_cluster()
    oracle.requests.send(
        1, *(ClientProduce(number, -1, 100, ((KEY, ClientBatch(b"%d" % number)),)) for number in (1, 2, 3))
    )
    for at_ms in (100, 200, 300):
        oracle.requests.handle(1)
        run_to(oracle, at_ms)
    assert oracle.requests.outcomes == [
        ClientOutcome(1, 100 * number, number, ((KEY, 7, number - 1),)) for number in (1, 2, 3)
    ]
    assert [logged.batch.ident for logged in oracle.partitions[KEY].log] == [b"1", b"2", b"3"]


def test_below_the_minimum_the_watermark_stands_and_appends_are_refused() -> None:
    """Reference, Kafka 3.7 and later: if the ISR drops below the minimum after the append, the error is 7 at the
    timeout. A later acks=-1 is refused with 19."""
    oracle = frozen_cluster()
    oracle.requests.send(
        1,
        ClientProduce(1, -1, 5_000, ((KEY, ClientBatch(b"a")),)),
        ClientProduce(2, -1, 5_000, ((KEY, ClientBatch(b"b")),)),
    )
    oracle.requests.handle(1)
    run_to(oracle, 5_000)
    assert oracle.partitions[KEY].isr == {1}
    oracle.requests.handle(1)
    assert [outcome.result for outcome in oracle.requests.outcomes] == [((KEY, 7, 0),), ((KEY, 19, -1),)]
    assert oracle.partitions[KEY].watermark == 0


def test_a_consumer_sees_nothing_above_the_watermark() -> None:
    oracle = frozen_cluster()
    oracle.requests.send(1, ClientProduce(1, 1, 0, ((KEY, ClientBatch(b"a")),)), ClientFetch(2, KEY, 0, 0))
    oracle.requests.handle(1)
    oracle.requests.handle(1)
    nothing = oracle.requests.outcomes[-1]
    assert nothing.result == (0, 0, ())
    oracle.set_followers(-1, None, None, None)
    oracle.requests.send(1, ClientFetch(3, KEY, 0, 0))
    oracle.requests.handle(1)
    assert oracle.requests.outcomes[-1].result == (0, 1, (b"a",))


def test_one_request_in_hand() -> None:
    oracle = frozen_cluster()
    oracle.requests.send(
        1, *(ClientProduce(number, -1, 100, ((KEY, ClientBatch(b"%d" % number)),)) for number in (1, 2))
    )
    oracle.requests.handle(1)
    with pytest.raises(Violation, match="out of turn"):
        oracle.requests.handle(1)


PLAN = (
    "cluster 3 1000; topic 1 3 2 0; followers 1 -1 -1 -1; produce 0 -1 100 1 1 0; advance 100; produce 1 -1 7 1 1 0; "
    "jump"
)


def test_a_broker_that_is_right_is_not_blamed() -> None:
    assert Replay(from_text(PLAN), 0, look_every=EVERY_STEP).violation is None


@pytest.mark.interpreted  # patches what is compiled
def test_a_broker_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that treats acks=all like acks=1, as every other fake broker does."""
    monkeypatch.setattr(Partition, "check_enough_replicas_reach_offset", lambda self, offset: (True, 0))
    violation = Replay(from_text(PLAN), 0).violation
    assert violation is not None
    assert "produce 0 -1 100" in str(violation)
