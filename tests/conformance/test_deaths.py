"""Rounds of plans in which brokers die: two clusters that are alike do not differ, others do; we do as Kafka did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support import doses
from support.virtual_target import VirtualTarget
from typer.testing import CliRunner

from conformance.__main__ import app
from conformance.generated.deaths.judge import GRANULARITY_MS, judge, wrong_fencing
from conformance.generated.deaths.kept import KeptRound, digest, keep, load, load_all
from conformance.generated.deaths.make import make_round
from conformance.generated.deaths.plan import BROKERS, HAPPENINGS
from conformance.generated.deaths.play import RoundPlayer
from conformance.generated.deaths.run import DEATHS, run_deaths
from conformance.targets.boxes import BOXES, Box

KIND = DEATHS[0]
BOX = BOXES[KIND]
KEPT = load_all()


@dataclass
class TwoOfUs:
    """Two simulated clusters in virtual time."""

    kafka: dict[str, VirtualTarget]
    ours: dict[str, VirtualTarget]


def two_of_us(ours: type[VirtualTarget] = VirtualTarget, **other: str) -> TwoOfUs:
    changed = {key.replace("_", "."): value for key, value in other.items()}
    name = f"{KIND}-rounds"
    return TwoOfUs({name: VirtualTarget(BOX)}, {name: ours(_with(BOX, changed))})


def _with(box: Box, config: dict[str, str]) -> Box:
    return replace(box, config=box.config | config)


# Rounds.


def test_rounds_with_a_paused_broker_may_have_unclean_elections() -> None:
    rounds = [make_round(seed) for seed in range(40)]
    stand = [a_round for a_round in rounds if any(event.what == "pause" for event in a_round.events)]
    assert any(plan.unclean for a_round in stand for plan in a_round.plans)


def test_before_and_after_a_broker_stops_there_are_beats() -> None:
    """One for each broker from which it fetches: so it is known what its fetch was answered."""
    a_round = next(round_ for round_ in map(make_round, range(40)) if round_.events[0].what == "pause")
    player = RoundPlayer(VirtualTarget(BOX), a_round, "beats")
    entries_ = [entry for entries in player.play().values() for entry in entries]
    beats = [entry for entry in entries_ if entry.get("asked", "").startswith(f"1 {a_round.events[0]}, beat")]

    leaders = set(BROKERS) - {a_round.events[0].broker}
    assert [{entry["at"] for entry in beats if f"beat {when}" in entry["asked"]} for when in ("before", "after")] == [
        leaders, leaders
    ]  # fmt: skip
    assert all(entry["end"] == "open" for entry in beats)


def test_the_same_seed_makes_the_same_round_and_another_one_another() -> None:
    assert make_round(1) == make_round(1)
    assert digest(make_round(1)) != digest(make_round(2))


def test_brokers_only_do_what_they_can() -> None:
    """Dead brokers start, paused brokers resume or are killed, and at the end all run."""
    happened: Counter[str] = Counter()
    for seed in range(200):
        states = dict.fromkeys(BROKERS, "runs")
        for event in make_round(seed).events:
            may = {"start": ("dead",), "resume": ("stands",), "kill": ("runs", "stands")}.get(event.what, ("runs",))
            assert states[event.broker] in may
            states[event.broker] = {"kill": "dead", "stop": "dead", "pause": "stands"}.get(event.what, "runs")
            happened[event.what] += 1
        assert set(states.values()) == {"runs"}
    assert set(happened) == set(HAPPENINGS)


# Plays.


def test_two_clusters_that_are_alike_do_not_differ() -> None:
    plans = doses.count(2, 4)  # of each round
    result = run_deaths(two_of_us(), 2 * plans, plans=plans)

    assert (result.walks, result.rounds, result.repeated, result.differences) == (2 * plans, 2, 0, [])
    assert {"NONE(0)", "NOT_LEADER_OR_FOLLOWER(6)", "NOT_ENOUGH_REPLICAS(19)"} <= {code for _, code in result.codes}
    assert "2 rounds" in result.summary()


def test_a_session_that_is_longer_is_found() -> None:
    result = run_deaths(two_of_us(broker_session_timeout_ms="6000"), 1, plans=1)

    assert any("when it was fenced" in signature for signature in result.seen)
    assert result.repeated == 1


class DiesPolitely(VirtualTarget):
    def kill_broker(self, broker: int) -> None:
        self.stop_broker(broker)


@pytest.mark.nightly  # every day: test_a_session_that_is_longer_is_found
def test_a_broker_that_is_stopped_instead_of_killed_is_found() -> None:
    result = run_deaths(two_of_us(DiesPolitely), 2, plans=2)

    assert result.differences


def test_a_round_is_kept_and_read_again(tmp_path: Path) -> None:
    kept: list[KeptRound] = []
    run_deaths(two_of_us(), 2, keep=kept.append, plans=2)

    [a_round] = kept
    assert load(keep(a_round, tmp_path)) == a_round
    assert load_all(tmp_path) == [a_round]


def test_only_of_deaths_is_anything_kept() -> None:
    result = CliRunner().invoke(app, ["walks", "--kind", "classic", "--keep"])

    assert result.exit_code == 2
    assert "with the kinds deaths, deaths-elr" in " ".join(result.output.split())


# What may differ.


def _answered(code: str, acks: int, *, stale: bool = True, after_ms: float = 1.0) -> dict[str, Any]:
    says = {"responses": [{"partition_responses": [{"error_code": code}]}]}
    stood_still = {"stale": True} if stale else {}
    entry = {"asked": f"1 pause 2, fresh: Produce v9 0 at 2, acks={acks}, 400 ms", "phase": "1 pause 2", "at": 2}
    return entry | stood_still | {"answers": [{"to": "Produce v9", "says": says, "after_ms": after_ms}], "end": "open"}


@pytest.mark.parametrize(
    ("kafka", "ours", "differ"),
    [
        (_answered("NONE(0)", 1), _answered("NOT_LEADER_OR_FOLLOWER(6)", 1), False),
        (_answered("NONE(0)", 1), _answered("REQUEST_TIMED_OUT(7)", 1), True),
        (_answered("NOT_LEADER_OR_FOLLOWER(6)", -1), _answered("NONE(0)", -1), True),
        (_answered("NONE(0)", 1, stale=False), _answered("NOT_LEADER_OR_FOLLOWER(6)", 1, stale=False), True),
    ],
    ids=["either", "neither", "all is no lie", "it did not stand still"],
)
def test_a_stale_leader_may_refuse_or_append(kafka: dict[str, Any], ours: dict[str, Any], differ: bool) -> None:
    findings, raced = judge([kafka], [ours])

    assert bool(findings) is differ
    assert raced == ("stale" in kafka)


@pytest.mark.parametrize("ours", [{"end": "closed", "answers": []}, _answered("NOT_LEADER_OR_FOLLOWER(6)", 1), {}])
def test_a_fetch_that_waits_there_may_wait_until_the_broker_dies(ours: dict[str, Any]) -> None:
    entry = {"asked": "1 pause 2, settled: Fetch v10 0 at 2, 600000 ms, for too much", "at": 2, "stale": True}

    assert judge([entry | {"end": "closed", "answers": []}], [ours | entry]) == ([], 1)


def test_an_answer_may_come_a_little_later_but_not_after_the_next_event() -> None:
    ours = _answered("NONE(0)", -1, stale=False)

    assert judge([ours | {"by": ours["phase"]}], [ours]) == ([], 0)
    assert judge([ours | {"by": "2 start 2"}], [ours])[0]


@pytest.mark.parametrize(("apart_ms", "differ"), [(GRANULARITY_MS, False), (GRANULARITY_MS + 1, True)])
def test_times_are_compared_by_the_granularity(apart_ms: int, differ: bool) -> None:
    code = "NOT_LEADER_OR_FOLLOWER(6)"
    findings, _ = judge([_answered(code, 1, after_ms=3_000)], [_answered(code, 1, after_ms=3_000 + apart_ms)])
    assert bool(findings) is differ

    fenced = ([{"phase": "1 kill 2", "fenced": [[2]], "fenced_after_ms": after}] for after in (3_000, 3_000 + apart_ms))
    assert bool(wrong_fencing(*fenced)) is differ


# What Kafka did.


def test_rounds_of_kafka_are_kept() -> None:
    assert len(KEPT) >= 3


@pytest.mark.parametrize("kept", doses.nightly_after(2, KEPT), ids=lambda kept: f"{kept.box}-{kept.seed}")
def test_we_do_as_kafka_did(kept: KeptRound) -> None:
    a_round = make_round(kept.seed)
    assert kept.digest == digest(a_round), (
        "the round asks something else than Kafka was asked: "
        f"`python -m conformance walks --kind {kept.box} --walks 40 --keep`"
    )

    player = RoundPlayer(VirtualTarget(BOXES[kept.box]), a_round, "deaths")
    played = player.play()

    findings = wrong_fencing(kept.happened, player.happened)
    for seed, kafka in kept.told.items():
        findings += judge(kafka, played[seed])[0]
    assert not findings, "\n".join(map(str, findings))
