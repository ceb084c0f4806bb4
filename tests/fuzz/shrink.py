"""A plan that fails becomes a small one that fails in the same way: fewer steps, shorter frames."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .session import Plan

LIMIT_S = 60.0


def shrunk(plan: Plan, fails: Callable[[Plan], bool], limit_s: float = LIMIT_S) -> Plan:
    until = time.monotonic() + limit_s

    def still(candidate: Plan) -> bool:
        return time.monotonic() < until and fails(candidate)

    return _shorter_frames(_fewer_steps(plan, still), still)


def _fewer_steps(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    size = len(plan.steps) // 2
    while size:
        at = 0
        while at < len(plan.steps):
            candidate = replace(plan, steps=plan.steps[:at] + plan.steps[at + size :])
            if candidate.steps and fails(candidate):
                plan = candidate
            else:
                at += size
        size //= 2
    return plan


def _shorter_frames(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Pieces taken out of each frame, its length set right again."""
    for number in range(len(plan.steps)):
        size = len(plan.steps[number].data) // 2
        while size:
            at = 4
            while at < len(data := plan.steps[number].data):
                inside = data[4:at] + data[at + size :]
                step = replace(plan.steps[number], data=len(inside).to_bytes(4, "big") + inside)
                candidate = replace(plan, steps=(*plan.steps[:number], step, *plan.steps[number + 1 :]))
                if fails(candidate):
                    plan = candidate
                else:
                    at += size
            size //= 2
    return plan
