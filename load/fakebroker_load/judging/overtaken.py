"""Requests that an action of the scenario has overtaken, since the load sent them late, in Spark SQL.

Theory   A scenario expects responses by the state of the cluster: NONE before a broker is killed, for example. A load
         that was paused sends a request later, maybe to a cluster in another state. The response proves nothing then.
         A request is overtaken by an action if it was intended to be answered before. Sent so late, it might be
         answered behind it: a lateness that is allowed is enough. A request that waits for an action (`due`) is
         overtaken if it is sent after the action has begun.
Units    *_us is microseconds after the common start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker_load.judging.sql import LatenessLimits, limit_us, quoted

LEAST_DELAY_US = 100_000  # a request that is sent with less delay is sent when it was intended

OVERTAKEN = """(sent_us - intended_us >= {least_us}L AND exists(
    CASE {actions} ELSE CAST(array() AS array<bigint>) END,
    begun_us -> intended_us + {wait_us} < begun_us
        AND if(due_high_us IS NULL, sent_us + {wait_us} + {limit_us} > begun_us, sent_us >= begun_us)))"""
WAIT_US = "if(must_wait, timeout_ms * 1000L, 0L)"


def overtaken(runs: Sequence[Mapping[str, Any]], lateness_limit_ms: LatenessLimits) -> str:
    """Return the condition. `runs` are those of run.json, with the actions that were done."""
    begun_us = {
        run["scenario"]["name"]: [done["begun_ms"] * 1000 for done in run["actions"]]
        for run in runs
        if run.get("actions")
    }
    if not begun_us:
        return "false"
    actions = " ".join(
        f"WHEN run = {quoted(run)} THEN array({', '.join(f'{us}L' for us in of_run)})"
        for run, of_run in begun_us.items()
    )
    return OVERTAKEN.format(
        least_us=LEAST_DELAY_US, actions=actions, wait_us=WAIT_US, limit_us=limit_us(lateness_limit_ms)
    )
