"""`schedule="random"`: another order, drawn from the seed, and as legal a history."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import doses
from support.raw_client import RawClient
from support.requests import batch, produce
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Expired
from fakebroker.core.journal.journal import Journal, to_lines
from fakebroker.testing import (
    GroupRun,
    Simulation,
    TransactionRun,
    check_history,
    describe,
    random_group_plan,
    random_transaction_plan,
    wire,
)

SEEDS = 20
TOPIC = ("t", 0)


def frame(number: int, value: bytes, timeout_ms: int = 4_000) -> bytes:
    return wire.produce(number, -1, timeout_ms, [(TOPIC, wire.batch(value, 1, 1))])


def offsets(simulation: Simulation, values: list[bytes]) -> list[int]:
    """Return the offsets of one record of each connection; all arrive at once, in this order."""
    clients = [simulation.connect() for _ in values]
    with simulation.together():
        for number, (client, value) in enumerate(zip(clients, values, strict=True)):
            client.send(frame(number, value))
    answers = [wire.read_produce_answer(client.answers[0][1]) for client in clients]
    assert all(error == 0 for [(_, error, _)] in answers)
    return [offset for [(_, _, offset)] in answers]


def new(seed: int, schedule: str = "random", **arguments: str) -> Simulation:
    simulation = Simulation(seed=seed, schedule=schedule, with_tape=True, **arguments)  # type: ignore[arg-type]
    simulation.topic("t")
    return simulation


def test_first_come_they_are_appended_as_they_came() -> None:
    assert offsets(new(1, "first-come"), [b"%d" % number for number in range(10)]) == list(range(10))


def test_the_order_is_drawn_from_the_seed() -> None:
    values = [b"%d" % number for number in range(10)]
    drawn = {seed: offsets(new(seed), values) for seed in range(SEEDS)}

    assert all(sorted(order) == list(range(10)) for order in drawn.values())
    assert len({tuple(order) for order in drawn.values()}) > SEEDS / 2
    assert drawn == {seed: offsets(new(seed), values) for seed in range(SEEDS)}


def test_requests_of_one_connection_stay_in_order() -> None:
    for seed in range(SEEDS):
        simulation = new(seed)
        clients = [simulation.connect() for _ in range(3)]
        with simulation.together():
            for number in range(5):
                for client in clients:
                    client.send(frame(number, b"v"))
        for client in clients:
            answers = [wire.read_produce_answer(answer)[0] for _, answer in client.answers]
            own = [offset for _, _, offset in answers]
            assert own == sorted(own)


def test_timeouts_of_one_millisecond_come_in_any_order_and_no_other_ones() -> None:
    def expired(seed: int, schedule: str = "random") -> list[int]:
        journal = Journal()
        simulation = Simulation(followers="frozen", seed=seed, schedule=schedule, journal=journal)
        simulation.topic("t")
        for number in range(8):
            simulation.connect().send(frame(number, b"v", 100 if number < 6 else 101))
        simulation.advance(200)
        return [event.request for event in journal if isinstance(event, Expired)]

    assert expired(0, "first-come") == [1, 2, 3, 4, 5, 6, 7, 8]
    drawn = [expired(seed) for seed in range(SEEDS)]
    assert all(sorted(order[:6]) == [1, 2, 3, 4, 5, 6] and sorted(order[6:]) == [7, 8] for order in drawn)
    assert len({tuple(order) for order in drawn}) > SEEDS / 2


def test_answers_on_different_connections_come_in_any_order() -> None:
    def answered(seed: int) -> list[int]:
        simulation = new(seed, followers="frozen")
        for number in range(6):
            simulation.connect().send(frame(number, b"v"))
        simulation.arrivals.clear()
        simulation.followers("instant")
        return [client for _, client, _ in simulation.arrivals]

    drawn = [answered(seed) for seed in range(SEEDS)]
    assert all(sorted(order) == [1, 2, 3, 4, 5, 6] for order in drawn)
    assert len({tuple(order) for order in drawn}) > SEEDS / 2


# A client with a bug: it takes it that what was sent first is stored first, on whatever connection it was.


def last_status(simulation: Simulation) -> bytes:
    """Let one worker place an order and another one pay it, at once; return the last record of the topic."""
    values = [b"placed", b"paid"]
    stored = dict(zip(offsets(simulation, values), values, strict=True))
    return stored[max(stored)]


def test_a_race_that_first_come_hides_and_a_drawn_order_finds() -> None:
    assert {last_status(new(seed, "first-come")) for seed in range(SEEDS)} == {b"paid"}
    assert {last_status(new(seed)) for seed in range(SEEDS)} == {b"placed", b"paid"}


# Any order is a legal one: judged by what clients saw. (The oracle of `Replay` knows one order only, that of arrival.)


@pytest.mark.slow
@settings(max_examples=doses.count(6, 10))
@given(st.integers(0, 10_000))
def test_a_group_in_any_order(seed: int) -> None:
    GroupRun(random_group_plan(seed, 40), seed, schedule="random").run()


@pytest.mark.slow
@settings(max_examples=doses.count(6, 10))
@given(st.integers(0, 10_000))
def test_transactions_in_any_order(seed: int) -> None:
    TransactionRun(random_transaction_plan(seed, 40), seed, schedule="random").run()


@given(st.integers(0, 10_000), st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=5))
def test_what_is_written_at_the_same_time_is_stored_once_and_in_each_connections_order(
    seed: int, rounds: list[list[int]]
) -> None:
    """Each number of a round is a client that sends two records; `check_history` finds what is lost or doubled."""
    journal = Journal()
    simulation = Simulation(seed=seed, schedule="random", journal=journal, followers="lagging:5")
    simulation.topic("t")
    clients = [simulation.connect() for _ in range(4)]
    number = 0
    for values in rounds:
        with simulation.together():
            for index in values:
                for _ in range(2):
                    number += 1
                    clients[index].send(frame(number, b"record %d" % number))
        simulation.advance(3)
    simulation.advance(100)

    findings = check_history(journal)
    assert not findings, describe(findings)
    assert sum(len(client.answers) for client in clients) == number
    for client in clients:
        results = [wire.read_produce_answer(answer)[0] for _, answer in client.answers]
        assert [error for _, error, _ in results] == [0] * len(results)
        assert [offset for _, _, offset in results] == sorted(offset for _, _, offset in results)


def test_the_same_seed_gives_the_same_history() -> None:
    def history(seed: int) -> list[str]:
        run = GroupRun(random_group_plan(seed, 40), seed, schedule="random")
        run.run()
        return list(to_lines(run.world.journal))

    for seed in range(doses.count(1, 3)):
        assert history(seed) == history(seed)


# Over sockets.


def order_over_sockets(seed: int, schedule: str, parked: int = 6) -> list[str | None]:
    """Return the order of the clients' second requests; their first ones are parked under one key and complete."""
    with FakeCluster(brokers=2, schedule=schedule, seed=seed, clock="manual") as kafka, ExitStack() as stack:
        kafka.create_topic("t")
        kafka.followers.freeze("t")
        clients = [stack.enter_context(RawClient(kafka.endpoints[0])) for _ in range(parked)]
        for number, client in enumerate(clients):
            records = [batch(b"%d of %d" % (index, number)) for index in range(2)]
            client.send(*[produce("t", timeout_ms=60_000, client_id=f"{number}", records=record) for record in records])
            wait_until(lambda: len(kafka.journal.requests(api="Produce")) > number, "a request")  # noqa: B023
        kafka.followers.instant()
        for client in clients:
            client.receive()
            client.receive()
    findings = check_history(kafka.journal)
    assert not findings, describe(findings)
    return [request.client_id for request in kafka.journal.requests(api="Produce")[parked:]]


def test_over_sockets_requests_parked_under_one_key_complete_in_the_drawn_order() -> None:
    came = [str(number) for number in range(6)]
    assert order_over_sockets(0, "first-come") == came
    orders = [order_over_sockets(seed, "random") for seed in range(4)]
    assert all(sorted(map(str, order)) == came for order in orders)
    assert any(order != came for order in orders)
    assert orders[0] == order_over_sockets(0, "random")


def test_a_schedule_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="a schedule is first-come or random, not 'last-come'"):
        FakeCluster(schedule="last-come")
