"""`FakeCluster` and `AsyncFakeCluster`, over real sockets, on uvloop and on plain asyncio."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

import pytest
from support.messages import decode_response
from support.ports import free_ports, is_open
from support.raw_client import RawClient
from support.requests import METADATA, Produced, batch, fetch, metadata, produce
from support.watchdog import LIMIT_S, join, wait_until, within

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server import fake_cluster, loops

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
NewLoop = Callable[[], asyncio.AbstractEventLoop]

REQUEST_TIMED_OUT = 7
MESSAGE_TOO_LARGE = 10
NEVER_MS = 60_000

LOOPS: dict[str, NewLoop] = {"asyncio": asyncio.new_event_loop}
if loops.NAME == "uvloop":
    LOOPS["uvloop"] = loops.new_event_loop


for new_event_loop in LOOPS.values():
    new_event_loop().close()  # the first loop of its kind opens files that stay open


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/dev/fd"))


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    before = open_files()
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "fakebroker"] == []
    assert open_files() == before


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS))
def new_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> NewLoop:
    """The event loop of this run, for both kinds of cluster."""
    made: NewLoop = request.param
    monkeypatch.setattr(fake_cluster, "new_event_loop", made)
    return made


@pytest.fixture
def kafka(new_loop: NewLoop) -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        yield cluster


def run(new_loop: NewLoop, work: Callable[[], Awaitable[T]]) -> T:
    """Run the work on a loop of this kind, under the watchdog."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(within(work()))


def ask(endpoint: NodeEndpoint, frame: bytes) -> bytes:
    with RawClient(endpoint) as client:
        return client.ask(frame)


def produced(endpoint: NodeEndpoint, partition: int = 0, topic: str = "t", timeout_ms: int = 50) -> tuple[int, int]:
    """Return (error, base offset) of an acks=all produce on a separate connection."""
    return Produced(ask(endpoint, produce(topic, partition, timeout_ms=timeout_ms))).partitions[partition]


async def produced_async(endpoint: NodeEndpoint, timeout_ms: int = 50) -> tuple[int, int]:
    return await asyncio.to_thread(produced, endpoint, timeout_ms=timeout_ms)


def is_refused(endpoint: NodeEndpoint) -> bool:
    return not is_open(endpoint.port, endpoint.host)


# Starting and stopping.


def test_every_broker_of_a_cluster_answers(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=3)

    assert [produced(endpoint, i) for i, endpoint in enumerate(kafka.endpoints)] == [(0, 0)] * 3


def test_bootstrap_servers_are_the_endpoints(kafka: FakeCluster) -> None:
    assert kafka.bootstrap_servers == ",".join(f"127.0.0.1:{endpoint.port}" for endpoint in kafka.endpoints)


def test_metadata_tells_the_endpoints(kafka: FakeCluster) -> None:
    _, answer = decode_response(METADATA, 12, ask(kafka.endpoints[0], metadata([])))

    brokers = [(broker.node_id, broker.host, broker.port) for broker in answer.brokers]
    assert brokers == [(endpoint.node_id, endpoint.host, endpoint.port) for endpoint in kafka.endpoints]


def test_no_port_listens_after_stop(new_loop: NewLoop) -> None:
    with FakeCluster() as cluster:
        endpoints = cluster.endpoints

    assert all(is_refused(endpoint) for endpoint in endpoints)


def test_a_cluster_that_starts_again_is_empty(new_loop: NewLoop) -> None:
    cluster = FakeCluster(brokers=1)
    for _ in range(2):
        with cluster:
            cluster.create_topic("t")  # would raise if it were there
            assert produced(cluster.endpoints[0]) == (0, 0)


def test_a_cluster_starts_again_on_the_ports_it_had(new_loop: NewLoop) -> None:
    with FakeCluster(brokers=1) as first:
        port = first.endpoints[0].port
        with RawClient(first.endpoints[0]) as client:
            client.ask(metadata([]))
            first.stop()  # with a connection open: the port lingers in TIME_WAIT
            with FakeCluster(brokers=1, port=port) as second:
                assert second.endpoints[0].port == port


def test_stopping_twice_is_stopping_once(new_loop: NewLoop) -> None:
    cluster = FakeCluster(brokers=1)
    cluster.start()
    cluster.stop()
    cluster.stop()


def test_stopping_what_never_started_is_nothing() -> None:
    FakeCluster().stop()


