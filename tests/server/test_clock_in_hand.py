"""`kafka.clock`: a clock that only the test moves, over real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from time import monotonic, time
from typing import Any

import pytest
from support.event_loops import LOOPS, NewLoop
from support.raw_client import RawClient
from support.requests import Produced, batch, fetch, metadata, produce
from support.watchdog import LIMIT_S, join, until, wait_until, within

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.core.journal.events import Answer, Parked, Request
from fakebroker.server import fake_cluster
from fakebroker.server.clock_in_hand import MAX_ADVANCE_MS

REQUEST_TIMED_OUT = 7
TIMEOUT_MS = 30_000
ROUNDED_MS = 1
STARTED_MS = time() * 1000

# So that the ISR stays, and nothing but what the test does moves the time.
LONG_LAG = {"replica.lag.time.max.ms": 2**31 - 1}


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS), autouse=True)
def new_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> NewLoop:
    made: NewLoop = request.param
    monkeypatch.setattr(fake_cluster, "new_event_loop", made)
    return made


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    """Return a cluster with a frozen topic "t"."""
    with FakeCluster(clock="manual", config=LONG_LAG) as cluster:
        cluster.create_topic("t")
        cluster.followers.freeze("t")
        yield cluster


@pytest.fixture
def client(kafka: FakeCluster) -> Iterator[RawClient]:
    with RawClient(kafka.endpoints[0]) as raw:
        yield raw


def park(kafka: FakeCluster, client: RawClient, *frames: bytes) -> None:
    """Send requests, and wait until the first one waits for its time."""
    before = events(kafka, Parked)
    client.send(*frames or (produce("t", timeout_ms=TIMEOUT_MS),))
    wait_until(lambda: events(kafka, Parked) > before, "a request that waits")


def events(kafka: FakeCluster, kind: type) -> int:
    return sum(isinstance(event, kind) for event in kafka.journal)


def received_without_waiting(client: RawClient) -> bytes:
    """Return the frame that has arrived; b"" if there is none."""
    client.socket.setblocking(False)
    try:
        return client.socket.recv(65_536)[4:]
    except BlockingIOError:
        return b""
    finally:
        client.socket.settimeout(LIMIT_S)


def test_a_manual_clock_does_not_move_while_requests_are_handled(kafka: FakeCluster, client: RawClient) -> None:
    park(kafka, client, produce("t", timeout_ms=1))
    for _ in range(20):
        with RawClient(kafka.endpoints[0]) as other:
            other.ask(metadata([]))

    assert received_without_waiting(client) == b""
    assert kafka.clock.elapsed_ms == 0


def test_the_answer_is_there_when_advance_returns(kafka: FakeCluster, client: RawClient) -> None:
    for offset in range(20):
        park(kafka, client)
        kafka.clock.advance(TIMEOUT_MS)

        assert Produced(received_without_waiting(client)).partitions == {0: (REQUEST_TIMED_OUT, offset)}


def test_a_request_waits_until_its_last_millisecond(kafka: FakeCluster, client: RawClient) -> None:
    park(kafka, client)
    kafka.clock.advance(TIMEOUT_MS - 1)
    before = received_without_waiting(client)
    kafka.clock.advance(1)

    assert before == b""
    assert received_without_waiting(client) != b""


def test_each_deadline_has_its_own_time(kafka: FakeCluster, client: RawClient) -> None:
    """Pipelined requests time out one after the other, at T, 2T and 3T of one advance."""
    frames = [produce("t", timeout_ms=TIMEOUT_MS, correlation_id=number) for number in range(3)]
    park(kafka, client, *frames)
    wait_until(lambda: len(kafka.journal.requests(api="Produce")) == 1, "the first one")
    kafka.clock.advance(3 * TIMEOUT_MS)
    answered = [Produced(client.receive()).partitions[0] for _ in frames]

    assert answered == [(REQUEST_TIMED_OUT, offset) for offset in range(3)]
    waits = [(entry.handled_mono_ms, entry.waited_ms) for entry in kafka.journal.produce()]
    assert waits == [(TIMEOUT_MS * number, TIMEOUT_MS) for number in range(3)]


def test_what_is_lagging_has_come_when_advance_returns(kafka: FakeCluster, client: RawClient) -> None:
    kafka.followers.lag(200, "t")
    park(kafka, client)
    kafka.clock.advance(199)
    before = received_without_waiting(client)
    kafka.clock.advance(1)

    assert before == b""
    assert Produced(received_without_waiting(client)).partitions == {0: (0, 0)}


def test_a_lag_of_0_needs_no_advance(kafka: FakeCluster, client: RawClient) -> None:
    kafka.followers.lag(0, "t")

    assert Produced(client.ask(produce("t", timeout_ms=TIMEOUT_MS))).partitions == {0: (0, 0)}


def test_the_next_deadline_is_that_of_what_is_pending(kafka: FakeCluster, client: RawClient) -> None:
    """The next deadline is not that of the ISR check, which comes every half of replica.lag.time.max.ms."""
    with FakeCluster(clock="manual", config={"replica.lag.time.max.ms": 1_000}) as other:
        other.create_topic("t", configs={"min.insync.replicas": 3})
        other.followers.freeze("t")
        with RawClient(other.endpoints[0]) as its_client:
            park(other, its_client)

            assert other.clock.advance_to_next_deadline() == TIMEOUT_MS
            assert Produced(received_without_waiting(its_client)).partitions == {0: (REQUEST_TIMED_OUT, 0)}
            assert other.clock.elapsed_ms == TIMEOUT_MS


def test_deadlines_come_one_by_one(kafka: FakeCluster, client: RawClient) -> None:
    park(kafka, client, produce("t", timeout_ms=700), produce("t", timeout_ms=200))
    with RawClient(kafka.endpoints[0]) as other, RawClient(kafka.endpoints[0]) as consumer:
        park(kafka, other, produce("t", timeout_ms=300))
        park(kafka, consumer, fetch("t", max_wait_ms=800))
        kafka.followers.script([(850, "frozen"), (1_000, "frozen")], "t")

        went = [kafka.clock.advance_to_next_deadline() for _ in range(7)]
    assert went == [300, 400, 100, 50, 50, 100, None]
    assert kafka.clock.elapsed_ms == 1_000


def test_without_a_deadline_no_time_passes(kafka: FakeCluster, client: RawClient) -> None:
    client.ask(metadata([]))

    assert kafka.clock.advance_to_next_deadline() is None
    assert kafka.clock.elapsed_ms == 0


def test_a_throttled_connection_is_a_deadline(kafka: FakeCluster, client: RawClient) -> None:
    kafka.followers.instant("t")
    kafka.quotas.set(client_id="test", producer_byte_rate=100)
    first = Produced(client.ask(produce("t", records=batch(b"x" * 2_000))))
    throttle_ms = first.response.throttle_time.total_seconds() * 1000
    client.send(metadata([]))

    assert throttle_ms > 0
    assert kafka.clock.advance_to_next_deadline() == throttle_ms
    assert client.receive()  # the connection is read again


def test_wall_time_goes_along(kafka: FakeCluster) -> None:
    before_ms = kafka.clock.wall_ms
    kafka.clock.advance(5_000)

    assert STARTED_MS - ROUNDED_MS <= before_ms <= time() * 1000
    assert kafka.clock.wall_ms == before_ms + 5_000


def test_records_with_timestamps_ahead_of_a_manual_clock_are_refused(kafka: FakeCluster, client: RawClient) -> None:
    """message.timestamp.after.max.ms, an hour: by the broker's clock."""
    invalid_timestamp = 32
    an_hour_ms = 3_600_000
    records = batch(timestamp_ms=kafka.clock.wall_ms + an_hour_ms + 1)
    answers = [client.ask(produce("t", acks=1, records=records))]
    kafka.clock.advance(1)
    answers.append(client.ask(produce("t", acks=1, records=records)))

    assert [Produced(answer).partitions[0][0] for answer in answers] == [invalid_timestamp, 0]


