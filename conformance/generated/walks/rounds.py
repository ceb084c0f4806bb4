"""Rounds of walks over three brokers: many groups at once, and in between the coordinator moves and brokers stop.

Theory   What happens to brokers happens to all groups, so the walks of a round stop where it does, and go on together.
         A round with a difference is played again with more patience; what is left is told, and not made smaller.
         Broker 1 is Kafka's controller and is never stopped, nor is the coordinator: when it goes in order Kafka
         moves it first, and that is done here by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import NamedTuple, Protocol

from conformance.awaited_groups import await_coordinator
from conformance.generated.walks.classic import ClassicWalker
from conformance.generated.walks.consumer import ConsumerWalker
from conformance.generated.walks.play import Player
from conformance.generated.walks.walk import Step, Walk
from conformance.group_frames import DESCRIBE_GROUPS, describe_groups
from conformance.scenario import AwaitCoordinator
from conformance.targets.target import Target, ask
from conformance.transcripts.recording import Recording
from fakebroker.protocol.error_code import ErrorCode

BROKERS = 3
ROUND_BOX = "walks"
AT_A_TIME = 24  # walks of a round
_OFFSETS = "__consumer_offsets"
_LIMIT_S = 60.0
_KNOWN_MS = 150  # by then all requests that were parked on a former coordinator have their responses
_GROUP = "warm"
_LENGTHS = (6, 8, 10)


class Walker(Protocol):
    steps: list[Step]

    def go(self, length: int) -> None: ...
    def moved(self, broker: int) -> None: ...
    def end(self) -> None: ...


class Event(NamedTuple):
    """An event between two parts of all walks: the next coordinator, and the brokers that stop and start."""

    coordinator: int
    stops: int | None = None
    starts: int | None = None


class Round(NamedTuple):
    """`walks` have a part for each event, and a first one; `walks[i]` is of `seeds[i]`."""

    seeds: tuple[int, ...]
    events: tuple[Event, ...]
    walks: tuple[tuple[Walk, ...], ...]


def make_round(seed: int, walks: int = AT_A_TIME) -> Round:
    """Return the round of this seed. At its end all brokers run, and the first one coordinates again."""
    random = Random(seed)
    first = random.choice([2, 3])
    other = 5 - first
    events = random.choice(
        [
            (Event(first), Event(1)),
            (Event(first, stops=other), Event(1, starts=other)),
            (Event(first), Event(other, stops=first), Event(1, starts=first)),
        ]
    )
    seeds = tuple(seed * 1_000 + number for number in range(walks))
    return Round(seeds, events, tuple(_parts(walk_seed, events) for walk_seed in seeds))


def _parts(seed: int, events: Sequence[Event]) -> tuple[Walk, ...]:
    random = Random(seed)
    walker: Walker = ClassicWalker(random) if seed % 2 else ConsumerWalker(random, BROKERS)
    parts, made = [], 0
    for event in (None, *events):
        if event is not None:
            walker.moved(event.coordinator)
        walker.go(len(walker.steps) + random.choice(_LENGTHS))
        if event is events[-1]:
            walker.end()
        parts.append(Walk(tuple(walker.steps[made:])))
        made = len(walker.steps)
    return tuple(parts)


def play_round(
    a_round: Round, target: Target, groups: Sequence[str], pool: ThreadPoolExecutor, patience: float
) -> list[Recording]:
    """Play the round and return the recording of each walk."""
    running = list(range(1, BROKERS + 1))
    players = [Player(target, group, patience, running) for group in groups]
    try:
        for number, event in enumerate((None, *a_round.events)):
            if event is not None:
                _happen(event, target, running, patience)
            parts = [walk[number].steps for walk in a_round.walks]
            list(pool.map(lambda pair: pair[0].go(pair[1]), zip(players, parts, strict=True)))
        return [player.heard() for player in players]
    finally:
        for player in players:
            player.close()


def _happen(event: Event, target: Target, running: list[int], patience: float) -> None:
    if event.starts is not None:
        target.start_broker(event.starts)
        running.append(event.starts)
    _await(lambda: target.isr(_OFFSETS, 0) == set(running), target, f"{running} are not all in sync")
    target.move_leader(_OFFSETS, 0, event.coordinator)
    await_coordinator(target, AwaitCoordinator(_GROUP))
    for broker in running:
        if broker != event.coordinator:
            _await(partial(_lets_go, target, broker), target, f"{broker} still coordinates")
    target.pause(round(_KNOWN_MS * patience))
    if event.stops is not None:  # its parked requests have their responses by now
        target.stop_broker(event.stops)
        running.remove(event.stops)
        await_coordinator(target, AwaitCoordinator(_GROUP))
    for broker in running:
        target.catch_up(broker)
    target.pause(round(_KNOWN_MS * patience))


def _lets_go(target: Target, broker: int) -> bool:
    """Return True if a broker has unloaded its groups. It does so some time after it has heard of the new leader, and
    then has completed its parked requests."""
    connection = target.connect(broker)
    try:
        [group] = ask(connection, target, DESCRIBE_GROUPS, 5, describe_groups([_GROUP], version=5)).groups
        return group.error_code is ErrorCode.not_coordinator
    finally:
        connection.close()


def _await(holds: Callable[[], bool], target: Target, otherwise: str) -> None:
    limit = target.now_s() + _LIMIT_S
    while not holds():
        if target.now_s() > limit:
            raise RuntimeError(otherwise)
        target.pause(50)
