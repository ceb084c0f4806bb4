"""A follower over the wire: Fetch with a replica id moves the high watermark by Kafka's rules (replication 1.1 to
1.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.answers import NONE, NOT_LEADER, TIMED_OUT, answers
from support.asking import served_versions
from support.external_follower import ExternalFollower, Fetched
from support.messages import decode_response
from support.requests import FETCH, batch, fetch, produce, request
from support.simulation import Simulation

OUT_OF_RANGE, UNKNOWN_TOPIC, FENCED, UNKNOWN_EPOCH = 1, 3, 74, 75


def external(replicas: int = 2, **configs: Any) -> Simulation:
    """Topic t: broker 1 leads, the last replica is external, one between is instant."""
    simulation = Simulation()
    simulation.topic("t", replicas=replicas, **configs)
    simulation.followers("external", "t", 0, replicas)
    return simulation


def appended(simulation: Simulation, *values: bytes) -> None:
    client = simulation.connect(simulation.partition().leader_id)
    for value in values or (b"v",):
        client.send(produce("t", acks=1, records=batch(value)))


@pytest.mark.parametrize("version", served_versions(FETCH))
def test_the_next_fetch_acknowledges_what_the_one_before_delivered(version: int) -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2, version=version)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000))
    # It reads up to the log end, beyond the watermark.
    assert follower.fetch(0)[:3] == (NONE, 0, [(0, 0)])
    assert client.answers == []
    simulation.advance(70)
    # This answer still carries the watermark from before: the leader reads first and then learns.
    assert follower.fetch(1)[:3] == (NONE, 0, [])
    assert answers(client) == [(70, NONE, 0)]
    assert follower.fetch(1)[:3] == (NONE, 1, [])


def test_the_long_poll_of_a_follower_is_woken_by_an_append() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    follower.send(0, max_wait_ms=500)
    simulation.advance(120)
    assert follower.answers == []
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000))
    assert follower.answers == [(120, Fetched(NONE, 0, [(0, 0)]))]
    # Its next fetch has the acknowledgement in it, and waits in turn; at its end it brings the watermark.
    follower.send(1, max_wait_ms=500)
    assert answers(client) == [(120, NONE, 0)]
    simulation.advance(500)
    assert follower.answers[1:] == [(620, Fetched(NONE, 1, []))]
    assert simulation.cluster.brokers[1].replicas.fetch_expirations == {"follower": 1}


def test_a_consumer_is_not_woken_by_an_append_but_by_the_watermark() -> None:
    simulation = external()
    consumer = simulation.connect()
    consumer.send(fetch("t", max_wait_ms=5_000))
    appended(simulation)
    simulation.advance(100)
    assert consumer.answers == []
    ExternalFollower(simulation, 2).fetch(1)
    assert [at_ms for at_ms, _ in consumer.answers] == [100]


@pytest.mark.parametrize(
    ("name", "replica_id", "epoch", "offset", "replica_epoch", "error"),
    [
        ("the leader's epoch", 3, 1, 0, -1, NONE),
        ("no epoch", 3, -1, 0, -1, NONE),
        ("an older epoch", 3, 0, 0, -1, FENCED),
        ("an older epoch comes before all else", 9, 0, 99, -1, FENCED),
        ("a newer epoch", 3, 2, 0, -1, UNKNOWN_EPOCH),
        ("not assigned, with the right epoch", 9, 1, 0, -1, UNKNOWN_EPOCH),
        ("not assigned, without an epoch", 9, -1, 0, -1, NOT_LEADER),
        ("the leader itself", 2, 1, 0, -1, UNKNOWN_EPOCH),
        ("a follower that is not external", 1, 1, 0, -1, NOT_LEADER),
        ("beyond the end", 3, 1, 3, -1, OUT_OF_RANGE),
        ("at the end", 3, 1, 2, -1, NONE),
        ("before the start", 3, 1, -1, -1, OUT_OF_RANGE),
        ("this life of the broker", 3, 1, 0, 3, NONE),
        ("an earlier life of the broker", 3, 1, 0, 2, NOT_LEADER),
        ("beyond the end, of an earlier life", 3, 1, 3, 2, OUT_OF_RANGE),
    ],
)
def test_what_a_leader_checks_and_in_which_order(
    name: str, replica_id: int, epoch: int, offset: int, replica_epoch: int, error: int
) -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("external", "t", 0, 3)
    simulation.move_leader(2)
    appended(simulation, b"a", b"b")
    follower = ExternalFollower(simulation, replica_id, broker=2)
    before = simulation.partition().replicas[3].log_end_offset
    answer = follower.fetch(offset, epoch=epoch, replica_epoch=replica_epoch)
    assert answer.error == error
    if error != NONE:
        assert (answer.high_watermark, answer.batches) == (-1, [])
        assert simulation.partition().replicas[3].log_end_offset == before
    assert answer.leader == ((2, 1) if error in (NOT_LEADER, FENCED) else (-1, -1))


def test_followers_must_ask_the_leader() -> None:
    simulation = external(3)
    assert ExternalFollower(simulation, 3, broker=2).fetch(0).error == NOT_LEADER


def test_a_partition_that_does_not_exist() -> None:
    simulation = external()
    assert ExternalFollower(simulation, 2).fetch(0, partition=5).error == 3


@pytest.mark.parametrize(
    ("name", "last_epoch", "offset", "diverging"),
    [
        ("the same history", 1, 3, (-1, -1)),
        ("behind in an old epoch", 0, 1, (-1, -1)),
        ("at the end of an old epoch", 0, 2, (-1, -1)),
        ("beyond the end of an old epoch", 0, 3, (0, 2)),
        ("nothing is told", -1, 3, (-1, -1)),
        ("beyond the end in the present epoch", 2, 9, (2, 3)),
    ],
)
def test_a_diverging_log_is_told_where_it_parts(
    name: str, last_epoch: int, offset: int, diverging: tuple[int, int]
) -> None:
    """Epoch 0 has the offsets 0 and 1, epoch 1 has offset 2, epoch 2 nothing yet."""
    simulation = external(3)
    appended(simulation, b"a", b"b")
    simulation.move_leader(2)
    appended(simulation, b"c")
    simulation.move_leader(1)
    before = simulation.partition().replicas[3].log_end_offset
    answer = ExternalFollower(simulation, 3).fetch(offset, epoch=2, last_epoch=last_epoch)
    assert (answer.error, answer.diverging) == (NONE, diverging)
    if diverging != (-1, -1):
        assert answer.batches == []
        assert simulation.partition().replicas[3].log_end_offset == before


def test_an_epoch_that_the_leader_does_not_know_is_out_of_range() -> None:
    simulation = external()
    assert ExternalFollower(simulation, 2).fetch(0, last_epoch=7).error == OUT_OF_RANGE


def test_a_follower_that_fetches_nothing_new_leaves_the_isr() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    follower.fetch(0)
    simulation.advance(10_000)
    appended(simulation)
    for _ in range(6):
        follower.fetch(0)
        simulation.advance(10_000)
    # At 0 it had everything; the fetches at 10 s and later prove nothing new.
    assert simulation.partition().isr == {1}
    assert simulation.partition().high_watermark == 1
    # It returns: the fetch at the watermark takes it in again.
    follower.fetch(1)
    assert simulation.partition().isr == {1, 2}


def test_only_its_fetches_say_that_an_external_follower_was_caught_up() -> None:
    """A simulated follower always has a fetch parked at the leader, and so was caught up until the append."""
    simulation = external()
    ExternalFollower(simulation, 2).fetch(0)
    simulation.advance(20_000)
    appended(simulation)
    simulation.advance(24_999)
    assert simulation.partition().isr == {1, 2}
    simulation.advance(1)
    assert simulation.partition().isr == {1}


def test_a_follower_that_is_always_one_fetch_behind_stays_in_sync() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    offset = 0
    for number in range(20):
        appended(simulation)
        simulation.advance(5_000)
        follower.fetch(offset)
        offset = number + 1
    assert simulation.elapsed_ms == 100_000
    assert simulation.partition().isr == {1, 2}


def test_a_follower_that_never_comes_times_acks_all_out() -> None:
    simulation = external()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=700))
    simulation.advance(700)
    assert answers(client) == [(700, TIMED_OUT, 0)]


@pytest.mark.parametrize(("later_ms", "high_watermark"), [(30_000, 3), (30_001, 5)])
def test_the_watermark_waits_for_a_follower_outside_the_isr_that_was_caught_up_lately(
    later_ms: int, high_watermark: int
) -> None:
    simulation = external()
    partition = simulation.partition()
    follower = ExternalFollower(simulation, 2)
    follower.fetch(0)
    appended(simulation, b"a", b"b")
    simulation.advance(60_000)
    assert (partition.isr, partition.high_watermark) == ({1}, 2)
    follower.fetch(0)
    appended(simulation, b"c")
    assert partition.high_watermark == 3
    # It has all that there was at its fetch before, and so was caught up a moment ago; but it is below the watermark.
    follower.fetch(2)
    assert partition.isr == {1}
    appended(simulation, b"d")
    assert partition.high_watermark == 3
    simulation.advance(later_ms)
    appended(simulation, b"e")
    assert partition.high_watermark == high_watermark
    follower.fetch(5)
    assert (partition.isr, partition.high_watermark) == ({1, 2}, 5)


def test_an_election_may_choose_what_an_external_follower_was_known_to_have() -> None:
    """Broker 2 of this cluster stands for it: it has the records that the fetches proved."""
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    appended(simulation, b"a", b"b", b"c")
    follower.fetch(2)
    simulation.stop(1)
    partition = simulation.partition()
    assert (partition.leader_id, partition.leader_log.log_end_offset, partition.high_watermark) == (2, 2, 2)
    simulation.start(1)
    assert [partition.replicas[broker].log.log_end_offset for broker in (1, 2)] == [2, 2]


def test_what_an_external_follower_had_of_an_old_leader_is_forgotten_when_it_follows_the_new_one() -> None:
    simulation = external(3)
    appended(simulation, b"a")
    ExternalFollower(simulation, 3).fetch(1)
    simulation.followers("frozen", "t", 0, 2)
    appended(simulation, b"lost with broker 1")
    ExternalFollower(simulation, 3).fetch(2)
    simulation.move_leader(2)
    appended(simulation, b"b")
    follower = ExternalFollower(simulation, 3, broker=2)
    assert follower.fetch(2, epoch=1, last_epoch=0).diverging == (0, 1)
    follower.fetch(2, epoch=1, last_epoch=1)  # it says that it has offset 1 of the new epoch
    replicas = simulation.partition().replicas
    assert replicas[3].log.batches == replicas[2].log.batches
    assert replicas[3].leader_epochs.entries == replicas[2].leader_epochs.entries


def test_a_follower_that_lost_its_disk_does_not_lower_the_watermark() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    appended(simulation, b"a", b"b")
    follower.fetch(2)
    assert simulation.partition().high_watermark == 2
    assert follower.fetch(0).batches == [(0, 0), (1, 1)]
    assert simulation.partition().high_watermark == 2


def test_an_external_follower_that_is_taken_back_goes_on_from_what_it_has() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    appended(simulation, b"a", b"b", b"c")
    follower.fetch(1)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000))
    simulation.followers("lagging:30", "t", 0, 2)
    simulation.advance(100)
    assert answers(client) == [(30, NONE, 3)]
    assert follower.fetch(4).error == NOT_LEADER


@pytest.mark.parametrize("sizes", [(), (5, 5), (2, 5), (7,)])
def test_an_external_follower_that_is_taken_back_after_an_election_drops_what_the_new_leader_lacks(
    sizes: tuple[int, ...],
) -> None:
    simulation = external(3)
    simulation.followers("frozen", "t", 0, 2)
    simulation.connect().send(produce("t", acks=1, records=batch(*[b"lost with broker 1"] * 5)))
    follower = ExternalFollower(simulation, 3)
    follower.fetch(0)
    follower.fetch(5)
    simulation.stop(1)
    client = simulation.connect(2)
    for size in sizes:
        client.send(produce("t", acks=1, records=batch(*[b"b"] * size)))
    simulation.followers("instant", "t", 0, 3)
    partition = simulation.partition()
    assert (partition.isr, partition.high_watermark) == ({2, 3}, sum(sizes))
    assert partition.replicas[3].log.batches == partition.replicas[2].log.batches
    assert partition.replicas[3].leader_epochs.entries == partition.replicas[2].leader_epochs.entries[: len(sizes)]


def test_an_external_follower_that_went_back_stays_in_the_isr_below_the_watermark_when_it_is_taken_back() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    appended(simulation, b"a", b"b")
    follower.fetch(2)
    follower.fetch(0)
    simulation.followers("frozen", "t", 0, 2)
    partition = simulation.partition()
    assert (partition.isr, partition.high_watermark, partition.replicas[2].log_end_offset) == ({1, 2}, 2, 0)
    simulation.followers("instant", "t", 0, 2)
    assert partition.replicas[2].log_end_offset == 2


def test_an_external_follower_of_a_stopped_broker_may_be_taken_back_within_a_batch() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    simulation.connect().send(produce("t", acks=1, records=batch(b"a", b"b", b"c")))
    simulation.stop(2)
    follower.fetch(2)
    simulation.followers("instant", "t", 0, 2)
    replica = simulation.partition().replicas[2]
    assert (replica.log_end_offset, replica.log.log_end_offset) == (2, 0)
    simulation.start(2)
    assert (replica.log_end_offset, replica.log.log_end_offset) == (3, 3)


def test_a_stopped_brokers_follower_over_the_wire_is_not_taken_into_the_isr() -> None:
    simulation = external()
    follower = ExternalFollower(simulation, 2)
    simulation.stop(2)
    appended(simulation)
    assert follower.fetch(1).error == NONE
    assert simulation.partition().isr == {1}
    simulation.start(2)
    follower.fetch(1)
    assert simulation.partition().isr == {1, 2}


@pytest.mark.parametrize(("what", "error"), [("move", FENCED), ("delete", 3)])
def test_a_followers_long_poll_ends_with_the_leadership(what: str, error: int) -> None:
    simulation = external(3)
    follower = ExternalFollower(simulation, 3)
    follower.send(0, epoch=0, max_wait_ms=5_000)
    simulation.advance(40)
    if what == "move":
        simulation.move_leader(2)
    else:
        simulation.delete_topic()
    ((at_ms, answer),) = follower.answers
    assert (at_ms, answer.error) == (40, error)


@pytest.mark.parametrize(("replica_epoch", "isr"), [(-1, {1, 3}), (3, {1, 3}), (4, {1})])
def test_a_fetch_from_a_life_that_the_leader_has_not_heard_of_counts_but_does_not_join(
    replica_epoch: int, isr: set[int]
) -> None:
    """Brokers 1 to 3 have the epochs 1 to 3; a newer one is known to the follower only (isBrokerEpochIsrEligible)."""
    simulation = Simulation()
    simulation.topic()
    simulation.stop(2)
    simulation.followers("external", "t", 0, 3)
    appended(simulation)
    simulation.advance(60_000)
    partition = simulation.partition()
    assert partition.isr == {1}
    assert ExternalFollower(simulation, 3).fetch(1, replica_epoch=replica_epoch).error == NONE
    assert partition.replicas[3].log_end_offset == 1
    assert partition.isr == isr


def test_a_broker_that_starts_again_has_a_new_epoch_and_its_old_fetches_are_refused() -> None:
    simulation = external(3)
    follower = ExternalFollower(simulation, 3)
    assert follower.fetch(0, replica_epoch=3).error == NONE
    simulation.stop(3)
    assert follower.fetch(0, replica_epoch=3).error == NONE  # fenced, but no newer life is known
    simulation.start(3)
    assert follower.fetch(0, replica_epoch=3).error == NOT_LEADER
    assert follower.fetch(0, replica_epoch=4).error == NONE


def test_a_consumer_at_a_follower_reads_up_to_the_watermark_and_is_woken_by_it() -> None:
    """KIP-392: from v11 on any replica may be read."""
    simulation = Simulation()
    simulation.topic()
    simulation.followers("lagging:70", "t", 0, 3)
    consumer = simulation.connect(2)
    consumer.send(fetch("t", max_wait_ms=5_000, version=11))
    producer = simulation.connect()
    producer.send(produce("t", timeout_ms=5_000))
    simulation.advance(69)
    assert consumer.answers == []  # broker 2 has the record, broker 3 has not
    simulation.advance(1)
    ((at_ms, frame),) = consumer.answers
    _, response = decode_response(FETCH, 11, frame)
    (partition,) = response.responses[0].partitions
    assert (at_ms, int(partition.error_code), partition.high_watermark) == (70, NONE, 1)
    assert partition.records


def test_a_consumer_beyond_the_watermark_is_answered_at_once_with_nothing() -> None:
    """Case F of DelayedFetch: it may be on a truncated leader."""
    simulation = external()
    appended(simulation)
    consumer = simulation.connect()
    consumer.send(fetch("t", offset=1, max_wait_ms=5_000))
    ((at_ms, frame),) = consumer.answers
    _, response = decode_response(FETCH, 11, frame)
    (partition,) = response.responses[0].partitions
    assert (at_ms, int(partition.error_code), partition.high_watermark, partition.records) == (0, NONE, 0, b"")


@pytest.mark.parametrize(("partitions", "at_ms"), [((7,), 0), ((0, 7), 300)])
def test_unknown_partitions_do_not_cut_the_wait_of_the_others_short(partitions: tuple[int, ...], at_ms: int) -> None:
    """KafkaApis returns their errors with the response about the others; alone they complete the fetch at once."""
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    requested = [
        {
            "partition": index,
            "fetch_offset": 0,
            "partition_max_bytes": 1 << 20,
        }
        for index in partitions
    ]
    values = {
        "max_wait": timedelta(milliseconds=300),
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "topics": [{"topic": "t", "partitions": requested}],
    }
    client.send(request(FETCH, 11, values))
    simulation.advance(1_000)
    ((answered_ms, frame),) = client.answers
    _, response = decode_response(FETCH, 11, frame)
    errors = {p.partition_index: int(p.error_code) for topic in response.responses for p in topic.partitions}
    assert (answered_ms, errors) == (at_ms, {index: 0 if index == 0 else 3 for index in partitions})


@pytest.mark.parametrize("version", [version for version in served_versions(FETCH) if version >= 13])
@pytest.mark.parametrize("made_again", [False, True])
def test_a_topic_that_is_deleted_meanwhile_is_answered_by_the_id_that_was_asked_for(
    version: int, made_again: bool
) -> None:
    simulation = external(replicas=3)
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    follower = ExternalFollower(simulation, 3, version=version)
    follower.send(0, max_wait_ms=5_000)
    simulation.delete_topic()
    if made_again:
        simulation.topic()
    ((_, frame),) = follower.client.answers
    response: Any = decode_response(FETCH, version, frame)[1]
    assert [answered.topic_id for answered in response.responses] == [topic.topic_id]
    assert follower.read(frame).error == UNKNOWN_TOPIC
