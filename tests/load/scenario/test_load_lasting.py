from __future__ import annotations

import pytest

from fakebroker_load.arrivals import Arrivals
from fakebroker_load.scenario.lasting import lasting
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import load_scenario


def test_as_many_requests_as_come_in_that_time() -> None:
    assert [group.requests for group in load_scenario("soak").groups] == [1_200, 300]
    assert [group.requests for group in lasting(load_scenario("soak"), 3_600).groups] == [216_000, 54_000]
    assert [group.requests for group in lasting(load_scenario("burst"), 1).groups] == [300]


def test_groups_without_a_rate_stay_as_they_are() -> None:
    closed = RequestGroup("closed", "t", 1, "NONE", requests_per_connection=7)
    poisson = RequestGroup("open", "t", 1, "NONE", connections=3, arrivals=Arrivals("poisson", rate=10.0))
    longer = lasting(LoadScenario("s", (closed, poisson)), 0.5)
    assert longer.groups[0] == closed
    assert longer.groups[1].requests == 6  # two of each connection: 5 or a little more


@pytest.mark.parametrize(("name", "seconds"), [("soak", 0), ("soak", float("nan")), ("pipelined", 5)])
def test_what_cannot_last(name: str, seconds: float) -> None:
    with pytest.raises(LoadScenarioError, match="--seconds"):
        lasting(load_scenario(name), seconds)
