"""A skip of the clock is fair: members that live stay in their groups and open transactions stay open, however much is
skipped; what is dead or abandoned ends as soon as with the real clock.

Parked Produce requests are what is skipped for. Clients live in the time that is not skipped (`Simulation.elapsed_ms`).
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.doses import count
from support.requests import fetch
from support.simulation import START_WALL_MS, Simulation
from support.skips import make_frozen_topic, time_out

from fakebroker.core.journal.group_events import MemberJoined, MemberLeft
from fakebroker.core.journal.transaction_events import TransitionPrepared
from fakebroker.testing.groups.member import HEARTBEAT_MS, REBALANCE_MS, SESSION_MS, SimulatedConsumer
from fakebroker.testing.groups.world import GroupWorld
from fakebroker.testing.transactions.producer import TransactionalProducer
from fakebroker.testing.transactions.world import CLEANUP_MS, TransactionWorld

SKIPS_MS = (400, 9_000, 30_000)
CHECK_EVERY = 1_000  # invariants of the whole cluster
# Its session ends, or the join or the sync that others wait for.
SILENT_FOR_MS = SESSION_MS + REBALANCE_MS + HEARTBEAT_MS
TRANSACTION_MS = 6_000
PACE_MS = 300  # between two steps of a transaction
ONGOING, TIMED_OUT = "Ongoing", "transaction.timeout.ms is over"


class Group:
    """A group with members that join, die, pause and leave. `silent_ms` has the time since a member sends nothing."""

    def __init__(self, protocol: str) -> None:
        self.world = GroupWorld(brokers=3, partitions=3, protocol=protocol, check_every=CHECK_EVERY)
        make_frozen_topic(self.world.simulation)
        self.silent_ms: dict[str, int] = {}
        self.leaving: set[str] = set()
        self.present: set[str] = set()
        self._seen = 0

    def silence(self, which: int, dies: bool) -> None:
        for member in self._speaking[which : which + 1]:
            self.silent_ms[member.member_id] = self.world.now_ms
            if dies:
                member.crash()
            else:
                member.is_paused = True

    def leave(self, which: int) -> None:
        for member in self._speaking[which : which + 1]:
            self.leaving.add(member.member_id)
            member.leave()
            self.world.act()

    @property
    def _speaking(self) -> list[SimulatedConsumer]:
        gone = self.leaving | set(self.silent_ms)
        return [member for member in self.world.alive if member.member_id not in gone]

    def check(self) -> None:
        """Check that each removed member has left, or was silent for its session."""
        events = list(self.world.journal)
        for event in events[self._seen :]:
            if isinstance(event, MemberJoined):
                self.present.add(event.member)
            elif isinstance(event, MemberLeft):
                self.present.discard(event.member)
                if event.member not in self.leaving:
                    assert event.member in self.silent_ms, f"{event.member} lives, and is expelled: {event.reason}"
                    silent_for_ms = event.wall_ms - START_WALL_MS - self.silent_ms[event.member]
                    assert silent_for_ms >= SESSION_MS - HEARTBEAT_MS, event
        self._seen = len(events)


GROUP_STEPS = st.one_of(
    st.tuples(st.just("live"), st.integers(1, HEARTBEAT_MS)),
    st.tuples(st.just("skip"), st.sampled_from(SKIPS_MS)),
    st.tuples(st.sampled_from(["join", "die", "stand still", "leave"]), st.integers(0, 2)),
)


def play_group(protocol: str, steps: list[tuple[str, int]]) -> None:
    group = Group(protocol)
    group.world.join()
    group.world.advance(SESSION_MS)
    for what, number in steps:
        if what == "live":
            group.world.advance(number)
        elif what == "skip":
            time_out(group.world.simulation, number, group.world.act)
        elif what == "join":
            group.world.join()
        elif what == "leave":
            group.leave(number)
        else:
            group.silence(number, what == "die")
        group.check()
    for _ in range(SILENT_FOR_MS // HEARTBEAT_MS):
        group.world.advance(HEARTBEAT_MS)
        time_out(group.world.simulation, SKIPS_MS[0], group.world.act)
        group.check()

    assert group.present.isdisjoint(group.silent_ms), "it is silent, and still in its group"
    group.world.finish()
    assert not group.world.history.findings


TRANSACTION_STEPS = st.one_of(
    st.tuples(st.just("live"), st.integers(1, 2 * PACE_MS)),
    st.tuples(st.just("skip"), st.sampled_from(SKIPS_MS)),
    st.tuples(st.sampled_from(["commit", "abort", "die"]), st.integers(0, 1)),
)


class Transactions:
    """Two producers at a time; for one that dies another one comes, with another id."""

    def __init__(self, version: int) -> None:
        self.world = TransactionWorld(brokers=3, version=version, check_every=CHECK_EVERY)
        make_frozen_topic(self.world.simulation)
        self.producers = [self._new(), self._new()]
        self.dead: set[str] = set()
        self.begun_ms: dict[str, int] = {}
        self._seen = 0

    def _new(self) -> TransactionalProducer:
        return self.world.producer(f"tx{len(self.world.producers)}", TRANSACTION_MS, PACE_MS)

    def transact(self, which: int, commits: bool) -> None:
        places = dict.fromkeys(self.world.places, 6)
        self.producers[which].transact(places, commits)
        self.world.act()

    def die(self, which: int) -> None:
        self.producers[which].crash()
        self.dead.add(self.producers[which].transactional_id)
        self.producers[which] = self._new()

    def check(self) -> None:
        """Only what is abandoned runs out of time, and takes as long as it may."""
        events = list(self.world.journal)
        for event in events[self._seen :]:
            if not isinstance(event, TransitionPrepared):
                continue
            if event.next_state == ONGOING and event.state != ONGOING:
                self.begun_ms[event.transactional_id] = event.wall_ms
            elif event.reason == TIMED_OUT:
                assert event.transactional_id in self.dead, f"{event.transactional_id} lives, and is fenced"
                open_ms = event.wall_ms - self.begun_ms[event.transactional_id]
                assert TRANSACTION_MS < open_ms <= TRANSACTION_MS + CLEANUP_MS, event
        self._seen = len(events)


def play_transactions(version: int, steps: list[tuple[str, int]]) -> None:
    transactions = Transactions(version)
    world = transactions.world
    for what, number in steps:
        if what == "live":
            world.advance(number)
        elif what == "skip":
            time_out(world.simulation, number, world.act)
        elif what == "die":
            transactions.die(number)
        else:
            transactions.transact(number, what == "commit")
        transactions.check()
    for _ in range((TRANSACTION_MS + CLEANUP_MS) // PACE_MS + 1):
        world.advance(PACE_MS)
        time_out(world.simulation, SKIPS_MS[0], world.act)
        transactions.check()
    for place in world.places:
        log = world.simulation.partition(*place).leader_log
        assert log.last_stable_offset == log.log_end_offset or any(
            producer.is_busy for producer in transactions.producers
        )
    world.finish()

    assert not any(producer.is_fenced for producer in transactions.producers)
    assert not world.history.findings


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@given(steps=st.lists(GROUP_STEPS, max_size=8))
@example([("join", 0), ("skip", 30_000), ("live", HEARTBEAT_MS), ("die", 0), ("skip", 30_000), ("live", 1)])
@settings(max_examples=count(6, 200), deadline=None)
def test_a_skip_expels_no_member_that_lives_and_spares_none_that_is_silent(
    protocol: str, steps: list[tuple[str, int]]
) -> None:
    play_group(protocol, steps)


@pytest.mark.parametrize("version", [1, 2])
@given(steps=st.lists(TRANSACTION_STEPS, max_size=16))
@example([("commit", 0), *[("live", 2 * PACE_MS)] * 3, ("skip", 30_000), ("live", 1), ("die", 0), ("skip", 30_000)])
@settings(max_examples=count(6, 200), deadline=None)
def test_a_skip_fences_no_producer_that_lives_and_spares_no_abandoned_transaction(
    version: int, steps: list[tuple[str, int]]
) -> None:
    play_transactions(version, steps)


@given(
    waits_ms=st.lists(st.integers(1, 20_000), min_size=1, max_size=4),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("live"), st.integers(1, 1_000)), st.tuples(st.just("skip"), st.sampled_from(SKIPS_MS))
        ),
        max_size=8,
    ),
)
@settings(max_examples=count(20, 500), deadline=None)
def test_a_long_poll_ends_when_it_would_with_the_real_clock(waits_ms: list[int], steps: list[tuple[str, int]]) -> None:
    simulation = Simulation(3)
    make_frozen_topic(simulation)
    simulation.topic("t", 1, 3)
    leader = simulation.partition("t").leader_id
    consumers = [simulation.connect(leader) for _ in waits_ms]
    for consumer, wait_ms in zip(consumers, waits_ms, strict=True):
        consumer.send(fetch("t", max_wait_ms=wait_ms))
    for what, number in [*steps, *[("live", 1_000)] * 20]:
        if what == "live":
            simulation.advance(number)
        else:
            time_out(simulation, number)

    assert [[at_ms for at_ms, _ in consumer.answers] for consumer in consumers] == [[wait_ms] for wait_ms in waits_ms]
