"""Plans of a group among faults: actions as in `fakebroker.testing.plan`, drawn by a seed, and run.

Text     "group 3 4 0; joins; produce 0 5; stop 2; advance 5000"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from random import Random

from fakebroker.core.journal.events import Event
from fakebroker.testing.groups.member import SimulatedConsumer
from fakebroker.testing.groups.world import OFFSETS, GroupWorld
from fakebroker.testing.history import describe
from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import Action, draw_more, read_actions, to_text

PROTOCOLS = ("classic", "consumer")
BEHAVIOURS = ("instant", "frozen", "lagging:40", "lagging:900")
MAX_MEMBERS = 5

# Name -> (weight, meaning of the numbers). Numbers are taken modulo what exists.
ACTIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    "group": (0, ("brokers", "partitions", "protocol")),
    "joins": (6, ()),
    "crashes": (2, ("member",)),
    "leaves": (2, ("member",)),
    "pauses": (2, ("member",)),
    "wakes": (3, ("member",)),
    "produce": (12, ("partition", "records")),
    "followers": (3, ("behaviour", "topic: 0 its own, 1 that of offsets, 2 all", "broker, 0 for all")),
    "stop": (2, ("broker",)),
    "start": (4, ("broker",)),
    "move": (2, ("partition", "replica in sync")),
    "coordinator": (3, ("replica in sync",)),
    "advance": (14, ("ms",)),
}
_STEPS_MS = (0, 1, 40, 100, 499, 1_000, 2_500, 5_000, 11_000)


def random_group_plan(seed: int, steps: int, without: Set[str] = frozenset()) -> list[Action]:
    """Return the plan of a seed, without the actions in `without`."""
    random = Random(seed)
    plan = [Action("group", (random.choice((1, 3, 3, 4)), random.randint(1, 5), seed % len(PROTOCOLS)))]
    plan += [Action("joins"), Action("produce", (0, 3))]
    return draw_more(plan, ACTIONS, _STEPS_MS, steps, random, without)


def group_plan_from_text(text: str) -> list[Action]:
    """Return the plan of a line. Raises ValueError if it is invalid."""
    return read_actions(text, ACTIONS, "a group")


class GroupRun:
    """A run of a plan in a `world`. `settled_ms` is the time that the group took after all faults were healed.
    `on_event` gets all events of the journal."""

    def __init__(
        self,
        plan: Iterable[Action],
        seed: int = 0,
        check_every: int = 16,
        schedule: str = "first-come",
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.plan = list(plan)
        if not self.plan or self.plan[0].name != "group":
            raise ValueError("a plan begins with its group")
        brokers, partitions, protocol = self.plan[0].arguments
        self.world = GroupWorld(
            max(1, min(brokers, 5)), max(1, min(partitions, 8)), PROTOCOLS[protocol % 2], seed, check_every, schedule,
            on_event,
        )  # fmt: skip

    @property
    def settled_ms(self) -> int:
        return self.world.settled_ms

    def run(self) -> None:
        """Run the plan. Raises Violation as soon as the history has a finding, or if the group is in a wrong state at
        the end."""
        for number, action in enumerate(self.plan[1:], 2):
            self._perform(action)
            self._judge(f"step {number} ({action})")
        self.world.finish()
        self._judge("the end")

    def _judge(self, where: str) -> None:
        if self.world.history.findings:
            what = describe(self.world.history.findings)
            raise Violation(f"{where} at {self.world.now_ms} ms: {what}\nplan: {to_text(self.plan)}")

    def _perform(self, action: Action) -> None:
        world, numbers = self.world, action.arguments
        match action.name:
            case "joins":
                if len(world.alive) < MAX_MEMBERS:
                    world.join()
            case "crashes" | "leaves" | "pauses" | "wakes":
                if world.alive:
                    self._happen(action.name, world.alive[numbers[0] % len(world.alive)])
            case "produce":
                world.produce(numbers[0], numbers[1] % 5 + 1)
            case "followers":
                topic = (world.topic, OFFSETS, None)[numbers[1] % 3]
                broker = numbers[2] % (len(world.simulation.cluster.registry.broker_ids) + 1)
                if topic is None or world.simulation.cluster.metadata.topic(topic) is not None:
                    world.followers(BEHAVIOURS[numbers[0] % len(BEHAVIOURS)], topic, broker or None)
            case "stop":
                world.stop(1 + numbers[0] % len(world.simulation.cluster.registry.broker_ids))
            case "start":
                world.start(1 + numbers[0] % len(world.simulation.cluster.registry.broker_ids))
            case "move":
                world.move(world.topic, numbers[0] % len(world.places), numbers[1])
            case "coordinator":
                world.move(OFFSETS, 0, numbers[0])
            case "advance":
                world.advance(max(0, min(numbers[0], 60_000)))

    def _happen(self, name: str, member: SimulatedConsumer) -> None:
        match name:
            case "crashes":
                member.crash()
            case "leaves":
                member.leave()
            case "pauses":
                member.is_paused = True
            case "wakes":
                member.is_paused = False


def group_plan_fails(plan: Sequence[Action], seed: int) -> bool:
    """Return True if the plan breaks a rule. An invalid plan does not."""
    try:
        GroupRun(plan, seed).run()
    except (Violation, AssertionError):
        return True
    except ValueError:
        return False
    return False