def test_what_has_arrived_is_handled_before(kafka: FakeCluster) -> None:
    for offset in range(30):
        with RawClient(kafka.endpoints[0]) as client:
            client.send(produce("t", timeout_ms=TIMEOUT_MS))
            assert kafka.clock.advance_to_next_deadline() == TIMEOUT_MS
            assert Produced(received_without_waiting(client)).partitions == {0: (REQUEST_TIMED_OUT, offset)}


def test_a_request_that_comes_after_an_advance_has_its_whole_time(kafka: FakeCluster, client: RawClient) -> None:
    kafka.clock.advance(10_000)
    park(kafka, client)
    kafka.clock.advance(TIMEOUT_MS - 1)
    before = received_without_waiting(client)
    kafka.clock.advance(1)

    assert (before, received_without_waiting(client) != b"") == (b"", True)


def test_requests_that_arrive_during_advances_lose_no_time(kafka: FakeCluster) -> None:
    """One thread produces, another advances the clock in small steps: each request waits exactly its timeout or a step
    longer."""
    answered = threading.Event()

    def work() -> None:
        with RawClient(kafka.endpoints[0]) as client:
            for _ in range(20):
                client.ask(produce("t", timeout_ms=1_000))
        answered.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while not answered.is_set():
        kafka.clock.advance(70)
    join(thread)

    assert {entry.waited_ms for entry in kafka.journal.produce()} == {1_000}


