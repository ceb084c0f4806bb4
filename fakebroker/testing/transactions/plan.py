"""Plans of transactions among faults: actions as in `fakebroker.testing.plan`, drawn by a seed, and run.

Text     "transactions 3 2 2 1; producer 0 1 0; transact 0 3 1; hold 0; advance 5000"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from random import Random

from fakebroker.core.journal.events import Event
from fakebroker.testing.history import Finding, describe
from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import Action, draw_more, read_actions, to_text
from fakebroker.testing.transactions.judge import ANOMALIES
from fakebroker.testing.transactions.processor import Processor
from fakebroker.testing.transactions.world import OFFSETS, STATE, TOPIC, TransactionWorld

BEHAVIOURS = ("instant", "frozen", "lagging:40", "lagging:900")
TIMEOUTS_MS = (2_000, 6_000, 15_000)
PACES_MS = (5, 1, 50, 700)
TOPICS = (TOPIC, STATE, OFFSETS, None)
MAX_PRODUCERS, MAX_READERS, MAX_JOBS = 12, 6, 5

# Name -> (weight, meaning of the numbers). Numbers are taken modulo what exists.
ACTIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    "transactions": (0, ("brokers", "partitions", "version", "min.insync.replicas of the topic")),
    "producer": (3, ("transactional id", "time-out", "pace")),
    "processor": (2, ("time-out", "pace")),
    "transact": (14, ("producer", "bits of partitions", "records", "0 of 4 aborts")),
    "plain": (3, ("partition", "records")),
    "input": (4, ("records",)),
    "reader": (2, ("0 of what is committed, 1 of all",)),
    "crashes": (2, ("producer",)),
    "pauses": (2, ("producer",)),
    "wakes": (3, ("producer",)),
    "sleeps": (1, ("reader; again wakes it",)),
    "hold": (5, ("producer",)),
    "lateend": (4, ("producer",)),
    "drop": (2, ("producer",)),
    "lose": (3, ("producer",)),
    "deliver": (6, ("request",)),
    "followers": (4, ("behaviour", "topic: 0 t, 1 of transactions, 2 of offsets, 3 all", "broker, 0 for all")),
    "stop": (2, ("broker",)),
    "start": (4, ("broker",)),
    "move": (3, ("partition", "replica in sync")),
    "coordinator": (3, ("partition of __transaction_state", "replica in sync")),
    "group": (1, ("replica in sync",)),
    "advance": (24, ("ms",)),
}
_STEPS_MS = (0, 1, 2, 5, 10, 17, 40, 100, 499, 1_000, 2_500, 5_000, 8_000)


def random_transaction_plan(
    seed: int, steps: int, version: int | None = None, without: Set[str] = frozenset()
) -> list[Action]:
    """Return the plan of a seed, without the actions in `without`. Even seeds have version 2 of transactions, odd ones
    version 1, unless `version` is given."""
    random = Random(seed)
    brokers, partitions, min_isr = random.choice((1, 3, 3, 4)), random.randint(1, 3), random.randint(1, 2)
    plan = [Action("transactions", (brokers, partitions, version or 2 - seed % 2, min_isr))]
    plan += [Action("producer", (0, 1, 0)), Action("reader", (0,)), Action("transact", (0, 7, 2, 1))]
    return draw_more(plan, ACTIONS, _STEPS_MS, steps, random, without)


def transaction_plan_from_text(text: str) -> list[Action]:
    """Return the plan of a line. Raises ValueError if it is invalid."""
    return read_actions(text, ACTIONS, "transactions")


class TransactionRun:
    """A run of a plan in a `world`: `run` it, or `perform` its actions, of which the first is `transactions`, and
    `finish` it. `judge_alone`: do not compare the logs' bytes, and report all findings at the end. `on_event` gets all
    events of the journal."""

    def __init__(
        self,
        plan: Iterable[Action] = (),
        seed: int = 0,
        check_every: int = 16,
        judge_alone: bool = False,
        schedule: str = "first-come",
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._on_event = on_event
        self.plan = list(plan)
        self.seed = seed
        self.performed: list[Action] = []
        self.torn = 0  # findings that version 1 allows after late requests
        self._check_every = check_every
        self._judge_alone = judge_alone
        self._schedule = schedule
        self._world: TransactionWorld | None = None

    @property
    def world(self) -> TransactionWorld:
        if self._world is None:
            raise ValueError("a plan begins with its transactions")
        return self._world

    @property
    def settled_ms(self) -> int:
        """Return the time that all transactions took to end after the last fault."""
        return self.world.settled_ms

    def run(self) -> None:
        """Run the plan. Raises Violation at the first violation, and if not all transactions have ended at the end."""
        if not self.plan or self.plan[0].name != "transactions":
            raise ValueError("a plan begins with its transactions")
        for action in self.plan:
            self.perform(action)
        self.finish()

    def perform(self, action: Action) -> None:
        self.performed.append(action)
        self._guarded(f"step {len(self.performed)} ({action})", lambda: self._perform(action))

    def finish(self) -> None:
        if self._world is not None:
            self._guarded("the end", self._world.finish, is_end=True)

    def _guarded(self, where: str, what: Callable[[], None], is_end: bool = False) -> None:
        problem = ""
        cause: Exception | None = None
        try:
            what()
            self.world.check()
        except (AssertionError, Violation) as error:
            problem, cause = str(error) or repr(error), error
        if is_end or not self._judge_alone:
            problem = "\n".join(part for part in (problem, describe(self._judged())) if part)
        if problem:
            raise Violation(f"{where} at {self.world.now_ms} ms: {problem}\nplan: {to_text(self.performed)}") from cause

    def _judged(self) -> list[Finding]:
        """Return the findings that count."""
        findings = self.world.history.findings
        if not self.world.may_tear:
            return list(findings)
        self.torn = sum(finding.kind in ANOMALIES for finding in findings)
        return [finding for finding in findings if finding.kind not in ANOMALIES]

    def _perform(self, action: Action) -> None:
        numbers = action.arguments
        if action.name == "transactions":
            if self._world is not None:
                raise ValueError("a plan has one world")
            brokers, partitions, version, min_isr = numbers
            self._world = TransactionWorld(
                max(1, min(brokers, 5)), max(1, min(partitions, 4)), 1 if version == 1 else 2, self.seed, min_isr,
                self._check_every, self._judge_alone, self._schedule, self._on_event,
            )  # fmt: skip
            return
        world = self.world
        match action.name:
            case "producer" | "processor":
                if len(world.producers) < MAX_PRODUCERS:
                    timeout_ms, pace_ms = TIMEOUTS_MS[numbers[-2] % 3], PACES_MS[numbers[-1] % 4]
                    if action.name == "producer":
                        world.producer(f"tx{numbers[0] % 3}", timeout_ms, pace_ms)
                    else:
                        world.processor(timeout_ms, pace_ms)
            case "reader":
                if len(world.readers) < MAX_READERS:
                    world.reader(numbers[0] % 2 == 0)
            case "sleeps":
                if world.readers:
                    reader = world.readers[numbers[0] % len(world.readers)]
                    reader.is_paused = not reader.is_paused
            case "transact" | "crashes" | "pauses" | "wakes" | "hold" | "lateend" | "drop" | "lose":
                self._happen(action.name, numbers)
            case "plain":
                world.plain(world.places[numbers[0] % len(world.places)], numbers[1] % 3 + 1)
            case "input":
                world.plain(world.source, numbers[0] % 5 + 1)
            case "deliver":
                world.deliver(numbers[0])
            case "advance":
                world.advance(max(0, min(numbers[0], 60_000)))
            case _:
                self._fail(action.name, numbers)

    def _happen(self, name: str, numbers: Sequence[int]) -> None:
        """Act on a producer. A processor starts its own transactions."""
        world = self.world
        alive = [candidate for candidate in world.alive if name != "transact" or not isinstance(candidate, Processor)]
        if not alive:
            return
        producer = alive[numbers[0] % len(alive)]
        match name:
            case "transact":
                if len(producer.jobs) < MAX_JOBS:
                    places = [place for bit, place in enumerate(world.places) if numbers[1] >> bit & 1]
                    records = dict.fromkeys(places or world.places[:1], numbers[2] % 4 + 1)
                    producer.transact(records, numbers[3] % 4 != 0)
            case "crashes":
                producer.crash()
            case "pauses":
                producer.is_paused = True
            case "wakes":
                producer.is_paused = False
            case "lateend":
                producer.line.fault = "late end"
            case _:
                producer.line.fault = name

    def _fail(self, name: str, numbers: Sequence[int]) -> None:
        """Act on the cluster."""
        world = self.world
        ids = len(world.simulation.cluster.registry.broker_ids)
        match name:
            case "followers":
                topic, broker = TOPICS[numbers[1] % len(TOPICS)], numbers[2] % (ids + 1)
                if topic is None or world.simulation.cluster.metadata.topic(topic) is not None:
                    world.followers(BEHAVIOURS[numbers[0] % len(BEHAVIOURS)], topic, broker or None)
            case "stop":
                world.stop(1 + numbers[0] % ids)
            case "start":
                world.start(1 + numbers[0] % ids)
            case "move":
                world.move(TOPIC, numbers[0] % len(world.places), numbers[1])
            case "coordinator":
                world.move(STATE, numbers[0] % 2, numbers[1])
            case "group":
                world.move(OFFSETS, 0, numbers[0])


def transaction_plan_fails(plan: Sequence[Action], seed: int) -> bool:
    """Return True if the plan breaks a rule. An invalid plan does not."""
    try:
        TransactionRun(plan, seed).run()
    except Violation:
        return True
    except ValueError:
        return False
    return False
