"""A change of `listeners` while a broker runs, over sockets: the ports (server/listeners.py)."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from support.messages import decode_response
from support.ports import free_ports, is_open
from support.raw_client import RawClient
from support.requests import METADATA, metadata, request
from support.watchdog import LIMIT_S, until, wait_until, within

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server import fake_cluster, listeners, loops
from fakebroker.server.running.one_port import Port
from fakebroker.server.turn.turns import turns

INCREMENTAL_ALTER_CONFIGS, BROKER = 44, 4
PROTOCOLS = "PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT,OTHER:SSL,LOGIN:SASL_PLAINTEXT,MORE:SSL"
RESOLVER, MOST_RESOLVERS = "fakebroker-resolver", 16
HOST, NAME = "127.0.0.1", "slow.test"
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
if loops.NAME == "uvloop":
    LOOPS["uvloop"] = loops.new_event_loop


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS))
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setattr(fake_cluster, "new_event_loop", request.param)
    with FakeCluster(brokers=1) as cluster:
        yield cluster


@pytest.fixture
def port() -> int:
    """Return the first of some free ports."""
    return free_ports(4)


def altering(endpoint: NodeEndpoint, *added: str, **settings: str) -> bytes:
    """Return the request that gives a broker these listeners beside its own, and their settings."""
    listeners = ",".join([f"PLAINTEXT://{endpoint.host}:{endpoint.port}", *added])
    values = {"listeners": listeners, "listener.security.protocol.map": PROTOCOLS, **settings}
    configs = [{"name": name, "config_operation": 0, "value": value} for name, value in values.items()]
    resource = {"resource_type": BROKER, "resource_name": str(endpoint.node_id), "configs": configs}
    return request(INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource], "validate_only": False})


def alter(kafka: FakeCluster, *added: str, **settings: str) -> None:
    endpoint = kafka.brokers[1].endpoint
    with RawClient(endpoint) as client:
        answered = client.ask(altering(endpoint, *added, **settings))
        _, answer = decode_response(INCREMENTAL_ALTER_CONFIGS, 1, answered)
    assert [(response.error_code, response.error_message) for response in answer.responses] == [(0, None)]


def is_free(port: int) -> bool:
    """Return False while the broker keeps the port, even if it refuses connections already."""
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return False
    return True


def opens(port: int) -> None:
    wait_until(lambda: is_open(port), f"port {port} to open")


def closes(port: int) -> None:
    wait_until(lambda: not is_open(port), f"port {port} to close")


def brokers_at(port: int) -> int:
    """Return how many brokers a client of that port is told."""
    with RawClient(NodeEndpoint(1, HOST, port, None)) as client:
        return len(decode_response(METADATA, 12, client.ask(metadata([])))[1].brokers)


def test_an_added_listener_opens_its_port_and_serves(kafka: FakeCluster, port: int) -> None:
    alter(kafka, f"OUT://{HOST}:{port}")
    opens(port)
    assert brokers_at(port) == 0
    assert brokers_at(kafka.endpoints[0].port) == 1


def test_a_removed_listener_closes_its_port_and_its_connections(kafka: FakeCluster, port: int) -> None:
    alter(kafka, f"OUT://{HOST}:{port}")
    opens(port)
    with RawClient(NodeEndpoint(1, HOST, port, None)) as client:
        client.ask(metadata([]))
        alter(kafka)
        assert client.is_closed_by_broker()
    closes(port)
    wait_until(lambda: is_free(port), f"port {port} to be free")


def test_a_listener_whose_address_is_changed_stays_where_it_is(kafka: FakeCluster, port: int) -> None:
    alter(kafka, f"OUT://{HOST}:{port}")
    opens(port)
    alter(kafka, f"OUT://{HOST}:{port + 1}")
    assert brokers_at(port) == 0
    assert not is_open(port + 1)
    alter(kafka)
    closes(port)
    alter(kafka, f"OUT://{HOST}:{port + 1}")
    opens(port + 1)


def test_the_ports_of_a_broker_close_and_open_with_its_process(kafka: FakeCluster, port: int) -> None:
    alter(kafka, f"OUT://{HOST}:{port}")
    opens(port)
    kafka.brokers[1].stop()
    assert not is_open(port)
    kafka.brokers[1].start()
    assert is_open(port)
    kafka.brokers[1].pause()
    assert is_open(port)
    kafka.brokers[1].resume()
    assert brokers_at(port) == 0
    kafka.brokers[1].kill()
    assert not is_open(port)


def test_a_reset_returns_to_the_listeners_of_the_start(kafka: FakeCluster, port: int) -> None:
    alter(kafka, f"OUT://{HOST}:{port}")
    opens(port)
    kafka.reset()
    assert not is_open(port)
    assert brokers_at(kafka.endpoints[0].port) == 1
    alter(kafka, f"OUT://{HOST}:{port}")
    opens(port)


@pytest.mark.parametrize("address", [f"{HOST}:{{}}", "256.256.256.256:1", f"{HOST}:70000"])
def test_a_port_that_cannot_be_opened_is_told_in_the_log(
    kafka: FakeCluster, port: int, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    taken = socket.create_server((HOST, port))
    try:
        alter(kafka, "OUT://" + address.format(port), f"OTHER://{HOST}:{port + 1}")
        wait_until(lambda: "Unable to start acceptor for OUT of broker 1" in caplog.text, "the error")
        opens(port + 1)
        assert brokers_at(kafka.endpoints[0].port) == 1
    finally:
        taken.close()


def test_others_open_beside_a_port_that_cannot_listen(
    kafka: FakeCluster, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    opening = Port.open

    async def unless_first(self: Port, new_protocol: Callable[[], asyncio.BaseProtocol], backlog: int) -> None:
        if self.number == port:
            raise OSError(errno.EMFILE, "too many open files")
        await opening(self, new_protocol, backlog)

    monkeypatch.setattr(Port, "open", unless_first)
    alter(kafka, f"OUT://{HOST}:{port}", f"LOGIN://{HOST}:{port + 1}")
    opens(port + 1)
    assert "Unable to start acceptor for OUT of broker 1: [Errno 24] too many open files" in caplog.text
    wait_until(lambda: is_free(port), f"port {port} to be free")
    kafka.brokers[1].stop()
    kafka.brokers[1].start()  # the error is again one in the log
    assert is_open(port + 1)
    monkeypatch.undo()
    kafka.brokers[1].stop()
    kafka.brokers[1].start()
    assert is_open(port)


def test_a_free_port_of_an_added_listener_is_told_in_the_log(
    kafka: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    message = f"broker 1 listens at OUT://{HOST}:"
    with caplog.at_level(logging.INFO, "fakebroker"):
        alter(kafka, f"OUT://{HOST}:0")
        wait_until(lambda: message in caplog.text, "the port")
    assert brokers_at(int(caplog.text.partition(message)[2].split()[0])) == 0


def resolvers() -> int:
    """Return how many threads resolve a name, with those that are being started."""
    return sum(thread.name == RESOLVER for thread in threading.enumerate())


def wait_for_resolvers(count: int) -> None:
    wait_until(lambda: resolvers() == count, f"{count} resolvers")


class SlowResolver:
    """A resolver that knows the name NAME, and responds when it is let go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked = threading.Event()
        self._goes_on = threading.Event()
        self._look_up = socket.getaddrinfo
        patch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host: str | None, *rest: Any, **named: Any) -> object:
        if host != NAME or named["flags"] & socket.AI_NUMERICHOST:
            return self._look_up(host, *rest, **named)
        self.asked.set()
        assert self._goes_on.wait(LIMIT_S), "the test did not let the resolver go"
        return self._look_up(HOST, *rest, **named)

    def let_go(self) -> None:
        """Respond, and wait until that has reached the loop."""
        self._goes_on.set()
        wait_for_resolvers(0)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowResolver]:
    slow = SlowResolver(monkeypatch)
    yield slow
    slow.let_go()