def test_threads_that_advance_at_once_add_up(kafka: FakeCluster) -> None:
    def work() -> None:
        for _ in range(50):
            kafka.clock.advance(3)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)

    assert kafka.clock.elapsed_ms == 600


def test_advance_by_0_does_what_is_due(kafka: FakeCluster) -> None:
    kafka.clock.advance(0)

    assert kafka.clock.elapsed_ms == 0


@pytest.mark.parametrize(
    ("ms", "error", "sentence"),
    [
        (-1, ValueError, f"a clock is advanced by 0 to {MAX_ADVANCE_MS} ms, not -1"),
        (MAX_ADVANCE_MS + 1, ValueError, "a clock is advanced by 0 to"),
        (1.5, TypeError, r"ms must be a whole number, not 1\.5"),
        ("30", TypeError, "ms must be a whole number, not '30'"),
        (None, TypeError, "ms must be a whole number, not None"),
        (True, TypeError, "ms must be a whole number, not True"),
    ],
)
def test_what_is_no_time_is_refused(kafka: FakeCluster, ms: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        kafka.clock.advance(ms)
    assert kafka.clock.elapsed_ms == 0


def test_a_month_may_pass(kafka: FakeCluster, client: RawClient) -> None:
    park(kafka, client)
    kafka.clock.advance(31 * 24 * 3_600_000)

    assert Produced(client.receive()).partitions == {0: (REQUEST_TIMED_OUT, 0)}


def test_the_real_clock_cannot_be_moved() -> None:
    before_s, before_wall_s = monotonic(), time()
    with FakeCluster() as cluster:
        for move in (lambda: cluster.clock.advance(1), cluster.clock.advance_to_next_deadline):
            with pytest.raises(RuntimeError, match=r'^the clock is real and cannot be moved: use clock="man'):
                move()
        assert cluster.clock.kind == "real"
        elapsed_ms, wall_ms = cluster.clock.elapsed_ms, cluster.clock.wall_ms
        assert 0 <= elapsed_ms <= (monotonic() - before_s) * 1000 + ROUNDED_MS
        assert before_wall_s * 1000 - ROUNDED_MS <= wall_ms <= time() * 1000 + ROUNDED_MS


@pytest.mark.parametrize("clock", ["manual", "real", "auto"])
def test_a_cluster_that_does_not_run_has_no_time(clock: str) -> None:
    cluster = FakeCluster(brokers=1, clock=clock)

    def is_told() -> None:
        for use in (
            lambda: cluster.clock.advance(1),
            cluster.clock.advance_to_next_deadline,
            lambda: cluster.clock.elapsed_ms,
            lambda: cluster.clock.wall_ms,
        ):
            with pytest.raises(RuntimeError, match="the cluster is not running"):
                use()

    is_told()
    with cluster:
        assert cluster.clock.kind == clock
    is_told()


def test_a_clock_that_does_not_exist_is_told() -> None:
    with pytest.raises(ValueError, match=r"^a clock is real, manual or auto, not 'fast'$"):
        FakeCluster(clock="fast")


def test_a_cluster_that_starts_again_starts_at_0() -> None:
    cluster = FakeCluster(brokers=1, clock="manual")
    for _ in range(2):
        with cluster:
            assert cluster.clock.elapsed_ms == 0
            cluster.clock.advance(100)


def test_an_advance_that_meets_a_stop_ends_or_is_refused() -> None:
    for _ in range(5):
        cluster = FakeCluster(brokers=1, clock="manual")
        outcomes: list[str] = []

        def work(cluster: FakeCluster = cluster, outcomes: list[str] = outcomes) -> None:
            try:
                while True:
                    cluster.clock.advance(1)
            except RuntimeError as error:
                outcomes.append(str(error))

        with cluster:
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
        join(thread)
        assert [outcome[:26] for outcome in outcomes] == ["the cluster is not running"]


def test_a_peer_that_does_not_read_does_not_hold_up_an_advance(kafka: FakeCluster) -> None:
    kafka.followers.instant("t")
    with RawClient(kafka.endpoints[0]) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.ask(produce("t", records=batch(b"x" * 900_000)))
        client.send(*(fetch("t") for _ in range(30)))
        wait_until(lambda: events(kafka, Answer) > 1, "an answer")
        kafka.clock.advance(1_000)

    assert kafka.clock.elapsed_ms == 1_000


def test_idle_connections_close_by_the_brokers_clock(kafka: FakeCluster, client: RawClient) -> None:
    client.ask(metadata([]))
    kafka.clock.advance(600_001)

    assert client.is_closed_by_broker()


def test_the_answer_is_there_when_an_await_returns(new_loop: NewLoop) -> None:
    """The client is in the loop's own thread, so nothing is written after that."""

    async def work() -> None:
        async with AsyncFakeCluster(clock="manual", config=LONG_LAG) as kafka:
            kafka.create_topic("t")
            kafka.followers.freeze("t")
            for offset in range(10):
                with RawClient(kafka.endpoints[0]) as client:
                    client.send(produce("t", timeout_ms=TIMEOUT_MS))
                    assert await kafka.clock.advance_to_next_deadline() == TIMEOUT_MS
                    assert Produced(received_without_waiting(client)).partitions == {0: (REQUEST_TIMED_OUT, offset)}

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(work()))


def test_a_loop_of_ones_own(new_loop: NewLoop) -> None:
    async def work() -> None:
        async with AsyncFakeCluster(clock="manual", config=LONG_LAG) as kafka:
            kafka.create_topic("t")
            kafka.followers.freeze("t")
            endpoint = kafka.endpoints[0]
            reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
            writer.write(produce("t", timeout_ms=TIMEOUT_MS))
            await until(lambda: any(isinstance(event, Request) for event in kafka.journal), "the request")
            assert await kafka.clock.advance_to_next_deadline() == TIMEOUT_MS
            size = int.from_bytes(await reader.readexactly(4), "big")
            assert Produced(await reader.readexactly(size)).partitions == {0: (REQUEST_TIMED_OUT, 0)}
            assert kafka.clock.elapsed_ms == TIMEOUT_MS
            kafka.journal.produce(topic="t").expect("REQUEST_TIMED_OUT", count=1)
            writer.close()
            await writer.wait_closed()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(work()))
