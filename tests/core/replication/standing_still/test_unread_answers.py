"""A paused follower has the response to its last fetch when it resumes."""

from __future__ import annotations

import pytest
from support.requests import batch, produce
from support.simulation import Simulation

SESSION_MS = 9_000


def write(simulation: Simulation, broker: int, *values: bytes, topic: str = "t") -> None:
    """Produce the records, one request each, with acks=1."""
    client = simulation.connect(broker)
    for value in values:
        client.send(produce(topic, records=batch(value), acks=1))


def end_of(simulation: Simulation, broker: int, topic: str = "t") -> int:
    return simulation.partition(topic).replicas[broker].log.log_end_offset


def only_follower_leads(simulation: Simulation, broker: int = 3) -> int:
    """Kill the other brokers while the follower is paused, then resume it. Return its log end offset."""
    for other in simulation.cluster.registry.broker_ids:
        if other != broker:
            simulation.kill(other)
    simulation.advance(SESSION_MS)
    simulation.resume(broker)
    simulation.advance(100)
    assert simulation.partition().leader_id == broker
    return end_of(simulation, broker)


@pytest.fixture
def unclean() -> Simulation:
    simulation = Simulation()
    simulation.topic(unclean_leader_election_enable=True)
    return simulation


def test_it_has_the_first_request_that_came_after_it_stopped_and_no_other(unclean: Simulation) -> None:
    write(unclean, 1, b"before")
    unclean.pause(3)
    write(unclean, 1, b"first", b"second")
    assert end_of(unclean, 3) == 1
    assert only_follower_leads(unclean) == 2


@pytest.mark.parametrize(
    ("since_ms", "later_ms", "has"), [(0, 499, True), (0, 500, False), (1_200, 299, True), (1_200, 300, False)]
)
def test_its_fetch_waits_for_half_a_second(unclean: Simulation, since_ms: int, later_ms: int, has: bool) -> None:
    write(unclean, 1, b"before")
    unclean.advance(since_ms)
    unclean.pause(3)
    unclean.advance(later_ms)
    write(unclean, 1, b"after")
    assert only_follower_leads(unclean) == 1 + has


@pytest.mark.parametrize(("settings", "patience_ms"), [({}, 30_000), ({"request.timeout.ms": "12000"}, 12_000)])
@pytest.mark.parametrize(("late_ms", "has"), [(0, True), (1, False)])
def test_a_follower_paused_beyond_its_request_timeout_drops_its_fetch(
    settings: dict[str, str], patience_ms: int, late_ms: int, has: bool
) -> None:
    simulation = Simulation(config=settings)
    simulation.topic(unclean_leader_election_enable=True)
    write(simulation, 1, b"before")
    simulation.pause(3)
    write(simulation, 1, b"after")
    simulation.advance(patience_ms - SESSION_MS + late_ms)
    assert only_follower_leads(simulation) == 1 + has


def test_how_long_it_waits_and_for_how_much_can_be_set() -> None:
    simulation = Simulation(config={"replica.fetch.wait.max.ms": "2000", "replica.fetch.min.bytes": "100"})
    simulation.topic(unclean_leader_election_enable=True)
    simulation.pause(3)
    simulation.advance(1_999)
    write(simulation, 1, b"a", b"b", b"c")  # some seventy bytes each
    assert only_follower_leads(simulation) == 2


def test_a_large_answer_is_cut_behind_whole_batches() -> None:
    simulation = Simulation(config={"replica.fetch.min.bytes": "1000", "replica.fetch.max.bytes": "200"})
    simulation.topic(unclean_leader_election_enable=True)
    simulation.pause(3)
    write(simulation, 1, b"a" * 50, b"b" * 50, b"c" * 50)
    assert only_follower_leads(simulation) == 1


