"""A scenario with another duration: `fakebroker-load run soak --seconds 3600`.

Errors   LoadScenarioError if no group has a rate, or the duration is not positive.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isfinite

from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup


def lasting(scenario: LoadScenario, seconds: float) -> LoadScenario:
    """Return the scenario with as many requests as arrive in this time, for each group with a rate. Other groups are
    unchanged."""
    if not (isfinite(seconds) and seconds > 0):
        raise LoadScenarioError(f"--seconds {seconds:g} is no time; it is a number above 0.")
    if not any(_rate(group) for group in scenario.groups):
        raise LoadScenarioError(
            f"The scenario {scenario.name!r} has no group whose arrivals have a rate (constant, poisson, bursts), "
            "and --seconds is for these."
        )
    return replace(scenario, groups=tuple(_lasting(group, seconds) for group in scenario.groups))


def _lasting(group: RequestGroup, seconds: float) -> RequestGroup:
    rate = _rate(group)
    return replace(group, requests_per_connection=ceil(rate * seconds / group.connections)) if rate else group


def _rate(group: RequestGroup) -> float:
    """Return the group's requests per second; 0 if it has no rate."""
    given = group.arrivals
    if given is None or given.process in ("steps", "trace"):
        return 0.0
    return given.burst * 1000 / given.every_ms if given.process == "bursts" else given.rate
