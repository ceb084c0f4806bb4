"""The judge of journals: each kind of finding, made to happen in a simulated cluster; and nothing where nothing is."""

from __future__ import annotations

import pytest
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.faults.presets import NetworkPartition
from fakebroker.core.journal.events import Answer, Append, Dropped
from fakebroker.core.journal.journal import Journal, from_lines, to_lines
from fakebroker.testing import check_history, describe, random_plan, wire
from fakebroker.testing.history import DUPLICATE, GAP, LOST, REORDERED
from fakebroker.testing.replay import Replay
from fakebroker.testing.simulation import START_WALL_MS
from fakebroker.testing.transactions.job import Job
from fakebroker.testing.transactions.world import TransactionWorld


class Writer:
    """A client that writes records, one a batch."""

    def __init__(self, simulation: Simulation, broker: int = 1) -> None:
        self.link: SimulatedClient = simulation.connect(broker)
        self.sent = 0

    def write(self, *values: bytes, acks: int = -1, partition: int = 0, producer: tuple[int, ...] = ()) -> None:
        for value in values:
            self.sent += 1
            records = wire.batch(value, 1, START_WALL_MS, *producer)
            self.link.send(wire.produce(self.sent, acks, 100, [(("t", partition), records)]))


def simulation(partitions: int = 1, **configs: object) -> tuple[Simulation, Journal]:
    journal = Journal()
    made = Simulation(journal=journal)
    made.topic("t", partitions, 3, **configs)
    return made, journal


def kinds(journal: Journal) -> list[tuple[str, int]]:
    return [(finding.kind, finding.offset) for finding in check_history(journal)]


def test_nothing_is_wrong() -> None:
    made, journal = simulation()
    Writer(made).write(b"a", b"b", b"c")
    assert kinds(journal) == []


def test_a_duplicate() -> None:
    made, journal = simulation()
    Writer(made).write(b"a", b"b", b"a")
    assert kinds(journal) == [(DUPLICATE, 2)]
    assert describe(check_history(journal)) == (
        "duplicate: t-0 offset 2: the same record as at offset 0, written by request 3 of client 'sim' 0 ms after "
        "request 1"
    )


def test_a_coordinator_may_write_the_same_again() -> None:
    """A member that commits the same offset twice within a millisecond."""
    made, journal = simulation()
    Writer(made).write(b"a", b"b", b"a")
    events = [event._replace(topic="__consumer_offsets") if isinstance(event, Append) else event for event in journal]
    assert check_history(events) == []


def test_a_duplicate_in_another_partition() -> None:
    made, journal = simulation(2)
    Writer(made).write(b"a")
    Writer(made, 2).write(b"a", partition=1)
    assert kinds(journal) == [(DUPLICATE, 0)]


def test_an_idempotent_producer_has_none() -> None:
    made, journal = simulation()
    writer = Writer(made)
    writer.write(b"a", b"a", producer=(7, 0, 0))
    assert kinds(journal) == []


def test_acknowledged_as_the_duplicate_of_another_batch() -> None:
    """kafka-clients 2.1 gives the sequence of an expired batch to the next one, and a broker knows batches by that."""
    made, journal = simulation()
    writer = Writer(made)
    writer.write(b"a", producer=(7, 0, 0))
    writer.write(b"b", producer=(7, 0, 0))
    assert kinds(journal) == [(LOST, 0)]
    assert describe(check_history(journal)) == (
        "lost: t-0 offset 0: client 'sim' was told that request 2 had succeeded (acks=all), and the record that stands "
        "there is another one, of request 1: the broker took the batch for that one's duplicate, by its producer id 7, "
        "epoch 0 and sequence 0"
    )


@pytest.mark.parametrize(("again", "found"), [(b"a", []), (b"b", [(LOST, 0)])])
def test_a_leader_that_was_deposed_knows_what_it_had_before(again: bytes, found: list[tuple[str, int]]) -> None:
    made, journal = simulation()
    Writer(made).write(b"a", producer=(7, 0, 0))
    made.cluster.faults.arising.arise(NetworkPartition((1,), (2, 3), "b"))
    made.settle()
    made.advance(9_000)
    Writer(made, 2).write(b"c")
    assert made.partition().leader_id == 2
    Writer(made).write(again, acks=1, producer=(7, 0, 0))
    assert kinds(journal) == found


def test_an_answer_that_was_no_success_promises_nothing_of_the_duplicate() -> None:
    made, journal = simulation()
    writer = Writer(made)
    writer.write(b"a", producer=(7, 0, 0))
    made.followers("frozen")
    writer.write(b"next", producer=(7, 0, 1))
    made.advance(100)
    writer.write(b"other", producer=(7, 0, 1))
    made.advance(100)
    assert [answer.partitions[0].error for answer in journal if isinstance(answer, Answer)][1:] == [
        "REQUEST_TIMED_OUT"
    ] * 2
    assert kinds(journal) == []


def test_lost_by_an_unclean_election() -> None:
    made, journal = simulation(unclean_leader_election_enable="true", retention_ms=-1)
    writer = Writer(made)
    writer.write(b"kept")
    made.followers("frozen")
    writer.write(b"lost", acks=1)
    writer.write(b"nobody was told", acks=0)
    made.advance(60_000)
    writer.write(b"lost too")
    assert made.partition().isr == {1}
    made.stop(1)
    assert kinds(journal) == [(LOST, 1), (LOST, 3)]
    acks = [str(finding).split("(acks=")[1].split(")")[0] for finding in check_history(journal)]
    assert acks == ["1", "all"]


