"""One seed of one kind of simulation, from its plan to its result.

Theory   A plan is drawn (with a swarm, if wanted), run with its faults, and healed, and must come to rest: `Run`,
         `GroupRun` and `TransactionRun` do this, each with its oracle or judge. Here they have one interface, so that
         many seeds can run in many processes (`fakebroker-load simulate`). A failed seed comes with the command that
         runs it again, and with a shorter one.
Units    milliseconds of the simulation; microseconds of this process's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fakebroker.core.journal.journal import Journal
from fakebroker.testing.groups.plan import GroupRun, random_group_plan
from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import Action, random_plan, random_stream_plan
from fakebroker.testing.replay import command, shrink
from fakebroker.testing.run import EVERY_STEP, OFTEN, SELDOM, Run
from fakebroker.testing.seeds.situations import Situations
from fakebroker.testing.seeds.swarm import left_out
from fakebroker.testing.transactions.plan import TransactionRun, random_transaction_plan

_OPTIONS: Final = {"cluster": "", "streams": "--streams", "groups": "--group", "transactions": "--transactions"}
KINDS: Final = tuple(_OPTIONS)


class SeedResult(NamedTuple):
    """The result of a seed.

    requests     all requests that reached a broker; `produced` are the Produce requests among them
    violation    the broken rule, where and when; empty if all held to the end
    again        the command that runs it again on any machine; `shorter` has the fewest steps that break the rule
    situations   how often each situation was reached (`situations.py`)
    """

    kind: str
    seed: int
    steps: int
    requests: int
    produced: int
    virtual_ms: int
    took_us: int
    violation: str
    again: str
    shorter: str
    situations: dict[str, int]


def run_seed(kind: str, seed: int, steps: int, swarm: bool = False, shrinks: bool = True) -> SeedResult:
    """Run the plan of the seed. Errors of the simulated cluster are in the result and never raised."""
    without = left_out(kind, seed) if swarm else frozenset[str]()
    plan = _DRAW[kind](seed, steps, without)
    started = time.perf_counter_ns()
    situations = Situations()
    violation, virtual_ms = _CARRY_OUT[kind](plan, seed, situations)
    took_us = (time.perf_counter_ns() - started) // 1_000
    again = command(seed, steps, option=_OPTIONS[kind], swarm=swarm)
    shorter = ""
    if violation and shrinks:
        kept = shrink(plan, seed, lambda plan, seed: bool(_breaks(kind, plan, seed)))
        shorter = command(seed, plan=kept, option=_OPTIONS[kind])
    return SeedResult(
        kind, seed, len(plan), situations.requests, situations.produced, virtual_ms, took_us, violation, again, shorter,
        dict(situations.counts),
    )  # fmt: skip


def _breaks(kind: str, plan: Sequence[Action], seed: int) -> str:
    """Return the rule that a part of a plan breaks. An invalid plan breaks none."""
    try:
        return _CARRY_OUT[kind](plan, seed, None)[0]
    except (ValueError, AttributeError):
        return ""


def _cluster(
    plan: Sequence[Action], seed: int, situations: Situations | None, look_every: int = OFTEN
) -> tuple[str, int]:
    journal = Journal(0, situations.tell) if situations is not None else None
    run = Run(seed, look_every if situations is not None else EVERY_STEP, journal)

    def carry_out() -> None:
        for action in plan:
            run.perform(action)
        run.finish()

    violation = _violation(carry_out)
    return violation, run.now_ms


def _streams(plan: Sequence[Action], seed: int, situations: Situations | None) -> tuple[str, int]:
    return _cluster(plan, seed, situations, SELDOM)  # logs are a hundred times longer


def _groups(plan: Sequence[Action], seed: int, situations: Situations | None) -> tuple[str, int]:
    run = GroupRun(plan, seed, on_event=None if situations is None else situations.tell)
    violation = _violation(run.run)
    return violation, run.world.now_ms


def _transactions(plan: Sequence[Action], seed: int, situations: Situations | None) -> tuple[str, int]:
    run = TransactionRun(plan, seed, on_event=None if situations is None else situations.tell)
    violation = _violation(run.run)
    return violation, run.world.now_ms


def _violation(carry_out: Callable[[], None]) -> str:
    try:
        carry_out()
    except Violation as violation:
        return str(violation)
    except Exception as error:  # any exception of the cluster is a bug
        return f"{type(error).__name__}: {error}"
    return ""


def _draw_transactions(seed: int, steps: int, without: frozenset[str]) -> list[Action]:
    return random_transaction_plan(seed, steps, without=without)


_DRAW: Final[dict[str, Callable[[int, int, frozenset[str]], list[Action]]]] = {
    "cluster": random_plan,
    "streams": random_stream_plan,
    "groups": random_group_plan,
    "transactions": _draw_transactions,
}
_CARRY_OUT: Final[dict[str, Callable[[Sequence[Action], int, Situations | None], tuple[str, int]]]] = {
    "cluster": _cluster,
    "streams": _streams,
    "groups": _groups,
    "transactions": _transactions,
}
