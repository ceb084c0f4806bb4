"""Two workers of one group, each with a transactional id of its own (KIP-447): what one has done, the other does not do
again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from support.watchdog import LIMIT_S, join, wait_until

from conformance.clients.exactly_once.committed import read_values
from conformance.clients.exactly_once.proxy import END_TXN, Proxy, Strike
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.wire import Wire
from fakebroker import FakeCluster

pytestmark = [pytest.mark.clients, pytest.mark.slow]

PROGRAMS = {"librdkafka": "confluent", "aiokafka": "aiokafka"}
ROOT = Path(__file__).parents[3]
SESSION_MS, TIMEOUT_MS = 1_500, 3_000
CONFIG = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
}


class Workers:
    def __init__(self, client: str, kafka: FakeCluster, proxy: Proxy) -> None:
        self._program = f"conformance.clients.python.{PROGRAMS[client]}_processor"
        self._bootstrap = kafka.bootstrap_servers
        self.proxy = proxy
        for topic in ("in", "out"):
            kafka.create_topic(topic, partitions=2, configs={"retention.ms": -1})

    def worker(self, name: str) -> ClientProcess:
        processor = {
            "group": "g",
            "instance": None,
            "id": name,
            "in": "in",
            "out": "out",
            "die": None,
            "session_ms": SESSION_MS,
            "timeout_ms": TIMEOUT_MS,
        }
        plan = {"bootstrap": self.proxy.bootstrap_servers, "processor": processor}
        return ClientProcess([sys.executable, "-W", "ignore", "-m", self._program], ROOT, plan, LIMIT_S)

    def count(self, request: str) -> int:
        """Return how many requests of that name were sent."""
        return [name for name, _ in self.proxy.requests].count(request)

    def feed(self, values: dict[int, list[str]]) -> None:
        with Wire(self._bootstrap) as wire:
            wire.produce("in", values)

    def seen(self, *, committed: bool = True) -> list[list[str]]:
        """Return the values in each partition of `out`."""
        return [sorted(values) for values in read_values(self._bootstrap, "out", committed=committed).values()]


@contextmanager
def workers(client: str) -> Iterator[Workers]:
    with FakeCluster(brokers=3, config=CONFIG) as kafka, Proxy(kafka.bootstrap_servers) as proxy:
        yield Workers(client, kafka, proxy)


def go(worker: ClientProcess) -> None:
    worker.say({"do": "commit", "die": None})


def consumed(told: dict[str, Any]) -> str:
    return str(told["consumed"])


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_zombie_that_wakes_up_before_its_commit_commits_nothing(client: str) -> None:
    """One worker has sent its offsets and is paused. Its group assigns its partitions to another worker, which does not
    get the offsets until the transaction times out. Then the first one resumes with EndTxn."""
    with workers(client) as both, both.worker("first") as first:
        both.feed({0: ["v"]})
        assert consumed(first.hear()) == "v"
        stopped = both.proxy.arm(Strike(END_TXN, False, first.pause))
        go(first)
        assert stopped.over.wait(LIMIT_S)
        with both.worker("second") as second:
            assert consumed(second.hear()) == "v"
            go(second)
            assert second.hear() == {"done": "v"}
            assert both.seen() == [["v"], ["v"]]
            first.resume()
            assert "error" in first.hear()
            assert both.seen() == [["v"], ["v"]]
            assert both.seen(committed=False) == [["v", "v"], ["v", "v"]]


def test_a_worker_joins_in_the_middle_of_a_transaction() -> None:
    """Not with aiokafka 0.14: it commits with TxnOffsetCommit v0, which says nothing of members and generations, and it
    goes on with records of a partition that it has lost. With it each input partition needs a transactional id of its
    own, as before KIP-447."""
    done: list[str] = []
    errors: list[str] = []

    def work(worker: ClientProcess) -> None:
        with suppress(Broken):  # it is ended
            while True:
                message = worker.hear()
                if "consumed" in message:
                    go(worker)
                else:
                    (done if "done" in message else errors).append(next(iter(message.values())))

    with workers("librdkafka") as both, both.worker("first") as first:
        both.feed({0: ["a0", "a1", "a2"], 1: ["b0", "b1", "b2"]})
        consumed(first.hear())
        joined = both.count("JoinGroup")
        with both.worker("second") as second:
            wait_until(lambda: both.count("JoinGroup") >= joined + 2, "that the second has joined")
            go(first)  # the group rebalances: its generation is still that of the transaction
            threads = [threading.Thread(target=work, args=(worker,)) for worker in (first, second)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(done) >= 6 or bool(errors), "the last commit")
            both.feed({0: ["a3"], 1: ["b3"]})  # with two partitions of two owners
            wait_until(lambda: len(done) >= 8 or bool(errors), "the last commit")
            for worker in (first, second):
                worker.kill()
            for thread in threads:
                join(thread)
        values = ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"]
        assert (sorted(done), errors) == (values, [])
        assert both.seen() == [values, values]
