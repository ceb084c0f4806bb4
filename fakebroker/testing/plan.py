"""The plan of a simulation as values: a list of actions, and one line of text.

Theory   An action names its objects by small numbers, modulo what exists (clients, brokers, topics, partitions, in-sync
         replicas). So every action is valid at any time, and a plan stays valid when actions are removed. `random_plan`
         draws the actions by a seed, Hypothesis draws them by its strategies.
Text     "cluster 3 1000; topic 2 3 1 0; produce 0 -1 500 1 1 0; advance 20"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from random import Random
from typing import NamedTuple

BEHAVIOURS = ("instant", "frozen", "lagging:0", "lagging:7", "lagging:40", "lagging:300", "lagging:900")
TIMEOUTS_MS = (-1, 0, 1, 7, 40, 100, 250, 700, 2_000)
STEPS_MS = (0, 1, 6, 7, 33, 40, 100, 250, 499, 500, 501, 1_000, 1_600)
MODELS = ("well-behaved", "pipelining", "impatient", "disconnecting", "malformed")
FAULTS = ("empty", "two batches", "truncated", "crc", "no records")
MAX_CLIENTS = 2 * len(MODELS)
MAX_TRANSACTIONAL = 2  # in addition to MAX_CLIENTS
_PIPELINING = range(MODELS.index("pipelining"), MAX_CLIENTS, len(MODELS))

# Name -> its arguments, which are all integers.
ACTIONS: dict[str, tuple[str, ...]] = {
    "cluster": ("brokers", "lag max ms"),
    "topic": ("partitions", "replicas", "min.insync.replicas", "unclean elections"),
    "recreate": ("topic", "min.insync.replicas"),
    "delete": ("topic",),
    "produce": ("client", "acks", "timeout ms", "partitions as bits", "records", "fault"),
    "burst": ("client", "acks", "timeout ms", "partition", "requests"),
    "stream": ("client", "acks", "timeout ms", "partition", "requests"),
    "fetch": ("client", "partition", "offsets before the end", "wait ms"),
    "committed": ("client", "partition", "offsets before the end", "wait ms"),
    "transact": ("producer", "acks", "timeout ms", "partitions as bits", "records"),
    "end": ("producer", "0 aborts", "1 of the next epoch", "partitions as bits"),
    "garbage": ("client", "kind"),
    "disconnect": ("client",),
    "followers": ("behaviour", "topic", "partition", "broker"),  # -1 means all
    "stop": ("broker",),
    "start": ("broker",),
    "kill": ("broker",),
    "pause": ("broker",),
    "resume": ("broker",),
    "move": ("partition", "replica in sync"),
    "advance": ("ms",),
    "jump": (),
}


class Action(NamedTuple):
    """A step of a plan."""

    name: str
    arguments: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.name, *map(str, self.arguments)])


def action(name: str, *arguments: int) -> Action:
    """Return an action. Raises ValueError if there is none of this name, or for a wrong number of arguments."""
    if name not in ACTIONS:
        raise ValueError(f"there is no action {name!r}; there are: {', '.join(ACTIONS)}")
    if len(arguments) != len(ACTIONS[name]):
        wanted = ", ".join(ACTIONS[name]) or "nothing"
        raise ValueError(f"the action {name!r} takes {wanted}, and not {len(arguments)} numbers")
    return Action(name, arguments)


def to_text(plan: Iterable[Action]) -> str:
    """Return the plan as one line."""
    return "; ".join(map(str, plan))


def from_text(text: str) -> list[Action]:
    """Return the plan of a line. Raises ValueError if it is invalid."""
    plan = []
    for part in filter(None, map(str.strip, text.split(";"))):
        name, *numbers = part.split()
        try:
            arguments = [int(number) for number in numbers]
        except ValueError:
            raise ValueError(f"{part!r} is no action: after its name come whole numbers") from None
        plan.append(action(name, *arguments))
    return plan


_WEIGHTS = {
    "produce": 40,
    "burst": 6,
    "fetch": 8,
    "committed": 6,
    "transact": 12,
    "end": 8,
    "garbage": 1,
    "disconnect": 2,
    "followers": 8,
    "stop": 2,
    "start": 4,
    "move": 4,
    "recreate": 1,
    "delete": 1,
    "advance": 18,
    "jump": 6,
    "kill": 1,
    "pause": 1,
    "resume": 2,
}

_WEIGHTS_OF_STREAMS = {
    "stream": 60,
    "produce": 4,
    "fetch": 2,
    "committed": 1,
    "transact": 2,
    "end": 2,
    "garbage": 1,
    "disconnect": 2,
    "followers": 4,
    "stop": 1,
    "start": 4,
    "move": 2,
    "recreate": 1,
    "delete": 1,
    "advance": 16,
    "jump": 6,
    "kill": 1,
    "pause": 1,
    "resume": 2,
}


def random_plan(seed: int, steps: int, without: Set[str] = frozenset()) -> list[Action]:
    """Return a plan of a cluster, its topics and `steps` steps, without the actions in `without`. Plans of one seed
    start with the same steps, whatever their number."""
    return _drawn_plan(seed, steps, without, _WEIGHTS)


def random_stream_plan(seed: int, steps: int, without: Set[str] = frozenset()) -> list[Action]:
    """Return a plan with streams of Produce requests and fewer faults: most steps are a hundred requests."""
    return _drawn_plan(seed, steps, without, _WEIGHTS_OF_STREAMS)


def _drawn_plan(seed: int, steps: int, without: Set[str], weight_of: Mapping[str, int]) -> list[Action]:
    random = Random(seed)
    brokers = random.choice((1, 2, 3, 3, 3, 4))
    plan = [action("cluster", brokers, random.choice((300, 1_000, 5_000)))]
    for _ in range(random.randint(1, 3)):
        plan.append(
            action(
                "topic", random.randint(1, 3), random.randint(1, 3), random.choice((1, 1, 2, 2, 3)), _one_in(random, 8)
            )
        )
    names = [name for name in weight_of if name not in without]
    weights = [weight_of[name] for name in names]
    for _ in range(steps):
        [name] = random.choices(names, weights)
        plan.append(action(name, *_draw(name, random)))
    return plan


Drawn = Mapping[str, tuple[int, tuple[str, ...]]]  # by name: the weight, and the meaning of the numbers


def draw_more(
    plan: list[Action],
    actions: Drawn,
    steps_ms: Sequence[int],
    steps: int,
    random: Random,
    without: Set[str] = frozenset(),
) -> list[Action]:
    """Append actions until the plan has `steps` of them, without those in `without`. "advance" gets one of `steps_ms`,
    all others numbers below 8."""
    names = [name for name in actions if name not in without]
    weights = [actions[name][0] for name in names]
    while len(plan) < steps:
        [name] = random.choices(names, weights)
        if name == "advance":
            plan.append(Action(name, (random.choice(steps_ms),)))
        else:
            plan.append(Action(name, tuple(random.randrange(8) for _ in actions[name][1])))
    return plan


def read_actions(text: str, actions: Drawn, whose: str) -> list[Action]:
    """Return the plan of a line. Raises ValueError if it is invalid."""
    plan = []
    for part in text.split(";"):
        name, *numbers = part.split()
        if name not in actions or len(numbers) != len(actions[name][1]):
            raise ValueError(f"{part.strip()!r} is no action of {whose}: {', '.join(actions)}")
        plan.append(Action(name, tuple(map(int, numbers))))
    return plan


def _one_in(random: Random, count: int) -> int:
    return int(random.randrange(count) == 0)


def _draw(name: str, random: Random) -> Sequence[int]:
    client, partition = random.randrange(MAX_CLIENTS), random.randrange(9)
    acks = random.choice((-1, -1, -1, -1, 1, 0, 0)) if random.randrange(60) else 2
    timeout_ms = random.choice(TIMEOUTS_MS)
    match name:
        case "produce":
            partitions = random.choice((1 << partition, 1 << partition, random.randrange(1, 512)))
            fault = random.randrange(1, len(FAULTS) + 1) if random.randrange(25) == 0 else 0
            return client, acks, timeout_ms, partitions, random.choice((1, 1, 2, 5)), fault
        case "burst":
            return client, acks, timeout_ms, partition, random.randint(2, 6)
        case "stream":
            return random.choice((*_PIPELINING, client)), acks, timeout_ms, partition, random.randint(20, 180)
        case "fetch":
            return client, partition, random.randint(-1, 4), random.choice((0, 0, 30, 400))
        case "committed":
            return client, partition, random.randint(-1, 6), random.choice((0, 0, 30, 400))
        case "transact":
            producer, partitions = random.randrange(MAX_TRANSACTIONAL), random.choice((1 << partition, 7, 511))
            return producer, random.choice((-1, -1, -1, 1)), timeout_ms, partitions, random.choice((1, 1, 2, 5))
        case "end":
            partitions = random.choice((1 << partition, 7, 511))
            return random.randrange(MAX_TRANSACTIONAL), random.randrange(2), _one_in(random, 5), partitions
        case "garbage":
            return client, random.randrange(5)
        case "followers":
            topic = random.choice((-1, 0, 1, 2))
            return random.randrange(len(BEHAVIOURS)), topic, random.choice((-1, 0, 1, 2)), random.choice((-1, 1, 2, 3))
        case "move":
            return partition, random.randrange(3)
        case "recreate":
            return random.randrange(3), random.randint(1, 3)
        case "advance":
            return (random.choice(STEPS_MS),)
        case "jump":
            return ()
        case "disconnect":
            return (client,)
    return (random.randrange(4),)  # delete, stop, start, kill, pause, resume


__all__ = [
    "ACTIONS",
    "BEHAVIOURS",
    "FAULTS",
    "MODELS",
    "Action",
    "action",
    "draw_more",
    "from_text",
    "random_plan",
    "random_stream_plan",
    "read_actions",
    "to_text",
]
