"""The odds beside what can be reckoned without a simulation: each closed form is written down here by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from heapq import heappop, heappush
from math import comb, sqrt
from typing import Any

import pytest

from fakebroker.core.journal.broker_events import BrokerKilled, BrokerStarting
from fakebroker.core.journal.events import Event
from fakebroker.testing.odds import OddsModel, TrialResult, run_trial
from fakebroker.testing.odds.failures import Failures
from fakebroker.testing.odds.trial import Trial
from fakebroker.testing.simulation import START_MONO_MS

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
NEVER_MS = 10**9 * HOUR_MS
SESSION_MS = 9_000
SIGMAS = 4  # in which a random number has to be: by chance it is not in one of 16,000 cases


class Lives:
    """The times at which brokers die and start, and their leaderships when they die."""

    def __init__(self, trial: Trial) -> None:
        self.deaths: list[tuple[int, int]] = []  # ms, partition that it led
        self.changes: list[tuple[int, int, bool]] = []  # ms, broker, whether it is up from then on
        self._trial = trial
        trial.simulation.cluster.probe.listen(self._hear, BrokerKilled, BrokerStarting)

    def _hear(self, event: Event, subject: object) -> None:
        at_ms = self._trial.simulation.elapsed_ms
        match event:
            case BrokerKilled():
                self.changes.append((at_ms, event.broker, False))
                self.deaths += [
                    (at_ms, index)
                    for index, partition in enumerate(self._trial.partitions)
                    if partition.leader_id == event.broker
                ]
            case BrokerStarting():
                self.changes.append((at_ms, event.broker, True))


def within(found: float, mean: float, deviation: float) -> bool:
    return abs(found - mean) <= SIGMAS * deviation


# A follower that lags by L: with acks=1 the last L of acknowledged records is lost with each leader.

LAG_MS = 10_000
LAGGING = OddsModel(
    acks="1",
    rate=0.2,
    lag_ms=LAG_MS,
    duration_ms=HOUR_MS // 2,
    mtbf_ms=5 * MINUTE_MS,
    mttr_ms=20_000,
    brokers_config={"auto.leader.rebalance.enable": "false"},  # or leadership also moves to a lagging replica
)


@cache
def lagging() -> tuple[Trial, Lives, TrialResult]:
    trial = Trial(LAGGING, 3, tells=True)
    lives = Lives(trial)
    return trial, lives, trial.run()


def test_with_acks_1_each_leader_takes_along_what_it_was_sent_in_the_last_lag() -> None:
    trial, lives, result = lagging()
    places = trial.tally.places
    assert places is not None
    expected = {
        number
        for number, (partition, _, told_ms) in places.items()
        for at_ms, led in lives.deaths
        if led == partition and at_ms - LAG_MS < told_ms - START_MONO_MS - 1 <= at_ms  # it is told 1 ms later
    }
    assert set(trial.tally.lost(trial.logs)) == expected
    mean = len(lives.deaths) * LAGGING.rate / LAGGING.brokers * LAG_MS / 1_000
    assert len(lives.deaths) == result.leaders_lost > 10
    assert within(result.lost, mean, sqrt(mean))


def test_with_acks_all_and_two_in_sync_nothing_is_lost_in_the_same_failures() -> None:
    _, _, before = lagging()
    result = run_trial(OddsModel(**{**vars(LAGGING), "acks": "all"}), 3)
    assert (result.sent, result.crashes) == (before.sent, before.crashes)
    assert before.lost > 0
    assert (result.lost, result.duplicated, result.reordered) == (0, 0, 0)


# Lost answers: each costs a copy, unless the producer is idempotent or does not try again.

LOSSY: dict[str, Any] = {"rate": 1.0, "duration_ms": 200_000, "mtbf_ms": NEVER_MS, "lost_answers": 0.2}


def test_each_lost_answer_is_a_duplicate_without_idempotence() -> None:
    trial = Trial(OddsModel(**LOSSY, idempotence=False), 1)
    result = trial.run()
    [fault] = trial.simulation.cluster.faults.armed
    copies = Counter(number for log in trial.logs for number in log)
    assert sum(copies.values()) - len(copies) == fault.hits
    assert set(copies) == set(range(result.sent))
    share = LOSSY["lost_answers"]
    assert within(result.duplicated, share * result.sent, sqrt(share * (1 - share) * result.sent))


def test_none_is_with_idempotence() -> None:
    result = run_trial(OddsModel(**LOSSY), 1)
    assert (result.acknowledged, result.lost, result.duplicated, result.reordered) == (result.sent, 0, 0, 0)


def test_without_retries_written_records_are_reported_as_failed() -> None:
    trial = Trial(OddsModel(**LOSSY, acks="1", retries=0), 1)
    result = trial.run()
    [fault] = trial.simulation.cluster.faults.armed
    assert result.failed == result.written == fault.hits > 0
    assert result.errors == {"NETWORK_EXCEPTION": fault.hits}
    assert (result.lost, result.duplicated) == (0, 0)


# All machines lose their power at once: what was acknowledged since the last leader's last flush is lost.


def test_a_blackout_takes_half_of_the_time_between_flushes_on_average() -> None:
    model = OddsModel(
        crash="power",
        together=1.0,
        flush_ms=120_000,
        rate=0.05,
        duration_ms=2 * HOUR_MS,
        mtbf_ms=HOUR_MS // 2,
        mttr_ms=500,
    )
    result = run_trial(model, 1)
    blackouts = result.crashes / model.brokers
    flush_s = model.flush_ms / 1_000
    mean = blackouts * model.rate * flush_s / 2
    # The age of a flush is uniform, and one leader has all partitions then.
    deviation = sqrt(blackouts * (model.rate * flush_s) ** 2 / 12 + mean)
    assert blackouts >= 8
    assert result.lost > 0
    assert within(result.lost, mean, deviation)


# Availability.


def test_without_acks_all_a_partition_is_gone_for_a_session_with_each_leader() -> None:
    """A partition is unavailable for a session, as long as no second broker dies."""
    result = run_trial(OddsModel(acks="1", rate=1e-6, duration_ms=20 * HOUR_MS, mtbf_ms=5 * HOUR_MS, mttr_ms=30_000), 2)
    assert result.leaders_lost >= 5
    assert result.unavailable_ms == SESSION_MS * result.leaders_lost


SHORT_SESSION_MS = 1
QUIET = OddsModel(
    rate=1e-6,
    duration_ms=10 * HOUR_MS,
    mtbf_ms=1_000_000,
    mttr_ms=300_000,
    brokers_config={"broker.session.timeout.ms": str(SHORT_SESSION_MS)},
)


def test_acks_all_needs_two_of_three_brokers() -> None:
    """Availability follows from the times of deaths and starts alone: a partition accepts records while two brokers are
    up. After all were down, the two that died last must have started again. The last of them, the former leader, must
    be up: only it surely has all records (KIP-966)."""
    trial = Trial(QUIET, 1)
    lives = Lives(trial)
    result = trial.run()
    up, one_before, last, missed = {1, 2, 3}, 0, 0, set[int]()
    since_ms = too_few_ms = waiting_ms = 0
    for at_ms, broker_id, is_up in [*lives.changes, (QUIET.duration_ms, 0, True)]:
        at_ms = min(at_ms, QUIET.duration_ms)
        too_few_ms += (at_ms - since_ms) * (len(up) < QUIET.min_isr)
        waiting_ms += (at_ms - since_ms) * (len(up) >= QUIET.min_isr and last > 0)
        since_ms = at_ms
        (up.add if is_up else up.discard)(broker_id)
        missed.discard(broker_id)
        if last and not missed and last in up:
            last = 0
        elif not last and not is_up and len(up) == 1:
            one_before = broker_id
        elif not last and not up:
            last, missed = broker_id, {one_before, broker_id}
    assert waiting_ms > 0, "with this seed no election waits for the last leader: take another seed"
    expected_ms, of_partition_ms = too_few_ms + waiting_ms, result.unavailable_ms / QUIET.brokers
    assert expected_ms <= of_partition_ms <= expected_ms + SHORT_SESSION_MS * result.crashes


class _NoCluster:
    """A clock for `Failures`, and a simulation that only notes which brokers are up."""

    def __init__(self, brokers: int) -> None:
        self.simulation = self
        self.elapsed_ms = 0
        self.up = brokers
        self.time_with = Counter[int]()
        self.leader_id = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, at_ms: int, do: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._queue, (at_ms, self._count, do))

    def partition(self, topic: str, index: int) -> _NoCluster:
        return self

    def kill(self, broker_id: int, loss: object) -> None:
        self.up -= 1

    def start(self, broker_id: int) -> None:
        self.up += 1

    def run(self, until_ms: int) -> None:
        while self._queue[0][0] < until_ms:
            at_ms, _, do = heappop(self._queue)
            self.time_with[self.up] += at_ms - self.elapsed_ms
            self.elapsed_ms = at_ms
            do()


def test_failures_are_those_of_independent_brokers() -> None:
    model = OddsModel(brokers=5, replication=3, mtbf_ms=1_000_000, mttr_ms=100_000)
    world: Any = _NoCluster(model.brokers)
    failures = Failures(world, "t", model, 7, lambda: None, lambda what: None)
    until_ms = 20_000 * model.mtbf_ms // model.brokers
    world.run(until_ms)
    is_down = model.mttr_ms / (model.mtbf_ms + model.mttr_ms)
    cycles = until_ms / (model.mtbf_ms + model.mttr_ms) * model.brokers
    assert within(failures.crashes, cycles, sqrt(cycles))
    for up in range(2, 6):
        share = world.time_with[up] / until_ms
        mean = comb(5, up) * (1 - is_down) ** up * is_down ** (5 - up)  # so fewer than k of n: their sum
        assert share == pytest.approx(mean, rel=0.1 if up > 2 else 0.3), up


def test_records_come_by_a_poisson_process_to_all_partitions_alike() -> None:
    trial = Trial(OddsModel(rate=2.0, duration_ms=150_000, mtbf_ms=NEVER_MS), 5)
    trial.run()
    mean = 300
    sizes = [len(log) for log in trial.logs]
    assert within(sum(sizes), mean, sqrt(mean))
    assert all(within(size, mean / 3, sqrt(mean / 3)) for size in sizes)
