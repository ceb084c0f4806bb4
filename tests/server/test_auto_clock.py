"""`clock="auto"` skips the time that a request waits for, and no other, over real sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic

import pytest
from support.cpu_time import ProcessTimes
from support.raw_client import RawClient
from support.requests import Produced, batch, fetch, metadata, produce
from support.watchdog import join, wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import TimerFired
from fakebroker.server import fake_cluster, loops
from fakebroker.server.skipping import QUIET_S

NewLoop = Callable[[], asyncio.AbstractEventLoop]
REQUEST_TIMED_OUT = 7
TIMEOUT_MS = 30_000
ROUNDING_MS = 2

LOOPS: dict[str, NewLoop] = {"asyncio": asyncio.new_event_loop}
if loops.NAME == "uvloop":
    LOOPS["uvloop"] = loops.new_event_loop


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS), autouse=True)
def new_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> NewLoop:
    made: NewLoop = request.param
    monkeypatch.setattr(fake_cluster, "new_event_loop", made)
    return made


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    """Return a cluster with a frozen topic "t" and a healthy topic "u"."""
    with FakeCluster(clock="auto", config={"replica.lag.time.max.ms": 2**31 - 1}) as cluster:
        cluster.create_topic("t")
        cluster.create_topic("u")
        cluster.followers.freeze("t")
        yield cluster


@pytest.fixture
def client(kafka: FakeCluster) -> Iterator[RawClient]:
    with RawClient(kafka.endpoints[0]) as raw:
        yield raw


def has_skipped(kafka: FakeCluster, work: Callable[[], object]) -> bool:
    """Return whether the broker's clock went further than the real one meanwhile. The real one is read first and last:
    what a busy machine takes to read the clocks is no skip."""
    before_s, elapsed_ms = monotonic(), kafka.clock.elapsed_ms
    work()
    went_ms = kafka.clock.elapsed_ms - elapsed_ms
    return went_ms > (monotonic() - before_s) * 1000 + ROUNDING_MS


def test_a_produce_timeout_of_ten_minutes_is_skipped(kafka: FakeCluster, client: RawClient) -> None:
    """The client's watchdog allows a minute. The skip comes after a quiet time."""
    for offset in range(10):
        began = monotonic()
        answer = Produced(client.ask(produce("t", timeout_ms=10 * 60_000)))
        assert monotonic() - began >= QUIET_S / 2  # loops round
        assert answer.partitions == {0: (REQUEST_TIMED_OUT, offset)}

    assert {entry.waited_ms for entry in kafka.journal.produce()} == {10 * 60_000}


def test_the_time_of_day_is_not_skipped(kafka: FakeCluster, client: RawClient) -> None:
    """The watchdog allows a minute, and ten minutes are skipped: monotonic time alone."""
    before_ms, before_wall_ms = kafka.clock.elapsed_ms, kafka.clock.wall_ms
    client.ask(produce("t", timeout_ms=10 * 60_000))

    assert kafka.clock.elapsed_ms - before_ms >= 10 * 60_000
    assert kafka.clock.wall_ms - before_wall_ms < 10 * 60_000


def test_an_idle_connection_is_not_closed_by_a_skip(kafka: FakeCluster, client: RawClient) -> None:
    with RawClient(kafka.endpoints[0]) as idle:  # connections.max.idle.ms is ten minutes
        idle.ask(metadata([]))
        client.ask(produce("t", timeout_ms=60 * 60_000))
        idle.ask(metadata([]))


def test_pipelined_requests_time_out_one_after_the_other(kafka: FakeCluster, client: RawClient) -> None:
    times = ProcessTimes()
    client.send(*(produce("t", timeout_ms=TIMEOUT_MS, correlation_id=number) for number in range(5)))
    answers = [Produced(client.receive()) for _ in range(5)]
    times.look()
    taken_ms = (times.waited_s() + times.ran_s()) * 1000

    assert [answer.correlation_id for answer in answers] == list(range(5))
    entries = kafka.journal.produce().expect("REQUEST_TIMED_OUT", count=5)
    # Each begins when the one before is answered; skipped to the millisecond, stamped up to one later. What makes it
    # later still is what the loop takes from there to the next request: it runs, or waits for a core.
    starts = [entry.handled_mono_ms for entry in entries]
    late_ms = [later - earlier - TIMEOUT_MS for earlier, later in pairwise(starts)]
    assert min(late_ms) >= 0
    assert sum(max(late - 1, 0) for late in late_ms) <= taken_ms


