"""A replay of a simulation, by its seed or by its plan. A failure prints the command for it.

fakebroker replay 17 --steps 200 fakebroker replay 0 --plan "cluster 3 1000; topic 1 3 2 0; produce 0 -1 100 1 1 0;
advance 100"
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from fakebroker.core.journal.journal import Journal
from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import Action, random_plan, to_text
from fakebroker.testing.run import EVERY_STEP, OFTEN, Run


class Replay:
    """The result of a plan. `violation` is None if every rule held to the end."""

    def __init__(
        self, plan: Sequence[Action], seed: int, look_every: int = OFTEN, journal: Journal | None = None
    ) -> None:
        self.plan = list(plan)
        self.violation: Violation | None = None
        self.run = Run(seed, look_every, journal)
        try:
            for action in self.plan:
                self.run.perform(action)
            self.run.finish()
        except Violation as violation:
            self.violation = violation


def replay(seed: int, steps: int) -> Replay:
    """Run the simulation of a seed."""
    return Replay(random_plan(seed, steps), seed)


def command(
    seed: int, steps: int | None = None, plan: Sequence[Action] | None = None, option: str = "", swarm: bool = False
) -> str:
    """Return the command that runs a simulation again. `option` names its kind, unless it is that of clusters."""
    what = f"--plan {shlex.quote(to_text(plan))}" if plan is not None else f"--steps {steps}" + " --swarm" * swarm
    return " ".join(filter(None, ["fakebroker replay", str(seed), option, what]))


def fails(plan: Sequence[Action], seed: int) -> bool:
    """Return True if the plan breaks a rule. An invalid plan does not."""
    try:
        return Replay(plan, seed, look_every=EVERY_STEP).violation is not None
    except (ValueError, AttributeError):
        return False


def shrink(plan: Sequence[Action], seed: int, breaks: Callable[[Sequence[Action], int], bool] = fails) -> list[Action]:
    """Return a shorter plan that still breaks a rule, and of which no action can be left out. Remove halves, then
    quarters, down to single actions."""
    kept = list(plan)
    size = max(len(kept) // 2, 1)
    while True:
        start, shorter = 1, False
        while start < len(kept):
            without = kept[:start] + kept[start + size :]
            if breaks(without, seed):
                kept, shorter = without, True
            else:
                start += size
        if size == 1 and not shorter:
            return kept
        size = size if size == 1 else max(size // 2, 1)
