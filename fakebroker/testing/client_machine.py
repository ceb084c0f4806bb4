"""Your own client under Hypothesis: real sockets, a clock that the test controls, faults as rules.

    class Orders(ClientMachine):
        topic, partitions = "orders", 2

        def setup_client(self):
            self.client = MyClient(self.kafka.bootstrap_servers)

        @rule(order=st.integers())
        def place(self, order):
            self.call(self.client.send, order)

        def close_client(self):
            self.client.close()

    TestOrders = Orders.TestCase

Theory   Each example has its own cluster. Between your rules Hypothesis freezes followers and lets them lag, stops and
         starts brokers, and moves leaders and the clock. At the end all faults are healed, your client is closed, and
         the journal is judged (history.py). Any lost, duplicated or reordered record fails the example. Hypothesis then
         searches for the shortest sequence of steps that fails, and prints it. `call` advances the broker's time while
         your client waits for it.
Limit    The threads and sockets of your client are real, and so is their scheduling. A failure that depends on it may
         not be reproducible.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import ClassVar, ParamSpec, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from fakebroker.core.errors import KafkaError
from fakebroker.server.fake_cluster import FakeCluster
from fakebroker.testing.history import DUPLICATE, GAP, LOST, REORDERED, check_history, describe

P = ParamSpec("P")
T = TypeVar("T")

_LOOK_EVERY_S = 0.001


class ClientMachine(RuleBasedStateMachine):
    """A state machine for your client. Subclass it, add `@rule`s that use your client, and configure it by the class
    attributes."""

    topic: ClassVar[str] = "t"
    partitions: ClassVar[int] = 1
    brokers: ClassVar[int] = 3
    replication_factor: ClassVar[int] = 3
    topic_config: ClassVar[Mapping[str, str | int | bool]] = {"min.insync.replicas": 2}
    broker_config: ClassVar[Mapping[str, str | int | bool]] = {}
    min_running_brokers: ClassVar[int] = 1
    forbidden: ClassVar[Collection[str]] = (LOST, DUPLICATE, REORDERED, GAP)
    call_limit_s: ClassVar[float] = 30.0  # in real time

    def __init__(self) -> None:
        super().__init__()
        self.kafka = FakeCluster(self.brokers, config=dict(self.broker_config), clock="manual")
        self.kafka.start()
        self.stopped: set[int] = set()
        try:
            self.kafka.create_topic(self.topic, self.partitions, self.replication_factor, dict(self.topic_config))
            self.setup_client()
        except BaseException:
            self.kafka.stop()
            raise

    # Override these.

    def setup_client(self) -> None:
        """Create your client. Called when the cluster runs and has the topic."""

    def close_client(self) -> None:
        """Flush and close your client. Called by `call` after all faults are healed."""

    def check(self) -> None:
        """Check your own assertions. Called at the end, before the journal is judged."""

    # Call these.

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call your client. Until it returns, advance the broker's time to its next deadline, again and again. Raises
        what the function raises, and TimeoutError if it takes longer than `call_limit_s` of real time."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(function(*args, **kwargs))
            except BaseException as error:
                result.set_exception(error)

        threading.Thread(target=run, name="client under test", daemon=True).start()
        for _ in range(int(self.call_limit_s / _LOOK_EVERY_S)):
            try:
                return result.result(_LOOK_EVERY_S)
            except TimeoutError:
                if result.done():
                    raise
                self.kafka.clock.advance_to_next_deadline()
        raise TimeoutError(f"{function!r} has not returned within {self.call_limit_s} s")

    # Faults of the cluster.

    @rule(partition=st.integers(0, 99))
    def freeze_followers(self, partition: int) -> None:
        self._followers(partition, lambda index: self.kafka.followers.freeze(self.topic, index))

    @rule(partition=st.integers(0, 99), lag_ms=st.sampled_from((1, 50, 400)))
    def let_followers_lag(self, partition: int, lag_ms: int) -> None:
        self._followers(partition, lambda index: self.kafka.followers.lag(lag_ms, self.topic, index))

    @rule(partition=st.integers(0, 99))
    def let_followers_catch_up(self, partition: int) -> None:
        self._followers(partition, lambda index: self.kafka.followers.instant(self.topic, index))

    @precondition(lambda self: len(self.stopped) < self.brokers - self.min_running_brokers)
    @rule(broker=st.integers(0, 99))
    def stop_broker(self, broker: int) -> None:
        running = [number for number in range(1, self.brokers + 1) if number not in self.stopped]
        self.stopped.add(running[broker % len(running)])
        self.kafka.brokers[running[broker % len(running)]].stop()

    @precondition(lambda self: self.stopped)
    @rule()
    def start_brokers(self) -> None:
        for broker in sorted(self.stopped):
            self.kafka.brokers[broker].start()
        self.stopped.clear()

    @rule(partition=st.integers(0, 99), broker=st.integers(0, 99))
    def move_leader(self, partition: int, broker: int) -> None:
        with suppress(KafkaError):  # not in sync, stopped, or without a replica
            self.kafka.move_leader(self.topic, partition % self.partitions, 1 + broker % self.brokers)

    @rule(ms=st.sampled_from((1, 50, 500, 5_000, 31_000)))
    def advance_clock(self, ms: int) -> None:
        self.kafka.clock.advance(ms)

    def _followers(self, partition: int, act: Callable[[int], None]) -> None:
        with suppress(KafkaError):  # the topic has no followers
            act(partition % self.partitions)

    def teardown(self) -> None:
        try:
            if self.stopped:
                self.start_brokers()
            self.kafka.followers.instant()
            self.call(self.close_client)
            self.check()
            findings = check_history(self.kafka.journal, self.forbidden)
            assert not findings, describe(findings)
        finally:
            self.kafka.stop()