def test_a_lagging_follower_is_not_waited_for(kafka: FakeCluster, client: RawClient) -> None:
    kafka.followers.lag(100_000, "u")
    answer = Produced(client.ask(produce("u", timeout_ms=10 * 60_000)))

    assert answer.partitions == {0: (0, 0)}
    (entry,) = kafka.journal.produce(topic="u")
    assert entry.waited_ms == 100_000


def test_what_is_on_its_way_to_a_follower_comes_without_a_waiting_producer(
    kafka: FakeCluster, client: RawClient
) -> None:
    kafka.followers.lag(20_000, "u")
    client.ask(produce("u", acks=1))

    with RawClient(kafka.endpoints[0]) as consumer:
        assert b"v" in consumer.ask(fetch("u", max_wait_ms=25_000))


def test_a_throttled_client_is_soon_read_again(kafka: FakeCluster, client: RawClient) -> None:
    kafka.quotas.set(client_id="test", producer_byte_rate=20)
    answer = Produced(client.ask(produce("u", records=batch(b"x" * 2_000))))
    client.ask(metadata([]))  # its watchdog allows a minute

    assert answer.response.throttle_time.total_seconds() > 60


def test_the_time_of_an_idle_cluster_is_the_real_one(kafka: FakeCluster, client: RawClient) -> None:
    client.ask(produce("t", timeout_ms=TIMEOUT_MS))  # so much was skipped, and no more

    idle = threading.Event()
    assert not has_skipped(kafka, lambda: idle.wait(10 * QUIET_S))


def test_a_consumer_that_waits_is_no_reason(kafka: FakeCluster, client: RawClient) -> None:
    client.send(fetch("u", max_wait_ms=round(20 * QUIET_S * 1000)))

    assert not has_skipped(kafka, client.receive)


def test_a_script_is_no_reason(kafka: FakeCluster) -> None:
    kafka.followers.script([(500, "frozen"), (60_000, "instant")], "u")

    idle = threading.Event()
    assert not has_skipped(kafka, lambda: idle.wait(5 * QUIET_S))


def test_a_long_poll_is_not_ended_by_a_skip(kafka: FakeCluster, client: RawClient) -> None:
    with RawClient(kafka.endpoints[0]) as consumer:
        consumer.send(fetch("u", max_wait_ms=TIMEOUT_MS))
        wait_until(lambda: kafka.journal.requests(api="Fetch"), "the long poll")
        for _ in range(3):
            client.ask(produce("t", timeout_ms=TIMEOUT_MS))
        client.ask(produce("u"))

        assert b"v" in consumer.receive(), "it was ended, and empty"


def test_consumers_that_poll_every_few_milliseconds_do_not_hold_time_up(kafka: FakeCluster, client: RawClient) -> None:
    """The client's watchdog allows a minute. The consumers poll at least every other millisecond."""
    stop = threading.Event()

    def poll(max_wait_ms: int) -> None:
        with RawClient(kafka.endpoints[0]) as consumer:
            while not stop.is_set():
                consumer.ask(fetch("u", max_wait_ms=max_wait_ms))

    consumers = [threading.Thread(target=poll, args=(max_wait_ms,), daemon=True) for max_wait_ms in (1, 2, 3)]
    for consumer in consumers:
        consumer.start()
    wait_until(lambda: len(kafka.journal.requests(api="Fetch")) > 10, "the consumers")
    for _ in range(2):
        client.ask(produce("t", timeout_ms=10 * 60_000))
    stop.set()
    join(*consumers)


def skips_while_another_asks(kafka: FakeCluster) -> bool | None:
    """Return True if a request gets its response early while another client sends requests; None if the machine was too
    busy to show it."""
    kafka.journal.clear()
    with RawClient(kafka.endpoints[0]) as waiting, RawClient(kafka.endpoints[1]) as other:
        waiting.send(produce("t", timeout_ms=TIMEOUT_MS))
        asked_s = [monotonic()]
        while asked_s[-1] < asked_s[0] + 5 * QUIET_S:
            other.ask(metadata([]))
            asked_s.append(monotonic())
        answered = any(entry.error for entry in kafka.journal.produce())
        asked_s.append(monotonic())
    longest_s = max(later - earlier for earlier, later in pairwise(asked_s))
    return answered if longest_s < QUIET_S else None