def test_nothing_waits_for_the_resolver_of_an_added_listener(
    kafka: FakeCluster, port: int, resolver: SlowResolver
) -> None:
    alter(kafka, f"OUT://{NAME}:{port}")
    assert resolver.asked.wait(LIMIT_S)
    kafka.brokers[1].stop()
    kafka.brokers[1].start()
    assert brokers_at(kafka.endpoints[0].port) == 1
    resolver.let_go()
    opens(port)


def test_a_listener_is_removed_while_a_resolver_looks_for_it(
    kafka: FakeCluster, port: int, resolver: SlowResolver
) -> None:
    alter(kafka, f"OUT://{NAME}:{port}")
    assert resolver.asked.wait(LIMIT_S)
    alter(kafka, f"LOGIN://{HOST}:{port + 1}")
    opens(port + 1)
    resolver.let_go()
    kafka.brokers[1].stop()
    assert is_free(port)


@pytest.mark.parametrize("end", [FakeCluster.stop, FakeCluster.reset])
def test_a_cluster_ends_a_life_while_a_resolver_looks_for_a_host(
    kafka: FakeCluster, port: int, resolver: SlowResolver, end: Callable[[FakeCluster], None]
) -> None:
    alter(kafka, f"OUT://{NAME}:{port}", f"LOGIN://{HOST}:{port + 1}")
    assert resolver.asked.wait(LIMIT_S)
    end(kafka)
    resolver.let_go()
    assert is_free(port)
    assert is_free(port + 1)