def test_one_fetch_is_for_all_that_it_has_of_a_leader(unclean: Simulation) -> None:
    """The response to the fetch has the records of the first append only, not those of another topic afterwards."""
    unclean.topic("other")
    unclean.pause(3)
    write(unclean, 1, b"first", topic="other")
    write(unclean, 1, b"second")
    assert only_follower_leads(unclean) == 0
    assert end_of(unclean, 3, "other") == 1


def test_a_paused_follower_has_one_response_from_each_leader(unclean: Simulation) -> None:
    unclean.topic("other", unclean_leader_election_enable=True)
    unclean.move_leader(2, "other", 0)
    unclean.pause(3)
    write(unclean, 2, b"first", topic="other")
    write(unclean, 1, b"second")
    assert only_follower_leads(unclean) == 1
    assert end_of(unclean, 3, "other") == 1


def test_another_leadership_answers_the_fetch(unclean: Simulation) -> None:
    unclean.pause(3)
    unclean.move_leader(2)
    unclean.move_leader(1)
    write(unclean, 1, b"after")
    assert only_follower_leads(unclean) == 0


def test_what_was_in_its_sockets_dies_with_it(unclean: Simulation) -> None:
    unclean.pause(3)
    write(unclean, 1, b"after")
    for broker in (3, 1, 2):
        unclean.kill(broker)
    unclean.advance(SESSION_MS)
    unclean.start(3)
    assert unclean.partition().leader_id == 3
    assert end_of(unclean, 3) == 0


def test_an_answer_that_the_new_leader_does_not_have_is_dropped(unclean: Simulation) -> None:
    """The follower appends the response. Then it learns of another leader, which never had the record."""
    unclean.followers("frozen", broker=2)
    unclean.pause(3)
    write(unclean, 1, b"lost")
    unclean.kill(1)
    unclean.advance(SESSION_MS)
    assert unclean.partition().leader_id == 2
    unclean.resume(3)
    assert end_of(unclean, 3) == 1
    unclean.advance(100)
    assert end_of(unclean, 3) == 0
    unclean.cluster.check_invariants()


def test_it_begins_to_lead_with_what_it_took(unclean: Simulation) -> None:
    """The follower was elected while it was paused."""
    unclean.topic("two", replicas=2, unclean_leader_election_enable=True)
    unclean.pause(2)
    write(unclean, 1, b"after", topic="two")
    unclean.stop(1)
    unclean.advance(100)
    assert unclean.partition("two").leader_id == 2
    unclean.resume(2)
    unclean.advance(100)
    assert end_of(unclean, 2, "two") == 1
    partition = unclean.partition("two")
    assert partition.leader_epoch_start_offset == 1
    assert [(entry.epoch, entry.start_offset) for entry in partition.leader.leader_epochs.entries] == [(0, 0), (1, 1)]
    unclean.cluster.check_invariants()


@pytest.mark.parametrize("behaviour", ["frozen", "lagging:10"])
def test_followers_that_are_not_instant_have_no_unread_response(unclean: Simulation, behaviour: str) -> None:
    unclean.followers(behaviour, broker=3)
    unclean.pause(3)
    write(unclean, 1, b"after")
    assert only_follower_leads(unclean) == 0


def test_a_topic_that_is_deleted_takes_nothing(unclean: Simulation) -> None:
    unclean.topic("other")
    unclean.pause(3)
    write(unclean, 1, b"a", topic="other")
    unclean.delete_topic("other")
    unclean.resume(3)
    unclean.cluster.check_invariants()


def test_a_leader_that_dies_with_it_unheard_leaves_it_there(unclean: Simulation) -> None:
    """The follower resumes before any leader is elected: the record is in its log, though no leader has it."""
    unclean.pause(3)
    write(unclean, 1, b"after")
    unclean.kill(1)
    unclean.resume(3)
    assert end_of(unclean, 3) == 1
    unclean.cluster.check_invariants()
    unclean.advance(SESSION_MS)
    unclean.cluster.check_invariants()
