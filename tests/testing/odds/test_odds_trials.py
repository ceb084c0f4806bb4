"""Trials of the odds: the same seed is the same trial, counts are the judge's, and a broker that lies is found out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.testing.odds import ModelError, OddsModel, TrialResult, run_trial
from fakebroker.testing.odds.trial import TOPIC, Trial
from fakebroker.testing.producers.judge import ProducerHistory, ReadRecord

# A quick one: brokers fail all the time, and many records are under way when they do.
ROUGH: dict[str, Any] = {
    "rate": 20.0,
    "duration_ms": 12_000,
    "mtbf_ms": 6_000,
    "mttr_ms": 2_000,
    "lag_ms": 50,
    "brokers_config": {"broker.session.timeout.ms": "500"},
}


def counted(result: TrialResult) -> TrialResult:
    return result._replace(took_us=0)


def test_a_seed_is_a_trial_and_models_share_its_arrivals_and_failures() -> None:
    model = OddsModel(**ROUGH)
    one, again, other = (run_trial(model, seed, tells=True) for seed in (4, 4, 5))
    assert counted(one) == counted(again)
    assert one.story != other.story
    without = run_trial(OddsModel(**ROUGH, acks="0"), 4)
    assert (without.sent, without.crashes) == (one.sent, one.crashes)
    assert one.crashes > 3


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"acks": "1"}, {"lost"}),
        ({"idempotence": False, "lost_answers": 0.1}, {"duplicate", "reordered"}),
        ({"acks": "1", "crash": "disk", "min_isr": 1, "unclean_leader_election": True}, {"lost"}),
        ({"crash": "power", "together": 0.5, "flush_ms": 3_000}, {"lost"}),
    ],
)
def test_the_counts_are_those_of_the_judge_of_histories(settings: dict[str, Any], wanted: set[str]) -> None:
    history = ProducerHistory()
    trial = Trial(OddsModel(**{**ROUGH, **settings}), 3, history=history)
    result = trial.run()
    read = [
        ReadRecord(TOPIC, partition, offset, b"%d" % number)
        for partition, log in enumerate(trial.logs)
        for offset, number in enumerate(log)
    ]
    counts = Counter(finding.kind for finding in history.check_read(read))
    more = Counter(number for log in trial.logs for number in log)
    assert (counts["lost"], counts["reordered"]) == (result.lost, result.reordered)
    assert counts["duplicate"] == sum(more.values()) - len(more)
    assert result.duplicated == sum(count > 1 for count in more.values())
    assert wanted <= set(counts), counts
    assert result.acknowledged + result.failed == result.sent == len(history.calls)


def test_idempotence_keeps_order_and_takes_no_record_twice() -> None:
    result = run_trial(OddsModel(**ROUGH, lost_answers=0.1), 1)
    assert (result.lost, result.duplicated, result.reordered) == (0, 0, 0)
    assert result.acknowledged > 150


@pytest.mark.interpreted
def test_a_broker_that_acknowledges_before_others_have_it_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model = OddsModel(**ROUGH)
    assert run_trial(model, 3).lost == 0
    monkeypatch.setattr(Partition, "check_enough_replicas_reach_offset", lambda self, offset: (True, ErrorCode.none))
    assert run_trial(model, 3).lost > 0


@pytest.mark.parametrize("crash", ["process", "disk"])
def test_the_story_has_the_failures_and_what_was_lost(crash: str) -> None:
    model = OddsModel(**ROUGH, acks="1", min_isr=1, unclean_leader_election=crash == "disk", crash=crash)
    result = run_trial(model, 3, tells=True)
    assert sum(line.endswith(f" fails: {crash}") for line in result.story) == result.crashes
    assert any("leads from offset" in line for line in result.story)
    one_by_one = sum(line.endswith(", and is lost") for line in result.story)
    if crash == "process":
        assert result.lost == one_by_one > 0
    else:
        assert result.story[-1] == f"and {result.lost - one_by_one:,} records more are lost"
    assert counted(run_trial(model, 3)) == counted(result)._replace(story=[])


def test_a_bug_names_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Trial, index: int) -> list[int]:
        raise AssertionError("x")

    monkeypatch.setattr(Trial, "_read", broken)
    with pytest.raises(RuntimeError, match=r"^the trial of seed 12 broke off: AssertionError: x$"):
        run_trial(OddsModel(rate=1.0, duration_ms=1_000), 12)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"acks": "2"}, "acks=2 must be all, -1, 0 or 1."),
        ({"acks": "1", "idempotence": True}, "enable.idempotence needs acks=all: otherwise a record may be lost, and"),
        ({"retries": -1}, "retries=-1 must be from 0 to "),
        ({"brokers": 0}, "A cluster has 1 to 100 brokers, not 0."),
        ({"replication": 4}, "3 brokers have 1 to 3 replicas of each partition, not 4."),
        ({"min_isr": 4}, "min.insync.replicas is 1 to 3, as many as there are replicas, not 4."),
        ({"min_isr": 2, "replication": 1}, "min.insync.replicas is 1 to 1, as many as there are replicas, not 2."),
        ({"lag_ms": -1}, "Followers are 0 to 2147483647 ms behind, not -1."),
        ({"rate": 0.0}, "A rate is above 0 and at most 1,000,000 records a second, not 0."),
        ({"duration_ms": 0}, "duration is 1 ms at least."),
        ({"mtbf_ms": 0}, "mtbf is 1 ms at least."),
        ({"crash": "fire"}, "A crash takes process, power, disk, not 'fire'."),
        ({"together": 1.5}, "The share of failures of all brokers is from 0 to 1, not 1.5."),
        ({"lost_answers": 1.0}, "The share of lost answers is from 0 to below 1, not 1."),
        ({"producer": {"acks": "1"}}, "acks is not to be given as a setting of the producer: acks is a setting of"),
        ({"producer": {"compression.type": "lz4"}}, "compression.type is not to be given as a setting of the producer"),
        ({"producer": {"linger": "1"}}, "linger is no setting of a producer here"),
        ({"brokers_config": {"no.such": "1"}}, "Unknown configuration 'no.such'."),
    ],
)
def test_a_slip_is_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError) as raised:
        OddsModel(**settings)
    assert str(raised.value).startswith(sentence)
    assert str(raised.value).endswith(".")