def test_clients_at_work_hold_time_up(kafka: FakeCluster) -> None:
    outcomes = {skips_while_another_asks(kafka) for _ in range(5)}
    if outcomes == {None}:
        pytest.skip("the machine is too busy to keep a client at work")
    assert True not in outcomes


def test_a_client_that_has_not_read_its_answers_holds_time_up(kafka: FakeCluster, client: RawClient) -> None:
    client.ask(produce("u", records=batch(b"x" * 900_000)))
    with RawClient(kafka.endpoints[0]) as slow, RawClient(kafka.endpoints[0]) as other:
        count = 30
        slow.send(*(fetch("u") for _ in range(count)))
        wait_until(lambda: held_for(kafka) > 0, "an answer that waits for its client")
        other.send(produce("t", timeout_ms=TIMEOUT_MS))
        idle = threading.Event()
        went_on = has_skipped(kafka, lambda: idle.wait(10 * QUIET_S))
        for _ in range(count):
            slow.receive()

        assert not went_on
        assert Produced(other.receive()).partitions == {0: (REQUEST_TIMED_OUT, 0)}


def held_for(kafka: FakeCluster) -> int:
    """Return the bytes that clients have not read yet."""
    server = kafka._cluster.server.driver
    return kafka._call(lambda: sum(transport.get_write_buffer_size() for transport in server.transports.values()))


def test_housekeeping_is_done_on_the_way() -> None:
    """The ISR shrinks at its time, and completes the request."""
    with FakeCluster(clock="auto") as kafka, RawClient(kafka.endpoints[0]) as client:
        kafka.create_topic("t")
        kafka.followers.freeze("t")
        answer = Produced(client.ask(produce("t", timeout_ms=120_000)))
        (entry,) = kafka.journal.produce()

    assert answer.partitions == {0: (0, 0)}
    assert entry.waited_ms is not None
    assert 30_000 < entry.waited_ms <= 45_000


def test_each_skip_ends_when_a_response_is_sent(kafka: FakeCluster) -> None:
    clients = [RawClient(kafka.endpoints[0]) for _ in range(4)]
    for number, client in enumerate(clients, 1):
        client.send(produce("t", timeout_ms=number * 10_000))
    for client in clients:
        client.receive()
        client.socket.close()

    answered = sorted(entry.answered_mono_ms or 0 for entry in kafka.journal.produce())
    fired = {event.mono_ms: event.woken_mono_ms for event in kafka.journal if isinstance(event, TimerFired)}
    assert {entry.waited_ms for entry in kafka.journal.produce()} == {10_000, 20_000, 30_000, 40_000}
    assert set(answered) <= set(fired)
    # The skip ended there: the next deadline is 10 s later. Real time goes on besides, more so on a busy machine.
    assert all(0 <= fired[at_ms] - at_ms < 5_000 for at_ms in answered), (answered, fired)


def test_time_may_be_moved_by_hand_as_well(kafka: FakeCluster) -> None:
    before = kafka.clock.elapsed_ms
    kafka.clock.advance(3_600_000)

    assert kafka.clock.elapsed_ms - before >= 3_600_000
    assert kafka.clock.advance_to_next_deadline() is None


def test_a_deadline_after_a_skip_comes_in_real_time(kafka: FakeCluster, client: RawClient) -> None:
    """The loop's timer was armed for another time."""
    client.ask(produce("t", timeout_ms=TIMEOUT_MS))
    started = monotonic()
    client.ask(fetch("u", max_wait_ms=100))

    assert monotonic() - started >= 0.1


def test_a_cluster_stops_while_a_request_waits(new_loop: NewLoop) -> None:
    for _ in range(5):
        with FakeCluster(clock="auto") as kafka:
            kafka.create_topic("t")
            kafka.followers.freeze("t")
            with RawClient(kafka.endpoints[0]) as client:
                client.send(produce("t", timeout_ms=TIMEOUT_MS))