def test_starting_twice_is_refused(kafka: FakeCluster) -> None:
    with pytest.raises(RuntimeError, match="the cluster is running already"):
        kafka.start()


def test_the_thread_ends_when_the_block_raises(new_loop: NewLoop) -> None:
    with pytest.raises(ZeroDivisionError), FakeCluster():
        _ = 1 / 0


@pytest.mark.parametrize(
    "use",
    [
        lambda cluster: cluster.endpoints,
        lambda cluster: cluster.bootstrap_servers,
        lambda cluster: cluster.create_topic("t"),
        lambda cluster: cluster.alter_topic_configs("t", {}),
        lambda cluster: cluster.alter_broker_configs({}),
        lambda cluster: cluster.followers.freeze(),
    ],
    ids=["endpoints", "bootstrap_servers", "create_topic", "topic configs", "broker configs", "followers"],
)
@pytest.mark.parametrize("kind", [FakeCluster, AsyncFakeCluster])
def test_a_cluster_that_does_not_run_says_so(kind: type, use: Callable[[Any], object]) -> None:
    with pytest.raises(RuntimeError, match="the cluster is not running: use it in a `with` block, or call start"):
        use(kind())


def answer_to(kafka: FakeCluster, size: int) -> int:
    """Return the error code of the response to a record of so many bytes."""
    with RawClient(kafka.endpoints[0]) as client:
        ((error, _),) = Produced(client.ask(produce("t", records=batch(bytes(size))))).partitions.values()
    return error


def test_settings_are_altered_while_it_runs() -> None:
    with FakeCluster(config={"message.max.bytes": 5_000}) as kafka:
        kafka.create_topic("t")
        assert answer_to(kafka, 2_000) == 0
        kafka.alter_topic_configs("t", {"max.message.bytes": 1_000})
        assert (answer_to(kafka, 2_000), answer_to(kafka, 500)) == (MESSAGE_TOO_LARGE, 0)
        kafka.alter_topic_configs("t", {"max.message.bytes": None})
        kafka.alter_broker_configs({"message.max.bytes": 9_000})
        assert answer_to(kafka, 8_000) == 0
        kafka.alter_broker_configs({"message.max.bytes": None})
        assert answer_to(kafka, 8_000) == MESSAGE_TOO_LARGE


def test_the_ports_of_brokers_are_in_a_row(new_loop: NewLoop) -> None:
    port = free_ports(3)
    with FakeCluster(brokers=3, port=port) as cluster:
        assert [endpoint.port for endpoint in cluster.endpoints] == [port, port + 1, port + 2]


def test_a_port_in_use_raises_and_leaves_nothing_open(new_loop: NewLoop) -> None:
    first = free_ports(3)
    with socket.create_server(("127.0.0.1", first + 2)):
        with pytest.raises(OSError, match="in use"):
            FakeCluster(brokers=3, port=first).start()

        assert is_refused(NodeEndpoint(1, "127.0.0.1", first))


def test_a_cluster_whose_port_was_in_use_can_start_later(new_loop: NewLoop) -> None:
    port = free_ports(1)
    cluster = FakeCluster(brokers=1, port=port)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="in use"):
        cluster.start()

    with cluster:
        assert cluster.endpoints[0].port == port


def test_a_loop_that_cannot_be_made_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_loop() -> asyncio.AbstractEventLoop:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(fake_cluster, "new_event_loop", no_loop)
    cluster = FakeCluster()
    failed: list[BaseException] = []

    def start() -> None:
        try:
            cluster.start()
        except OSError as error:
            failed.append(error)

    starter = threading.Thread(target=start, daemon=True)
    starter.start()
    join(starter)
    assert [str(error) for error in failed] == ["[Errno 24] Too many open files"]