@pytest.mark.parametrize(("instead", "found"), [((), []), ((b"c",), [(LOST, 1), (LOST, 1)])])
def test_what_a_leader_in_name_only_lacks_is_there_again(
    instead: tuple[bytes, ...], found: list[tuple[str, int]]
) -> None:
    """No log is truncated while the elected broker is paused. Otherwise record b is lost, and later its own."""
    made, journal = simulation()
    Writer(made).write(b"a")
    made.followers("frozen")
    Writer(made).write(b"b", acks=1)
    if not instead:
        made.pause(2)
    made.move_leader(2)
    Writer(made, 2).write(*instead, acks=1)
    made.move_leader(1)
    Writer(made).write(b"d", acks=1)
    assert made.partition().leader_log.log_end_offset == 3 - len(instead)
    assert kinds(journal) == found


def test_a_response_that_no_client_received_promises_nothing() -> None:
    made, journal = simulation(unclean_leader_election_enable="true", retention_ms=-1)
    made.followers("lagging:50")
    writer = Writer(made)
    writer.write(b"a")
    writer.link.disconnect()
    made.advance(50)
    made.followers("frozen")
    Writer(made).write(b"b", acks=1)
    made.advance(60_000)
    made.stop(1)
    assert kinds(journal) == [(LOST, 1)]


def test_reordered_by_a_retry() -> None:
    """The first request is refused (19), the second one not; then the first is sent again."""
    made, journal = simulation(min_insync_replicas=3, retention_ms=-1)
    made.followers("frozen", broker=3)
    writer = Writer(made)
    writer.write(b"begin", acks=1)
    made.advance(60_000)
    writer.write(b"first", acks=-1)
    writer.write(b"second", acks=1)
    writer.write(b"first", acks=1)
    assert kinds(journal) == [(REORDERED, 2)]


def test_two_clients_have_no_order() -> None:
    made, journal = simulation()
    one, other = Writer(made), Writer(made)
    one.write(b"a")
    other.write(b"b")
    one.write(b"c")
    assert kinds(journal) == []


def test_a_topic_that_is_made_anew_is_another_one() -> None:
    made, journal = simulation()
    Writer(made).write(b"a", b"b")
    made.delete_topic("t")
    made.topic("t")
    Writer(made).write(b"a")
    assert kinds(journal) == []


def test_a_gap_in_a_journal_that_was_changed() -> None:
    made, journal = simulation()
    Writer(made).write(b"a", b"b", b"c")
    appends = [event for event in journal if isinstance(event, Append)]
    events = [event for event in journal if event is not appends[1]]
    assert [(finding.kind, finding.offset) for finding in check_history(events)] == [(GAP, 2)]


def test_only_what_is_asked_for() -> None:
    made, journal = simulation()
    Writer(made).write(b"a", b"a")
    assert check_history(journal, {LOST}) == []
    with pytest.raises(ValueError, match="no kind 'loss'"):
        check_history(journal, {"loss"})


def test_a_journal_that_has_dropped_events_cannot_tell() -> None:
    journal = Journal(5)
    made = Simulation(journal=journal)
    made.topic()
    Writer(made).write(b"a", b"b")
    with pytest.raises(ValueError, match=r"has dropped \d+ events"):
        check_history(journal)


def test_a_journal_with_a_gap_cannot_tell() -> None:
    """A journal from a pipe with a slow reader has gaps."""
    made, journal = simulation()
    Writer(made).write(b"a", b"b")
    events = list(journal)
    with pytest.raises(ValueError, match=r"has dropped 17 events, and cannot tell"):
        check_history([*events[:3], Dropped(1, 2, 17), *events[3:]])


def test_a_journal_on_disk_tells_the_same() -> None:
    made, journal = simulation()
    Writer(made).write(b"a", b"b", b"a")
    assert check_history(from_lines(to_lines(journal))) == check_history(journal)


@pytest.mark.parametrize("seed", range(12))
def test_simulations_lose_only_by_unclean_elections_and_have_no_gaps(seed: int) -> None:
    """Non-idempotent clients of simulations do duplicate and reorder: they retry error 7."""
    journal = Journal(1_000_000)
    plan = [step for step in random_plan(seed, 150) if step.name not in ("delete", "recreate")]
    plan = [step._replace(arguments=(*step.arguments[:3], 0)) if step.name == "topic" else step for step in plan]
    assert Replay(plan, seed, journal=journal).violation is None
    findings = check_history(journal, {LOST, GAP})
    assert [finding for finding in findings if "acks=all" in finding.sentence or finding.kind == GAP] == []


@pytest.mark.parametrize(("commits", "found"), [(False, []), (True, [(DUPLICATE, 2)])])
def test_what_was_aborted_may_be_written_again(commits: bool, found: list[tuple[str, int]]) -> None:
    world = TransactionWorld(1, partitions=1)
    producer = world.producer("tx")
    for number, ends in enumerate((commits, True)):
        producer.jobs.append(Job(((("t", 0), (b"again",)),), ends))
        world.advance(1_000)
        assert producer.committed + producer.aborted == number + 1
    assert kinds(world.journal) == found


def test_markers_are_alike_and_no_duplicates() -> None:
    world = TransactionWorld(1)
    producer = world.producer("tx")
    for commits in (True, False, True, False):
        producer.transact({("t", 0): 1, ("t", 1): 1}, commits)
    world.finish()
    assert kinds(world.journal) == []
