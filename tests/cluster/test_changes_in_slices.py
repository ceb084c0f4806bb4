"""Brokers with very many partitions stop, start, pause and fall silent in slices, between which clients are served.

Theory   A slice has 128 partitions. Function calls are counted, so the longest slice of many partitions must be that of
         few. What clients see between two slices is what Kafka can show: partitions change one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import doses
from support.messages import decode_response
from support.requests import metadata, produce
from support.simulation import Simulation
from support.slices import count_slices, most_calls_of_a_slice

from fakebroker.cluster.cluster import Cluster
from fakebroker.cluster.lives import KILLED, PAUSED, RUNNING, STOPPED, STOPPING
from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.faults.actions import Kill
from fakebroker.core.faults.fault import Fault
from fakebroker.core.journal.broker_events import BrokerFenced, BrokerUnfenced
from fakebroker.core.journal.events import TimerFired
from fakebroker.core.journal.journal import Journal
from fakebroker.core.replication.partition import Partition
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Close, InternalError, Send
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish

FEW, MANY = 256, doses.count(512, 768)
SESSION_MS = 9_000
Change = Callable[[Cluster], Slices[None]]


def at(ms: int) -> Now:
    return Now(ms, 1_700_000_000_000 + ms)


def cluster_of(partitions: int, journal: Journal | None = None) -> Cluster:
    cluster = Cluster(at(0), 3, journal=journal)
    cluster.admin.create_topic(NewTopic("t", partitions, 3), at(0))
    cluster.take_effects()
    return cluster


def partitions_of(cluster: Cluster) -> list[Partition]:
    return list(cluster.metadata.partitions())


def work_off(cluster: Cluster, now: Now) -> None:
    """Do all pending work."""
    cluster.advance_to(now)
    while cluster.has_work:
        cluster.advance_to(now)
    assert not cluster.members.events.is_busy
    assert not [effect for effect in cluster.take_effects() if isinstance(effect, InternalError)]
    cluster.check_invariants()


def stopped(cluster: Cluster) -> None:
    cluster.lives.stop_broker(1, at(0))


def killed(cluster: Cluster) -> None:
    cluster.lives.kill_broker(1, at(0))


def paused(cluster: Cluster) -> None:
    cluster.lives.pause_broker(1, at(0))


def replaced(cluster: Cluster) -> None:
    """Pause the broker until its session has ended."""
    cluster.lives.pause_broker(1, at(0))
    work_off(cluster, at(SESSION_MS + 1))


def returned(cluster: Cluster) -> None:
    """Stop and start the broker: it leads nothing afterwards."""
    cluster.lives.stop_broker(1, at(0))
    cluster.lives.start_broker(1, at(0))


def nothing(cluster: Cluster) -> None:
    """Leave the cluster as it is."""


CHANGES: dict[str, tuple[Callable[[Cluster], None], Change]] = {
    "stop": (nothing, lambda cluster: cluster.lives.stop_broker_in_slices(1, cluster.now)),
    "kill": (nothing, lambda cluster: cluster.lives.kill_broker_in_slices(1, cluster.now)),
    "pause": (nothing, lambda cluster: cluster.lives.pause_broker_in_slices(1, cluster.now)),
    "start": (stopped, lambda cluster: cluster.lives.start_broker_in_slices(1, cluster.now)),
    "kill a paused one": (paused, lambda cluster: cluster.lives.kill_broker_in_slices(1, cluster.now)),
    "resume": (paused, lambda cluster: cluster.lives.resume_broker_in_slices(1, cluster.now)),
    "resume a replaced one": (replaced, lambda cluster: cluster.lives.resume_broker_in_slices(1, cluster.now)),
    "learn": (replaced, lambda cluster: cluster.controller.leadership.views.hears(1, cluster.read_now)),
    "session": (killed, lambda cluster: cluster.controller.cluster_control._fence_silent(1)),
    "balance": (returned, lambda cluster: cluster.controller.leadership.balance_leaders(cluster.read_now)),
    "ISR": (nothing, lambda cluster: cluster.controller.leadership.maybe_shrink_isrs(cluster.read_now)),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("name", CHANGES)
def test_the_longest_slice_does_not_grow_with_the_number_of_partitions(name: str) -> None:
    before, change = CHANGES[name]

    def most_calls(partitions: int) -> int:
        cluster = cluster_of(partitions)
        before(cluster)
        return most_calls_of_a_slice(lambda: change(cluster))

    few, many = most_calls(FEW), most_calls(MANY)
    assert many - few < 0.5 * (MANY - FEW), "calls of the longest slice, for each partition more"


@pytest.mark.parametrize("name", CHANGES)
def test_with_few_partitions_a_change_is_one_slice(name: str) -> None:
    before, change = CHANGES[name]
    cluster = cluster_of(128)
    before(cluster)
    assert count_slices(change(cluster)) == (None, 1)


def test_slices_make_of_a_cluster_what_one_step_makes() -> None:
    """The journals are equal, event by event, except for the timers of the slices."""

    def history(at_once: bool) -> list[object]:
        journal = Journal()
        cluster = cluster_of(300, journal)
        changes: list[Callable[[int, Now], Slices[None]]] = [
            cluster.lives.stop_broker_in_slices,
            cluster.lives.start_broker_in_slices,
            cluster.lives.pause_broker_in_slices,
            cluster.lives.resume_broker_in_slices,
            cluster.lives.kill_broker_in_slices,
            cluster.lives.start_broker_in_slices,
        ]
        for number, change in enumerate(changes, 1):
            now = at(10 * number)
            if at_once:
                cluster.members.events.handle_at_once(change(1, now))
            else:
                cluster.members.events.handle("a change", change(1, now))
                assert cluster.members.events.is_busy or number == len(changes)  # the last waits for the session to end
            work_off(cluster, now)
        work_off(cluster, at(400_000))
        return [event for event in journal if not isinstance(event, TimerFired)]

    assert history(at_once=True) == history(at_once=False)


# What clients see between two slices.


def connect(cluster: Cluster, broker_id: int = 1) -> Connection:
    return cluster.open_connection(broker_id, "me:1", cluster.now)


def error_of(cluster: Cluster, connection: Connection, index: int) -> ErrorCode:
    """Produce to a partition; the response has to come at once."""
    cluster.receive(connection, produce("t", partition=index), cluster.now)
    sent = [effect for effect in cluster.take_effects() if isinstance(effect, Send) and effect.connection is connection]
    [frame] = [b"".join(map(bytes, effect.parts)) for effect in sent]
    _, response = decode_response(0, 9, frame[4:])
    return ErrorCode(response.responses[0].partition_responses[0].error_code)


def led_by(cluster: Cluster, broker_id: int) -> list[int]:
    return [
        partition.topic_partition.partition for partition in partitions_of(cluster) if partition.leader_id == broker_id
    ]


def test_a_stopping_broker_gives_up_its_partitions_one_after_the_other() -> None:
    cluster = cluster_of(300)
    led, connection = led_by(cluster, 1), connect(cluster)
    change = cluster.lives.stop_broker_in_slices(1, at(1))
    next(change)
    left = led_by(cluster, 1)
    assert 0 < len(left) < len(led)
    assert cluster.lives.state_of(1) == STOPPING
    assert cluster.metadata.alive_ids == [1, 2, 3]
    assert error_of(cluster, connection, left[0]) == ErrorCode.none
    assert error_of(cluster, connection, led[0]) == ErrorCode.not_leader_or_follower

    finish(change)
    assert cluster.lives.state_of(1) == STOPPED
    assert led_by(cluster, 1) == []
    assert [effect.connection for effect in cluster.take_effects() if isinstance(effect, Close)] == [connection]
    work_off(cluster, at(1))


@pytest.mark.parametrize("state", [KILLED, PAUSED])
def test_a_broker_that_is_killed_or_paused_serves_its_clients_up_to_the_last_slice(state: str) -> None:
    cluster = cluster_of(300)
    led, connection = led_by(cluster, 1), connect(cluster)
    door = cluster.lives.kill_broker_in_slices if state == KILLED else cluster.lives.pause_broker_in_slices
    change = door(1, at(1))
    next(change)
    assert cluster.lives.state_of(1) == RUNNING
    cluster.receive(connection, produce("t", partition=led[0], acks=1), cluster.now)
    assert [type(effect) for effect in cluster.take_effects()] == [Send]

    finish(change)
    assert cluster.lives.state_of(1) == state
    assert not cluster.lives.is_running(1)
    work_off(cluster, at(1))


def test_a_broker_with_an_ended_session_is_fenced_after_its_last_partition() -> None:
    """No partition has a leader that clients do not know."""
    cluster = cluster_of(300)
    cluster.lives.kill_broker(1, at(0))
    change = cluster.controller.cluster_control._fence_silent(1)
    next(change)
    assert led_by(cluster, 1)
    assert partitions_of(cluster)[0].isr == {2, 3}
    assert cluster.metadata.alive_ids == [1, 2, 3]
    with pytest.raises(KafkaError, match="that broker is stopped"):
        cluster.admin.move_leader("t", 0, 1, at(0))
    finish(change)
    assert led_by(cluster, 1) == []
    assert cluster.metadata.alive_ids == [2, 3]


def test_topics_come_and_go_between_two_slices() -> None:
    cluster = cluster_of(300)
    cluster.admin.create_topic(NewTopic("gone", 300, 3), at(0))
    change = cluster.lives.stop_broker_in_slices(1, at(1))
    for _ in range(3):
        next(change)
    cluster.admin.delete_topic("gone", at(1))
    cluster.admin.create_topic(NewTopic("new", 2, 2), at(1))
    finish(change)
    assert all(partition.isr == {2, 3} and partition.leader_id in (2, 3) for partition in partitions_of(cluster))
    work_off(cluster, at(1))


@pytest.mark.parametrize("index", [0, 3, 297])
def test_a_replaced_broker_learns_partition_by_partition_while_leaders_move_on(index: int) -> None:
    cluster = cluster_of(300)
    led = led_by(cluster, 1)
    assert index in led
    replaced(cluster)
    finish(cluster.lives.resume_broker_in_slices(1, at(SESSION_MS + 2)))  # it learns after a delay
    connection = connect(cluster)
    change = cluster.controller.leadership.views.hears(1, cluster.read_now)
    next(change)
    cluster.receive(connection, produce("t", partition=led[0], acks=1), cluster.now)
    partition = partitions_of(cluster)[index]
    cluster.admin.move_leader("t", index, next(iter(partition.isr - {partition.leader_id})), cluster.now)
    finish(change)
    assert all(
        known_partition.stale is None and not known_partition.unaware for known_partition in partitions_of(cluster)
    )
    cluster.controller.leadership.views.check_invariants()


# One change after the other.


def test_a_change_at_once_comes_after_those_in_progress() -> None:
    """Faults make immediate changes: they act at a point of a request."""
    cluster = cluster_of(300)
    cluster.members.events.handle("a stop", cluster.lives.stop_broker_in_slices(1, at(1)))
    assert cluster.lives.state_of(1) == STOPPING
    cluster.lives.kill_broker(2, at(1))
    assert (cluster.lives.state_of(1), cluster.lives.state_of(2)) == (STOPPED, KILLED)
    assert not cluster.members.events.is_busy
    work_off(cluster, at(1))


def test_a_session_that_ends_meanwhile_waits_for_the_change_in_progress() -> None:
    journal = Journal()
    cluster = cluster_of(300, journal)
    cluster.lives.stop_broker(3, at(0))
    cluster.lives.kill_broker(1, at(0))
    journal.clear()
    cluster.members.events.handle("a start", cluster.lives.start_broker_in_slices(3, at(SESSION_MS)))
    work_off(cluster, at(SESSION_MS + 1))
    fencing = [event for event in journal if isinstance(event, BrokerFenced | BrokerUnfenced)]
    assert [(type(event), event.broker) for event in fencing] == [(BrokerUnfenced, 3), (BrokerFenced, 1)]


@pytest.mark.parametrize("state", [KILLED, PAUSED])
def test_a_broker_that_is_to_learn_may_be_killed_or_paused_meanwhile(state: str) -> None:
    cluster = cluster_of(300)
    replaced(cluster)
    finish(cluster.lives.resume_broker_in_slices(1, at(SESSION_MS + 2)))  # it learns after a delay
    now = at(SESSION_MS + 2 + cluster.members.config.fakebroker_metadata_delay_ms)
    door = cluster.lives.kill_broker_in_slices if state == KILLED else cluster.lives.pause_broker_in_slices
    cluster.members.events.handle("a change", door(1, now))
    assert cluster.members.events.is_busy
    work_off(cluster, at(SESSION_MS + 1_000))
    assert cluster.lives.state_of(1) == state
    if state == PAUSED:
        cluster.lives.resume_broker(1, at(SESSION_MS + 1_000))
        work_off(cluster, at(SESSION_MS + 2_000))
        assert partitions_of(cluster)[0].isr == {1, 2, 3}


def test_a_bug_of_one_event_does_not_hold_up_the_next() -> None:
    cluster = cluster_of(1)

    def fails() -> Slices[None]:
        yield
        raise ZeroDivisionError

    done = []

    def works() -> Slices[None]:
        done.append(1)
        yield

    cluster.members.events.handle("one", fails())
    cluster.members.events.handle("another", works())
    assert done == []
    cluster.advance_to(at(0))
    [bug] = [effect for effect in cluster.take_effects() if isinstance(effect, InternalError)]
    assert bug.what == "one"
    assert done == [1]
    assert not cluster.members.events.is_busy


def test_a_fault_between_the_steps_of_a_stop_may_kill_the_broker() -> None:
    """The next request meets the fault when the stop completes the parked one."""
    simulation = Simulation(followers="frozen")
    simulation.topic("t", partitions=1, replicas=3)
    client = simulation.connect(1)
    simulation.cluster.faults.add(Fault({"api": "Metadata"}, Kill()))
    client.send(produce("t", timeout_ms=60_000), metadata(["t"]))
    simulation.stop(1)
    assert simulation.cluster.lives.state_of(1) == KILLED