@pytest.mark.parametrize("kind", [FakeCluster, AsyncFakeCluster])
@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"brokers": 0}, ValueError, "a cluster has 1 to 100 brokers, not 0"),
        ({"brokers": 101}, ValueError, "a cluster has 1 to 100 brokers, not 101"),
        ({"port": -1}, ValueError, "port -1 leaves no room for 3 brokers: use 0, or 1 to 65533"),
        ({"port": 65_534}, ValueError, "port 65534 leaves no room for 3 brokers: use 0, or 1 to 65533"),
        ({"followers": "asleep"}, ValueError, r"followers are 'instant', 'lagging:MS' .*, not 'asleep'"),
        ({"config": {"no.such": 1}}, KafkaError, r"Unknown configuration 'no.such'\. `fakebroker configs` lists them."),
        (
            {"config": {"num.partition": 1}},
            KafkaError,
            r"Unknown configuration 'num.partition'\. Near to it: num.partitions.*",
        ),
        ({"config": {"num.partitions": "x"}}, KafkaError, "Invalid value x for configuration num.partitions: .*"),
        ({"config": {"num.partitions": 0}}, KafkaError, "Invalid value 0 for configuration num.partitions: .*"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_bad_argument_is_refused_in_one_sentence(
    kind: type, arguments: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^{sentence}$"):
        kind(**arguments)


def test_the_largest_port_leaves_room_for_all_brokers() -> None:
    FakeCluster(brokers=3, port=65_533)


# Stopping with requests in hand.


def test_stop_closes_a_connection_whose_request_is_parked(new_loop: NewLoop) -> None:
    with FakeCluster(followers="frozen") as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.send(produce("t", acks=1), produce("t", timeout_ms=NEVER_MS))
        client.receive()  # so the next one is in hand
        cluster.stop()

        assert client.is_closed_by_broker()


def test_stop_closes_a_connection_that_takes_no_answers(new_loop: NewLoop) -> None:
    with FakeCluster(brokers=1) as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.ask(produce("t", records=batch(b"x" * 900_000)))
        client.send(*(fetch("t") for _ in range(20)))
        client.receive()
        cluster.stop()

        assert answers_until_it_is_closed(client) < 20


def answers_until_it_is_closed(client: RawClient) -> int:
    for count in range(1_000):
        try:
            client.receive()
        except (EOFError, ConnectionResetError):
            return count
    raise AssertionError("the broker sends and sends")


@pytest.mark.parametrize("turns", range(6))
def test_stop_closes_a_connection_that_has_just_come(new_loop: NewLoop, turns: int) -> None:
    async def work() -> bool:
        async with AsyncFakeCluster(brokers=1) as cluster:
            with RawClient(cluster.endpoints[0]) as client:
                for _ in range(turns):
                    await asyncio.sleep(0)
                await cluster.stop()
                for _ in range(5):
                    await asyncio.sleep(0)
                return await asyncio.to_thread(client.is_closed_by_broker)

    assert run(new_loop, work)


# AsyncFakeCluster on the loop of its user.


def test_an_async_cluster_serves_on_the_running_loop(new_loop: NewLoop) -> None:
    async def work() -> tuple[int, int]:
        async with AsyncFakeCluster(brokers=1) as cluster:
            cluster.create_topic("t")
            return await produced_async(cluster.endpoints[0])

    assert run(new_loop, work) == (0, 0)


def test_an_async_cluster_starts_again_empty(new_loop: NewLoop) -> None:
    async def work() -> list[tuple[int, int]]:
        cluster = AsyncFakeCluster(brokers=1)
        answers = []
        for _ in range(2):
            async with cluster:
                cluster.create_topic("t")
                answers.append(await produced_async(cluster.endpoints[0]))
        return answers

    assert run(new_loop, work) == [(0, 0), (0, 0)]


def test_starting_an_async_cluster_twice_is_refused(new_loop: NewLoop) -> None:
    async def work() -> None:
        async with AsyncFakeCluster(brokers=1) as cluster:
            await cluster.start()

    with pytest.raises(RuntimeError, match="the cluster is running already"):
        run(new_loop, work)


def test_a_frozen_async_cluster_answers_request_timed_out(new_loop: NewLoop) -> None:
    async def work() -> tuple[int, int]:
        async with AsyncFakeCluster(followers="frozen") as cluster:
            cluster.create_topic("t")
            return await produced_async(cluster.endpoints[0])

    assert run(new_loop, work) == (REQUEST_TIMED_OUT, 0)


def test_two_clusters_share_a_loop(new_loop: NewLoop) -> None:
    async def work() -> list[tuple[int, int]]:
        async with AsyncFakeCluster(brokers=1) as one, AsyncFakeCluster(brokers=3, followers="frozen") as other:
            one.create_topic("t")
            other.create_topic("t")
            return [await produced_async(cluster.endpoints[0]) for cluster in (one, other)]

    assert run(new_loop, work) == [(0, 0), (REQUEST_TIMED_OUT, 0)]


# Topics.


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ({"name": "t"}, 36, "Topic 't' already exists."),
        ({"name": "a b"}, 17, "Topic name is invalid: 'a b' contains"),
        ({"name": "n", "partitions": 0}, 37, "Number of partitions was set to an invalid"),
        ({"name": "n", "replication_factor": 4}, 38, r"Unable to replicate the partition 4 time\(s\)"),
        ({"name": "n", "configs": {"no.such": 1}}, 40, "Unknown topic config name: no.such"),
        ({"name": "n", "configs": {"min.insync.replicas": 0}}, 40, "Value must be at least 1"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_topic_that_cannot_be_made_raises_kafkas_error(
    kafka: FakeCluster, arguments: dict[str, Any], code: int, message: str
) -> None:
    kafka.create_topic("t")
    with pytest.raises(KafkaError, match=message) as raised:
        kafka.create_topic(**arguments)

    assert raised.value.code == code


def test_settings_may_be_numbers_and_booleans(new_loop: NewLoop) -> None:
    with FakeCluster(config={"auto.create.topics.enable": True, "num.partitions": 4}) as cluster:
        cluster.create_topic("t", configs={"min.insync.replicas": 2, "preallocate": False})

        assert produced(cluster.endpoints[0], 3) == (0, 0)


# Followers: partition p is led by broker p + 1, its followers are the two others.


@pytest.fixture
def frozen_in(kafka: FakeCluster) -> Callable[[str], list[bool]]:
    """Return a function that says for each partition of topic "t" or "u" whether acks=all times out."""
    kafka.create_topic("t", partitions=3)
    kafka.create_topic("u", partitions=3)
    endpoints = kafka.endpoints

    def ask_each(topic: str) -> list[bool]:
        codes = [produced(endpoint, p, topic)[0] for p, endpoint in enumerate(endpoints)]
        assert set(codes) <= {0, REQUEST_TIMED_OUT}
        return [code == REQUEST_TIMED_OUT for code in codes]

    return ask_each


FrozenIn = Callable[[str], list[bool]]


def test_freeze_holds_everywhere(kafka: FakeCluster, frozen_in: FrozenIn) -> None:
    kafka.followers.freeze()

    assert (frozen_in("t"), frozen_in("u")) == ([True] * 3, [True] * 3)


def test_freeze_holds_for_topics_made_later(kafka: FakeCluster) -> None:
    kafka.followers.freeze()
    kafka.create_topic("later")

    assert produced(kafka.endpoints[0], topic="later") == (REQUEST_TIMED_OUT, 0)


def test_freeze_holds_for_a_topic(kafka: FakeCluster, frozen_in: FrozenIn) -> None:
    kafka.followers.freeze("t")

    assert (frozen_in("t"), frozen_in("u")) == ([True] * 3, [False] * 3)


def test_freeze_holds_for_a_partition(kafka: FakeCluster, frozen_in: FrozenIn) -> None:
    kafka.followers.freeze("t", partition=1)

    assert (frozen_in("t"), frozen_in("u")) == ([False, True, False], [False] * 3)


def test_freeze_holds_for_a_broker_where_it_follows(kafka: FakeCluster, frozen_in: FrozenIn) -> None:
    kafka.followers.freeze(broker=2)

    assert (frozen_in("t"), frozen_in("u")) == ([True, False, True], [True, False, True])


def test_freeze_holds_for_a_broker_of_a_partition(kafka: FakeCluster, frozen_in: FrozenIn) -> None:
    kafka.followers.freeze("t", partition=0, broker=3)

    assert (frozen_in("t"), frozen_in("u")) == ([True, False, False], [False] * 3)


@pytest.mark.parametrize("undo", ["resume", "instant"])
def test_freezing_is_undone(kafka: FakeCluster, frozen_in: FrozenIn, undo: str) -> None:
    kafka.followers.freeze()
    getattr(kafka.followers, undo)()

    assert frozen_in("t") == [False] * 3


def test_resume_of_one_partition_leaves_the_others_frozen(kafka: FakeCluster, frozen_in: FrozenIn) -> None:
    kafka.followers.freeze()
    kafka.followers.resume("t", partition=0)

    assert frozen_in("t") == [False, True, True]


@pytest.mark.parametrize("undo", ["resume", "instant"])
def test_a_parked_request_is_answered_when_followers_resume(kafka: FakeCluster, undo: str) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    with RawClient(kafka.endpoints[0]) as client:
        client.send(produce("t", acks=1), produce("t", timeout_ms=NEVER_MS))
        client.receive()  # so the next one is in hand
        getattr(kafka.followers, undo)("t")

        assert Produced(client.receive()).partitions == {0: (0, 1)}


def test_a_lag_shorter_than_the_timeout_is_waited_for(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.lag(30, "t")

    assert produced(kafka.endpoints[0], timeout_ms=NEVER_MS) == (0, 0)


def test_a_lag_longer_than_the_timeout_times_out(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.lag(NEVER_MS, "t")

    assert produced(kafka.endpoints[0]) == (REQUEST_TIMED_OUT, 0)


def test_a_lag_is_what_resume_goes_back_to(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.lag(NEVER_MS, "t")
    kafka.followers.freeze("t")
    kafka.followers.resume("t")

    assert produced(kafka.endpoints[0]) == (REQUEST_TIMED_OUT, 0)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"topic": "nobody"}, "topic='nobody': there is no such topic, or nothing of it has a second replica."),
        (
            {"topic": "t", "partition": 9},
            "topic='t', partition=9: there is no such partition, or nothing of it has a second replica.",
        ),
        (
            {"topic": "t", "broker": 1},
            "topic='t', broker=1: there is no such topic, or nothing of it has a replica there that follows.",
        ),
        ({"broker": 9}, "broker=9: there is no such broker."),
    ],
    ids=str,
)
@pytest.mark.parametrize("change", ["freeze", "instant", "resume"])
def test_a_followers_change_that_matches_nothing_is_refused(
    kafka: FakeCluster, change: str, chosen: dict[str, Any], sentence: str
) -> None:
    kafka.create_topic("t", partitions=1)

    with pytest.raises(KafkaError, match=f"^No follower has {re.escape(sentence)}$"):
        getattr(kafka.followers, change)(**chosen)


@pytest.mark.parametrize("lag_ms", [-1, 2**31])
def test_a_lag_that_cannot_be_is_refused(kafka: FakeCluster, lag_ms: int) -> None:
    with pytest.raises(ValueError, match=f"^a lag is 0 to 2147483647 ms, not {lag_ms}$"):
        kafka.followers.lag(lag_ms)


@pytest.mark.parametrize("step", [5, "ab", (0,), (0, "frozen", "t"), None], ids=str)
def test_a_step_of_a_script_that_is_no_pair_is_refused(kafka: FakeCluster, step: Any) -> None:
    with pytest.raises(TypeError, match=r"^a step of a script must be \(milliseconds, behaviour\), as in .*, not "):
        kafka.followers.script([(0, "frozen"), step])


@pytest.mark.parametrize("text", [5, None, ["frozen"]], ids=str)
def test_a_step_that_names_no_behaviour_is_refused(kafka: FakeCluster, text: Any) -> None:
    with pytest.raises(ValueError, match=r"^followers are 'instant', .*, not "):
        kafka.followers.script([(0, "frozen"), (5, text)])


# Back-pressure. A client sends much and reads nothing; what the broker holds for it stays small.

SMALL_BYTES = 4 << 20


def held_for_clients(kafka: FakeCluster) -> int:
    """Return the bytes of unhandled requests and unsent responses, in the thread of the broker."""
    server = kafka._cluster.server.driver
    return kafka._call(
        lambda: sum(
            connection.decoder.buffered + transport.get_write_buffer_size()
            for connection, transport in server.transports.items()
        )
    )


def send_until_it_is_not_taken(client: RawClient, frame: bytes, limit_bytes: int) -> int:
    """Send until the broker has read nothing for a while; return the bytes that were sent."""
    sent = 0
    client.socket.settimeout(0.3)
    try:
        while sent < limit_bytes:
            sent += client.socket.send(frame)
    except TimeoutError:
        pass
    return sent


def test_what_is_sent_behind_a_parked_request_stays_in_the_clients_socket(new_loop: NewLoop) -> None:
    with FakeCluster(followers="frozen") as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.send(produce("t", timeout_ms=NEVER_MS))
        behind = produce("t", acks=1, records=batch(b"x" * 100_000))
        sent = send_until_it_is_not_taken(client, behind, 64 << 20)

        assert sent < 64 << 20
        assert held_for_clients(cluster) < SMALL_BYTES


def test_a_client_that_reads_no_answers_is_not_read_either(new_loop: NewLoop) -> None:
    with FakeCluster(brokers=1) as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.ask(produce("t", records=batch(b"x" * 1000)))
        frame = fetch("t")
        sent = send_until_it_is_not_taken(client, frame * 1000, 64 << 20)

        assert sent < 64 << 20
        assert held_for_clients(cluster) < SMALL_BYTES


def test_answers_to_many_small_requests_are_not_all_held_at_once(new_loop: NewLoop) -> None:
    with FakeCluster(brokers=1) as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.ask(produce("t", records=batch(b"x" * 900_000)))
        client.send(*(fetch("t") for _ in range(100)))  # 8 kB that ask for 90 MB
        wait_until(lambda: held_for_clients(cluster) > 0, "an answer that waits for the client")

        assert held_for_clients(cluster) < SMALL_BYTES


def test_a_client_that_reads_again_gets_every_answer(new_loop: NewLoop) -> None:
    count = 60
    with FakeCluster(brokers=1) as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.ask(produce("t", records=batch(b"x" * 300_000)))
        client.send(*(fetch("t", correlation_id=i) for i in range(count)))
        wait_until(lambda: held_for_clients(cluster) > 0, "an answer that waits for the client")

        answers = [int.from_bytes(client.receive()[:4], "big") for _ in range(count)]
    assert answers == list(range(count))


def test_a_client_that_reads_nothing_stalls_no_other_client(new_loop: NewLoop) -> None:
    with FakeCluster(brokers=1) as cluster, RawClient(cluster.endpoints[0]) as client:
        cluster.create_topic("t")
        client.ask(produce("t", records=batch(b"x" * 300_000)))
        client.send(*(fetch("t") for _ in range(100)))
        wait_until(lambda: held_for_clients(cluster) > 0, "an answer that waits for the client")

        assert produced(cluster.endpoints[0]) == (0, 1)


# Threads that use a cluster while another stops it.

NOT_RUNNING = "the cluster is not running: use it in a `with` block, or call start()"


def test_a_call_that_meets_a_stop_is_answered_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    closing, called = threading.Event(), threading.Event()
    slow: list[threading.Thread] = []

    class Loop(asyncio.SelectorEventLoop):
        """A loop in which the slow thread's call comes after the last turn, unless that is prevented."""

        def call_soon_threadsafe(
            self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
        ) -> asyncio.Handle:
            if threading.current_thread() not in slow:
                return super().call_soon_threadsafe(callback, *args, context=context)
            called.set()
            closing.wait(0.3)
            return super().call_soon_threadsafe(callback, *args, context=context)

        def close(self) -> None:
            closing.set()
            if slow:
                slow[0].join(0.3)
            super().close()

    monkeypatch.setattr(fake_cluster, "new_event_loop", Loop)
    cluster = FakeCluster(brokers=1)
    outcomes: list[str] = []

    def call() -> None:
        try:
            outcomes.append(f"{len(cluster.endpoints)} broker")
        except RuntimeError as error:
            outcomes.append(str(error))

    with cluster:
        slow.append(threading.Thread(target=call, daemon=True))
        slow[0].start()
        called.wait(LIMIT_S)
    join(slow[0])
    assert outcomes in (["1 broker"], [NOT_RUNNING])


def test_threads_that_call_while_the_cluster_stops_are_refused(new_loop: NewLoop) -> None:
    for _ in range(10):
        cluster = FakeCluster(brokers=1)
        refused: list[str] = []

        def call(cluster: FakeCluster = cluster, refused: list[str] = refused) -> None:
            try:
                while True:
                    assert cluster.bootstrap_servers
            except RuntimeError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=call, daemon=True) for _ in range(3)]
        with cluster:
            for thread in threads:
                thread.start()
        join(*threads)
        assert refused == [NOT_RUNNING] * 3


def test_threads_may_stop_a_cluster_at_once(new_loop: NewLoop) -> None:
    cluster = FakeCluster(brokers=1)
    for _ in range(5):
        cluster.start()
        endpoint = cluster.endpoints[0]
        threads = [threading.Thread(target=cluster.stop, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        join(*threads)
        assert is_refused(endpoint)
