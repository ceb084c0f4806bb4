"""The same scenario for a longer or shorter time: `fakebroker-load run soak --seconds 3600`.

Errors   ScenarioError if nothing of it has a rate, or the time is none.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isfinite

from fakebroker_load.scenario.model import Group, Scenario, ScenarioError


def lasting(scenario: Scenario, seconds: float) -> Scenario:
    """With as many requests of each group with a rate as come in so many seconds; other groups stay as they are."""
    if not (isfinite(seconds) and seconds > 0):
        raise ScenarioError(f"--seconds {seconds:g} is no time; it is a number above 0.")
    if not any(_rate(group) for group in scenario.groups):
        raise ScenarioError(
            f"The scenario {scenario.name!r} has no group whose arrivals have a rate (constant, poisson, bursts), "
            "and --seconds is for these."
        )
    return replace(scenario, groups=tuple(_lasting(group, seconds) for group in scenario.groups))


def _lasting(group: Group, seconds: float) -> Group:
    rate = _rate(group)
    return replace(group, requests_per_connection=ceil(rate * seconds / group.connections)) if rate else group


def _rate(group: Group) -> float:
    """Requests a second of the group; 0 where nothing says so."""
    given = group.arrivals
    if given is None or given.process in ("steps", "trace"):
        return 0.0
    return given.burst * 1000 / given.every_ms if given.process == "bursts" else given.rate
