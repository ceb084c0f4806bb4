"""Bugs that the fuzzer found do not come back, and the fuzzer finds planted ones."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from random import Random

import pytest
from support.any_request import served
from support.requests import api_versions, batch
from support.simulation import SimulatedClient

import fakebroker
from fakebroker.network.effects import InternalError
from fakebroker.network.socket_server import SocketServer

from . import __main__ as command
from . import mutate, over_sockets, session, worker
from . import pool as pools
from .pool import Pool, draw, load
from .session import Plan, Step
from .shrink import shrunk

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.json"))


@pytest.fixture(scope="module")
def pool() -> Pool:
    return draw(1, each=2, batch_count=20)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_was_found_stays_away(path: Path) -> None:
    outcome = session.run(Plan.of_text(path.read_text()))
    assert not outcome.problem, outcome.text


@pytest.mark.nightly
def test_the_pool_has_every_api_and_version_and_is_the_same_for_a_seed(pool: Pool, tmp_path: Path) -> None:
    keys_and_versions = {
        (int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big")) for frame in pool.frames
    }
    assert keys_and_versions == {(api.key, version) for api, version in served()}
    pool.save(tmp_path / "pool")
    assert load(tmp_path / "pool") == pool == draw(1, each=2, batch_count=20)
    assert draw(2, each=1, batch_count=5).batches != pool.batches[:5]


def test_a_produce_holds_the_batch_that_was_put_in(pool: Pool) -> None:
    """Unmutated it is answered by the partition's leader, in every version; acks=0 with an error would be closed."""
    good = Pool(pool.frames, [batch(b"a", b"b")], pool.produces)
    steps = []
    for number, filled in enumerate(good.produces):
        only = Pool(good.frames, good.batches, [filled])
        inside = mutate.produce(NeverChanges(), only)
        steps.append(Step(number % 2, len(inside).to_bytes(4, "big") + inside, 100))
    outcome = session.run(Plan("plain", "instant", tuple(steps)))
    assert not outcome.problem
    assert outcome.closed == 0
    unanswered = len(steps) // 3  # acks=0
    assert outcome.answers == len(steps) - unanswered


class NeverChanges(Random):
    """A generator without mutations, so that a batch stays as it is."""

    def random(self) -> float:
        return 0.0


def test_a_session_is_the_same_twice_and_others_are_others(pool: Pool) -> None:
    plans = [session.plan(pool, 1, number) for number in (0, 0, 1)]
    assert plans[0] == plans[1] != plans[2]
    outcomes = [session.run(plan) for plan in plans]
    assert [outcome.problem for outcome in outcomes] == ["", "", ""], outcomes[0].text
    assert outcomes[0].digest == outcomes[1].digest != outcomes[2].digest
    assert outcomes[0].answers > 10
    assert outcomes[0].frames == len(plans[0].steps) >= session.FRAMES


def test_a_plan_survives_its_file(pool: Pool) -> None:
    plan = session.plan(pool, 3, 4)
    assert Plan.of_text(plan.to_text()) == plan


def test_sessions_over_sockets(pool: Pool) -> None:
    outcomes = over_sockets.run([session.plan(pool, 1, number) for number in range(2)])
    assert [outcome.problem for outcome in outcomes] == ["", ""], [outcome.text for outcome in outcomes]


def test_a_worker_tells_what_it_ran(pool: Pool) -> None:
    (one,) = worker.answer({"sessions": [5, 6]}, pool, 1)
    (again,) = worker.answer({"plan": session.plan(pool, 1, 5).to_text()}, pool, 1)
    assert one["digest"] == again["digest"]
    assert (one["number"], one["problem"]) == (5, "")
    assert one["frames"] == sum(count for _, _, count in one["covered"])
    assert json.dumps(one)


@pytest.mark.interpreted
def test_a_bug_is_found_and_shrunk(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip that shows at one correlation id of ApiVersions."""
    answer = SocketServer.answer

    def slips(self: SocketServer, connection: object, frame: bytes | None) -> None:
        if frame is not None and frame[4:8] == b"\0\0\0\x2a":
            self._emit(InternalError("a test", ValueError("the slip")))
        answer(self, connection, frame)  # type: ignore[arg-type]

    monkeypatch.setattr(SocketServer, "answer", slips)
    bad = api_versions(version=0, correlation_id=42)
    # No other frame is sent on that connection: an earlier one might be incomplete.
    steps = [step for step in session.plan(pool, 1, 0).steps[:40] if step.client != 2]
    steps.insert(20, Step(2, bad, 0))
    plan = Plan("plain", "instant", tuple(steps))

    def fails(candidate: Plan) -> bool:
        return session.run(candidate).problem == "bug"

    assert fails(plan)
    assert "the slip" in session.run(plan).text
    small = shrunk(plan, fails)
    assert len(small.steps) == 1
    assert len(small.steps[0].data) <= len(bad)


def test_what_takes_long_is_found(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SLOW_S", -1.0)
    outcome = session.run(session.plan(pool, 1, 0))
    assert (outcome.problem, outcome.frames) == ("slow", 1)


def test_the_garbage_of_earlier_sessions_takes_no_time_of_a_frame(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[bool] = []
    send = SimulatedClient.send

    def send_with_garbage(client: SimulatedClient, *frames: bytes) -> None:
        count = gc.get_stats()[0]["collections"]
        kept: list[list[int]] = [[] for _ in range(50_000)]  # more than any threshold of the collector
        send(client, *frames)
        collected.append(gc.get_stats()[0]["collections"] > count and len(kept) > 0)

    monkeypatch.setattr(SimulatedClient, "send", send_with_garbage)
    plan = session.plan(pool, 1, 0)
    session.run(Plan(plan.kind, plan.followers, plan.steps[:5]))
    assert collected[:5] == [False] * 5
    assert gc.isenabled()


@pytest.mark.slow
@pytest.mark.skipif(fakebroker.COMPILED, reason="it starts processes of the source itself")
def test_the_command_runs_so_many_frames_and_says_what_it_did(
    pool: Pool, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "draw", lambda seed: pool)
    assert command.main(["--frames", "1000", "--jobs", "1", "--seed", "5", "--corpus", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "0 finds; seed 5" in out
    assert int(out.split()[1].replace(",", "")) >= 1000
    assert list(tmp_path.iterdir()) == []
