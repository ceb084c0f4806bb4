"""`python -m conformance.producer.real_time` compares Kafka's producer with ours in real time.

Theory   The judge of sequences (judge.py) steps both producers by one clock. It cannot see when a producer would wake
         up by itself. Here each producer runs in its own process and wakes up by itself. Each has its own cluster,
         which is silent, slow, or dies. The process reports the result of each record, and the time until it came.
         The verdict is "the same" if both producers report the same result, and our times are within wide limits.
         The limits are multiples of the time-out T.
         A busy machine must not decide. Each process measures how late a sleeping thread wakes up. A round with a
         thread that was too late is played again.
         No verdict is given if Kafka's producer is outside the limits in most rounds. This happens with a T below a
         second: Kafka's clock can show the very millisecond of the limit, and its sender sleeps for T again
         (docs/decisions.md, 157).
Units    milliseconds; limits are multiples of T.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Annotated, Any, Final, NamedTuple

import typer

from conformance.producer.stock import stock_sends
from conformance.targets.kafka_box import Unavailable
from fakebroker import FakeCluster

T_MS: Final = 500
RELEASES: Final = {"2.0": "2.0.1", "2.1": "2.1.0", "2.8": "2.8.2", "4.4": "4.4.0"}  # by generation
_MOST_LATE_MS: Final = T_MS / 8
_MOST_TRIES: Final = 4  # of a round
_TOPIC: Final = "orders"
_DELIVERY: Final = 2  # times T

Do = Callable[[FakeCluster], object]


class Limits(NamedTuple):
    """A range of times, in multiples of T. `first` is included, `below` is not."""

    first: float
    below: float


class Scene(NamedTuple):
    """A way in which a broker fails.

    before    runs before the record is sent
    after     runs after its callback
    retries   True: Kafka's default number of retries; False: none
    """

    name: str
    limits: Callable[[str], Limits]
    before: Do
    after: Do
    retries: bool = False


class Told(NamedTuple):
    """The result of one record.

    outcome   class and text of the error, or "offset"; N replaces each number
    ms        time from the send to the callback
    late_ms   how late a sleeping thread of the process woke up meanwhile
    """

    outcome: str
    ms: float
    late_ms: float

    @property
    def is_disturbed(self) -> bool:
        return self.late_ms > _MOST_LATE_MS


def _fault(what: Any) -> Do:
    when = {"api": "Produce", "topic": _TOPIC}
    return lambda kafka: kafka.faults.add(when=when, do=what, times=1)


def _pause(kafka: FakeCluster) -> None:
    kafka.brokers[1].pause()


def _resume(kafka: FakeCluster) -> None:
    kafka.brokers[1].resume()


def _kill(kafka: FakeCluster) -> None:
    kafka.brokers[1].kill()


def _start(kafka: FakeCluster) -> None:
    kafka.brokers[1].start()


def _nothing(_: FakeCluster) -> None:
    """Leave the broker as it is."""


def _once(_: str) -> Limits:
    """Return the limits of a record with one attempt."""
    return Limits(1, 1.5)


def _given_up(generation: str) -> Limits:
    """Return the limits if all attempts fail. Before KIP-91 the batch expires in the queue, T after its attempt."""
    return Limits(_DELIVERY, _DELIVERY + 0.5)


def _without_broker(generation: str) -> Limits:
    return _once(generation) if generation == "2.0" else _given_up(generation)


SCENES: Final = (
    Scene("silent", _once, _pause, _resume),
    Scene("silent, retries", _given_up, _pause, _resume, True),
    Scene("slow, in time", lambda _: Limits(0.5, 1), _fault({"delay": T_MS // 2}), _nothing),
    Scene("slow, too late", _once, _fault({"delay": T_MS * 8 // 5}), _nothing),
    Scene("dies in flight", lambda _: Limits(0, 0.5), _fault({"kill": 1}), _start),
    Scene("is dead, retries", _without_broker, _kill, _start, True),
)


class Verdict(NamedTuple):
    """`differs` says what differs, `undecided` why there is no verdict. Both are empty if the producers agree."""

    differs: str = ""
    undecided: str = ""


def verdict(limits: Limits, kafka: Sequence[Told], ours: Sequence[Told]) -> Verdict:
    """Judge the rounds of one scene that were played."""
    if any(attempt.is_disturbed for attempt in [*kafka, *ours]):
        return Verdict(undecided="the machine was late in every try")
    counted = [attempt for attempt in kafka if _is_within(limits, attempt)]
    if 2 * len(counted) <= len(kafka):
        return Verdict(undecided=f"Kafka took {_described(kafka)}, not {_described(limits)}")
    if not all(_is_within(limits, attempt) for attempt in ours):
        return Verdict(differs=f"ours took {_described(ours)}, not {_described(limits)}")
    theirs, mine = ({attempt.outcome for attempt in side} for side in (counted, ours))
    if not (mine <= theirs or theirs <= mine):  # whether a lost connection was noticed before is a race on both sides
        return Verdict(differs=f"Kafka says {sorted(theirs)}, ours {sorted(mine)}")
    return Verdict()


def _is_within(limits: Limits, attempt: Told) -> bool:
    return limits.first * T_MS - 1 <= attempt.ms < limits.below * T_MS  # clocks of milliseconds are rounded down


def _described(times: Sequence[Told] | Limits) -> str:
    if isinstance(times, Limits):
        return f"{times.first * T_MS:g} to {times.below * T_MS:g} ms"
    return ", ".join(f"{attempt.ms:.0f}" for attempt in times) + " ms"


def settings_of(generation: str, kafka: FakeCluster, retries: bool) -> dict[str, str]:
    values = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "acks": "1",
        "linger.ms": "0",
        "reconnect.backoff.max.ms": "20",
        "reconnect.backoff.ms": "20",
        "request.timeout.ms": str(T_MS),
        "retry.backoff.ms": "20",
    }
    if generation == "4.4":  # else it begins anew where no broker can be reached (KIP-899)
        values |= {"enable.idempotence": "false", "metadata.recovery.strategy": "none"}
    if not retries:
        values["retries"] = "0"
    elif generation == "2.0":
        values["retries"] = "1000"
    else:
        values["delivery.timeout.ms"] = str(_DELIVERY * T_MS)
    return values


class _Side:
    """A producer that runs, and its cluster."""

    def __init__(self, process: subprocess.Popen[str], kafka: FakeCluster) -> None:
        self._process = process
        self._kafka = kafka

    def play(self, scene: Scene) -> Told:
        for _ in range(_MOST_TRIES):
            scene.before(self._kafka)
            attempt = self._send()
            scene.after(self._kafka)
            self.settle()
            if not attempt.is_disturbed:
                break
        return attempt

    def settle(self) -> None:
        while not self._send().outcome.startswith("offset"):
            pass

    def _send(self) -> Told:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{_TOPIC} 0 key 10\n")
        self._process.stdin.flush()
        _, ms, late_ms, outcome = self._process.stdout.readline().strip().split(" ", 3)
        return Told(re.sub(r"\d+", "N", outcome), float(ms), float(late_ms))


@contextmanager
def _side(kafka_clients: bool, generation: str, retries: bool) -> Iterator[_Side]:
    with FakeCluster(brokers=1, config={"broker.session.timeout.ms": 300}) as kafka:
        kafka.create_topic(_TOPIC, partitions=1)
        settings = settings_of(generation, kafka, retries)
        if kafka_clients:
            command = stock_sends(RELEASES[generation], settings, "--times")
        else:
            given = [f"{name}={value}" for name, value in settings.items()]
            command = [sys.executable, "-m", "conformance.producer.our_sends", generation, *given]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                side = _Side(process, kafka)
                side.settle()
                yield side
            finally:
                process.kill()


def _play(kafka_clients: bool, generation: str, rounds: int) -> dict[str, list[Told]]:
    """Return what was told in each scene."""
    by_scene: dict[str, list[Told]] = {}
    for retries in (False, True):
        with _side(kafka_clients, generation, retries) as side:
            for scene in SCENES:
                if scene.retries == retries:
                    by_scene[scene.name] = [side.play(scene) for _ in range(rounds)]
    return by_scene


def judge(generation: str, rounds: int) -> dict[str, Verdict]:
    """Play all scenes on both sides at the same time. Raises Unavailable without Java or Maven."""
    with ThreadPoolExecutor(2) as pool:
        kafka, ours = pool.map(lambda is_kafka: _play(is_kafka, generation, rounds), (True, False))
    return {scene.name: verdict(scene.limits(generation), kafka[scene.name], ours[scene.name]) for scene in SCENES}


def main(
    rounds: Annotated[int, typer.Option(help="How often each scene is played.")] = 10,
    generation: Annotated[list[str] | None, typer.Option(help=f"{', '.join(RELEASES)}; all by default.")] = None,
) -> None:
    """Compare, and show what differs. The exit status is 1 if anything does."""
    differing = 0
    for name in generation or list(RELEASES):
        try:
            verdicts = judge(name, rounds)
        except Unavailable as error:
            typer.echo(f"not run: {error}")
            raise typer.Exit(2) from None
        for scene, (differs, undecided) in verdicts.items():
            differing += bool(differs)
            if differs or undecided:
                typer.echo(f"{name} ({RELEASES[name]}), {scene}: {differs or f'undecided: {undecided}'}")
        typer.echo(f"{name} ({RELEASES[name]}): {len(verdicts)} scenes, {rounds} rounds of each")
    raise typer.Exit(1 if differing else 0)


if __name__ == "__main__":
    typer.run(main)
