"""Results of each benchmark, made from samples, and the command that runs them."""

from __future__ import annotations

import time

import pytest

from benchmarks import __main__ as command
from benchmarks import parked, produce, purgatory
from benchmarks.drivers.driver import DriverError
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, OURS


def sample(answers: float, seconds: float = 1.0, **more: float) -> dict[str, float]:
    return {"answers": answers, "seconds": seconds, "all_answers": answers, "frame_bytes": 1_000} | more


def test_a_line_of_pipelined_work() -> None:
    (work,) = [work for work in produce.works() if work.name == "100 B"]
    samples = {
        OURS: [sample(100, broker_cpu_s=0.002), sample(300, broker_cpu_s=0.006), sample(200, broker_cpu_s=0.004)],
        MOCK: [sample(400, 4.0, broker_cpu_s=0.004)] * 3,
        KFAKE: [],
    }
    rows = list(produce.rows(work, samples, {KFAKE: "no go"}, (MOCK, KFAKE, KAFKA)))
    mock, kfake, kafka, cpu, *_ = rows
    assert (mock.ours, mock.theirs, mock.ratio, mock.target, mock.mb_s) == (200, 100, 2.0, 1.2, (0.2, 0.1))
    assert (kfake.theirs, kfake.ratio, kfake.note) == (None, None, "missing: no go")
    assert (kafka.theirs, kafka.note, kafka.target) == (None, "not measured", 3.0)
    assert (cpu.unit, cpu.ours, cpu.theirs, cpu.ratio, cpu.target) == ("us CPU", 20.0, 10.0, 0.5, None)


def test_a_line_of_work_with_one_in_flight() -> None:
    (work,) = [work for work in produce.works() if work.name == "1 KiB, one in flight"]
    samples = {OURS: [sample(1, p50_ms=0.05, p99_ms=0.2)], KFAKE: [sample(1, p50_ms=0.06, p99_ms=0.1)]}
    p50, p99 = produce.rows(work, samples, {}, (KFAKE,))
    assert (p50.work, p50.unit, p50.ours, p50.ratio, p50.met()) == ("1 KiB, one in flight, p50", "us", 50, 1.2, True)
    assert (p99.work, p99.ratio, p99.target) == ("1 KiB, one in flight, p99", 0.5, None)


def test_what_is_measured_is_what_was_asked_for() -> None:
    works = produce.works()
    names = [work.name for work in works]
    assert len(set(names)) == len(names)
    assert set(produce.QUICK) <= set(names)
    assert {work.value_bytes for work in works} >= {100, 1024, 16 * 1024, 1 << 20}
    assert {work.connections for work in works} == {1, 8}
    assert {work.acks for work in works} == {1, -1}
    assert {work.replication for work in works} == {1, 3}
    assert {work.topics * 4 for work in works} == {0, 1_000}


def test_parked_rows_hold_the_promises() -> None:
    one = {"min_ms": 0.1, "p50_ms": 1.0, "p99_ms": 4.0, "max_ms": 25.0, "kb": 20.0}
    rows = {row.work.removeprefix("10,000 parked: "): row for row in parked.rows(10_000, [one])}
    assert rows["lateness p99"].met() is True
    assert rows["lateness max"].met() is False
    assert rows["memory each"].met() is True
    assert rows["lateness p50"].met() is None


def test_a_broker_is_idle_when_it_has_stopped_working(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    used = iter([1.0, 1.08, 1.10, 1.101, 2.0])
    parked.await_idle(lambda: next(used))
    assert (len(slept), next(used)) == (3, 2.0)


def test_a_broker_that_is_never_idle_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    used = iter(range(10_000))
    with pytest.raises(DriverError, match="still busy 60 s after the last connect"):
        parked.await_idle(lambda: float(next(used)))


@pytest.mark.parametrize(("mix", "least", "most"), [("few time out", 0.06, 0.10), ("half time out", 0.48, 0.52)])
def test_the_mixes_time_out_as_they_should(mix: str, least: float, most: float) -> None:
    rate, share = purgatory.measure(20_000, *purgatory.MIXES[mix], 1)
    assert least < share < most
    assert rate > 0


def test_requests_arrive_at_the_rate_that_is_told() -> None:
    plan = purgatory.arrivals(50_000, 20.0, 60.0, 1)
    assert sum(map(len, plan)) == 50_000
    assert len(plan) == pytest.approx(50_000 / purgatory.RATE * 1000, rel=0.03)
    latencies = sorted(latency for arrived in plan for latency in arrived)
    assert latencies[25_000] == pytest.approx(20, abs=1)
    assert latencies[37_500] == pytest.approx(60, abs=2)


def test_all_runs_what_measures_and_goes_on_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[str, list[str]]] = []

    def run(name: str, argv: list[str]) -> int:
        seen.append((name, argv))
        if name == "memory":
            raise RuntimeError("no memory")
        return 0

    monkeypatch.setattr(command, "run", run)
    assert command.main(["--json"]) == 1
    by_name_only = {"curve", "guard", "modules", "report"}
    assert [name for name, _ in seen] == [name for name in command.names() if name not in by_name_only]
    assert dict(seen)["wheel"] == ["--json", "--quick"]
    assert dict(seen)["stock"] == ["--json"]
    assert "benchmarks memory: failed: RuntimeError: no memory" in capsys.readouterr().err


def test_a_slip_on_the_command_line_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--quik"]) == 2
    assert command.main(["produse"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "--quik" in first
    assert "produce" in second


def test_every_benchmark_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    out = capsys.readouterr().out
    for name in command.names():
        (line,) = [line for line in out.splitlines() if line.startswith(f"  {name} ")]
        assert len(line.split()) > 3
