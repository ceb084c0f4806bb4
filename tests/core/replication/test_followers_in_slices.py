"""Behaviours of very many followers, set in slices, with other work in between."""

from __future__ import annotations

from functools import partial

import pytest
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.core.replication.behaviour import EVERYBODY, FROZEN, INSTANT, Behaviour, Selection
from fakebroker.protocol.slices import Slices, finish

LAGGING = Behaviour.lagging(100)
Steps = list[tuple[int, Behaviour | None]]


def large(partitions: int = 300) -> Simulation:
    simulation = Simulation()
    simulation.topic("t", partitions=partitions, replicas=3)
    return simulation


def script(simulation: Simulation, steps: Steps, selection: Selection = EVERYBODY) -> Slices[None]:
    return simulation.cluster.admin.script_followers_in_slices(steps, selection, simulation.now)


def behaviours(simulation: Simulation) -> set[str]:
    followers = simulation.cluster.followers
    partitions = list(simulation.cluster.metadata.partitions())
    return {
        str(followers.of_broker(partition, id_).behaviour) for partition in partitions for id_ in partition.replicas
    }


@pytest.mark.parametrize("selection", [EVERYBODY, Selection("t"), Selection(None, None, 2)])
def test_a_newer_command_is_not_undone_by_an_older_one_that_goes_on(selection: Selection) -> None:
    simulation = large()
    older = script(simulation, [(0, FROZEN)], selection)
    next(older)
    simulation.cluster.admin.set_followers(LAGGING, simulation.now)
    finish(older)
    assert behaviours(simulation) == {"lagging:100"}


def test_topics_that_are_made_meanwhile_have_the_new_behaviour() -> None:
    simulation = large()
    freezing = script(simulation, [(0, FROZEN)])
    next(freezing)
    simulation.topic("new", partitions=2, replicas=3)
    finish(freezing)
    assert behaviours(simulation) == {"frozen"}


def test_a_later_step_whose_time_comes_meanwhile_counts_for_all() -> None:
    simulation = large()
    freezing = script(simulation, [(0, FROZEN), (5, INSTANT)])
    next(freezing)
    simulation.advance(5)
    finish(freezing)
    assert behaviours(simulation) == {"instant"}


def test_the_leadership_that_a_paused_broker_goes_on_with_meanwhile_obeys_too() -> None:
    simulation = large()
    freezing = script(simulation, [(0, FROZEN)])
    next(freezing)
    simulation.pause(2)
    simulation.cluster.admin.move_leader(
        "t", 298, 1 if simulation.partition("t", 298).leader_id == 3 else 3, simulation.now
    )
    simulation.cluster.admin.move_leader(
        "t", 299, 1 if simulation.partition("t", 299).leader_id == 3 else 3, simulation.now
    )
    finish(freezing)
    followers = simulation.cluster.followers._followers.values()
    assert {str(follower.behaviour) for some in followers for follower in some} == {"frozen"}
    simulation.cluster.check_invariants()


@pytest.mark.interpreted
@pytest.mark.parametrize("selection", [EVERYBODY, Selection("t")])
def test_no_slice_grows_with_the_followers(selection: Selection) -> None:
    calls = []
    for partitions in (100, 100, 400):
        simulation = large(partitions)
        calls.append(most_calls_of_a_slice(partial(script, simulation, [(0, FROZEN)], selection)))
    assert calls[2] < 1.5 * calls[1]