@pytest.mark.parametrize("host", [HOST, NAME])
def test_a_listener_whose_keys_cannot_be_read_leaves_the_others(
    kafka: FakeCluster, port: int, host: str, resolver: SlowResolver, caplog: pytest.LogCaptureFixture
) -> None:
    resolver.let_go()
    prefix = "listener.name.login.oauthbearer.sasl"
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    url = {f"{prefix}.oauthbearer.jwks.endpoint.url": "file:///a%00b"}
    added = f"LOGIN://{host}:{port}", f"OUT://{HOST}:{port + 1}"
    alter(kafka, *added, **{f"{prefix}.server.callback.handler.class": handler}, **url)
    opens(port + 1)
    assert "Unable to start acceptor for LOGIN of broker 1: " in caplog.text
    kafka.brokers[1].stop()
    kafka.brokers[1].start()
    assert brokers_at(kafka.endpoints[0].port) == 1
    assert is_open(port + 1)


def test_a_resolver_without_a_thread_leaves_the_others(
    kafka: FakeCluster, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == RESOLVER:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    alter(kafka, f"OUT://{NAME}:{port}", f"LOGIN://{HOST}:{port + 1}")
    opens(port + 1)
    assert f"for OUT of broker 1: [Errno 11] '{NAME}' cannot be resolved: can't start new thread" in caplog.text


def test_names_that_are_added_and_removed_have_few_threads(
    kafka: FakeCluster, port: int, resolver: SlowResolver, caplog: pytest.LogCaptureFixture
) -> None:
    for count in range(1, MOST_RESOLVERS + 1):
        alter(kafka)
        alter(kafka, f"OUT://{NAME}:{port}")
        wait_for_resolvers(count)
    alter(kafka)
    alter(kafka, f"OUT://{NAME}:{port}")
    wait_until(lambda: "names of hosts are being resolved already" in caplog.text, "an error")
    assert resolvers() == MOST_RESOLVERS
    resolver.let_go()
    alter(kafka)
    alter(kafka, f"OUT://{NAME}:{port}")
    opens(port)


def test_a_port_that_was_in_use_opens_when_the_broker_starts_again(
    kafka: FakeCluster, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server((HOST, port)):
        alter(kafka, f"OUT://{HOST}:{port}")
        wait_until(lambda: "Unable to start acceptor" in caplog.text, "the error")
    assert not is_open(port)
    kafka.brokers[1].stop()
    kafka.brokers[1].start()
    assert is_open(port)


def test_stock_clients_connect_to_added_listeners_with_tls_and_sasl(port: int) -> None:
    pytest.importorskip("cryptography", reason="the extra security is not installed")
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("t", partitions=1)
        with pytest.raises(ValueError, match=r"'alice' cannot log in: no listener has SASL"):
            kafka.users.add("alice", "secret")
        added = [f"OUT://{HOST}:{port}", f"OTHER://127.0.0.2:{port + 1}", f"LOGIN://{HOST}:{port + 2}"]
        alter(kafka, *added)
        opens(port + 2)  # the last one
        kafka.users.add("alice", "secret")
        alter(kafka, *added, f"MORE://127.0.0.3:{port + 3}")
        wait_until(lambda: is_open(port + 3, "127.0.0.3"), "the listener MORE")
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
        tls = {"security.protocol": "SSL", "ssl.ca.location": str(kafka.tls.ca)}
        secured: dict[str, dict[str, str]] = {
            f"{HOST}:{port}": {},
            f"127.0.0.2:{port + 1}": tls,
            f"127.0.0.3:{port + 3}": tls,
            f"{HOST}:{port + 2}": login | {"sasl.password": "secret"},
        }
        for address, settings in secured.items():
            description = AdminClient({"bootstrap.servers": address, **settings}).list_topics("t", timeout=LIMIT_S)
            assert description.brokers == {}
            error = description.topics["t"].partitions[0].error
            assert error is not None
            assert error.name() == "LISTENER_NOT_FOUND"


def test_keys_of_tokens_are_not_fetched_for_a_listener_that_a_client_adds(
    kafka: FakeCluster, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    mechanism = "listener.name.login.oauthbearer.sasl."
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    with socket.create_server((HOST, port + 1)) as server:
        url = f"http://{HOST}:{port + 1}/keys"
        alter(
            kafka,
            f"LOGIN://{HOST}:{port}",
            **{mechanism + "server.callback.handler.class": handler, mechanism + "oauthbearer.jwks.endpoint.url": url},
        )
        wait_until(lambda: "Unable to start acceptor for LOGIN of broker 1" in caplog.text, "the error")
        assert (
            f"{url}: keys are read from a file, as in file:///keys.json, or at the start from a server" in caplog.text
        )
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_cluster_of_a_running_loop_stops_with_an_added_listener(port: int) -> None:
    async def main() -> None:
        async with AsyncFakeCluster(brokers=1) as kafka:
            endpoint = kafka.endpoints[0]
            reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
            writer.write(altering(endpoint, f"OUT://{HOST}:{port}"))
            await reader.readexactly(4)
            await until(lambda: is_open(port), f"port {port} to open")
            writer.close()
        assert not is_open(port)
        gc.collect()  # an unclosed socket would be a warning

    asyncio.run(within(main()))


UNREAD_BYTES = 64 << 20  # more than the buffers of the system take


async def altered(endpoint: NodeEndpoint, *added: str) -> None:
    """Give a broker these listeners beside its own."""
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    writer.write(altering(endpoint, *added))
    await reader.readexactly(4)
    writer.close()


@asynccontextmanager
async def silent(
    kafka: AsyncFakeCluster, port: int, listener: str
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.Transport]]:
    """Yield a connection of a client that does not read, and the broker's end of it."""
    reader, writer = await asyncio.open_connection(HOST, port)
    name = writer.get_extra_info("sockname")[1]
    transports = kafka.server.driver.transports

    def found() -> list[asyncio.Transport]:
        return [
            transport
            for connection, transport in transports.items()
            if connection.listener.name == listener and transport.get_extra_info("peername")[1] == name
        ]

    await until(found, f"a connection to {listener}")
    [transport] = found()
    try:
        yield reader, transport
    finally:
        writer.close()


def close_unread(transport: asyncio.Transport) -> None:
    transport.write(bytes(UNREAD_BYTES))
    transport.close()


async def changed(kafka: AsyncFakeCluster, port: int) -> None:
    """Wait for the end of a change that closes this port."""
    await until(lambda: not is_open(port), f"port {port} to close")
    await until(lambda: not kafka.server.listeners._changes, "the end of the change")


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=list(LOOPS))
@pytest.mark.parametrize("is_late", [False, True])
def test_a_removed_listener_leaves_the_closing_connections_of_others(
    new_loop: Callable[[], asyncio.AbstractEventLoop], is_late: bool, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> int:
        async with AsyncFakeCluster(brokers=1) as kafka:
            endpoint = kafka.endpoints[0]
            await altered(endpoint, f"OUT://{HOST}:{port}")
            await until(lambda: is_open(port), f"port {port} to open")
            async with silent(kafka, endpoint.port, "PLAINTEXT") as (reader, transport):

                async def turns_in_which_it_closes(count: int) -> None:
                    monkeypatch.undo()
                    close_unread(transport)
                    await turns(count)

                if is_late:
                    monkeypatch.setattr(listeners, "turns", turns_in_which_it_closes)
                else:
                    close_unread(transport)
                await altered(endpoint)
                await changed(kafka, port)
                assert transport.is_closing()
                return len(await reader.read())

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(within(main())) == UNREAD_BYTES


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=list(LOOPS))
def test_a_removed_listener_aborts_its_connections_that_are_not_read(
    new_loop: Callable[[], asyncio.AbstractEventLoop], port: int
) -> None:
    async def main() -> None:
        async with AsyncFakeCluster(brokers=1) as kafka:
            endpoint = kafka.endpoints[0]
            await altered(endpoint, f"OUT://{HOST}:{port}")
            await until(lambda: is_open(port), f"port {port} to open")
            async with silent(kafka, port, "OUT") as (reader, transport):
                transport.write(bytes(UNREAD_BYTES))
                await altered(endpoint)
                await changed(kafka, port)
                assert len(await reader.read()) < UNREAD_BYTES

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(main()))


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=list(LOOPS))
@pytest.mark.parametrize("turns_before", range(8))
def test_a_stop_leaves_no_resolver_of_an_added_listener_behind(
    new_loop: Callable[[], asyncio.AbstractEventLoop], turns_before: int, port: int, resolver: SlowResolver
) -> None:
    async def main() -> None:
        before = asyncio.all_tasks()
        kafka = AsyncFakeCluster(brokers=1)
        await kafka.start()
        endpoint = kafka.endpoints[0]
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        writer.write(altering(endpoint, f"OUT://{NAME}:{port}"))
        await turns(turns_before)
        await kafka.stop()
        assert asyncio.all_tasks() == before
        writer.close()
        await reader.read()
        resolver.let_go()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(main()))
