"""The ports of the brokers, one for each listener: each is reserved while the cluster exists, and listens while its
broker runs.

Source   core/.../network/SocketServer.scala Acceptor @ 4.0.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fakebroker.core.broker_registry import AddedListener
from fakebroker.core.clock import Now
from fakebroker.core.config.listener_endpoints import Endpoint, endpoint_text
from fakebroker.core.security.identity import Listener
from fakebroker.protocol.slices import Slices, begin
from fakebroker.server.driver import Driver
from fakebroker.server.kafka_protocol import KafkaProtocol
from fakebroker.server.made.arguments import ListenerAddresses
from fakebroker.server.running.no_more_files import Files
from fakebroker.server.running.one_port import Port, bound_host, needs_resolver
from fakebroker.server.security.listener_keys import ListenerKeys
from fakebroker.server.tls.contexts import Contexts
from fakebroker.server.tls.listener_stores import ListenerStores
from fakebroker.server.turn.turns import turns

log = logging.getLogger("fakebroker")

_TURNS_TO_OPEN = 3  # turns from accepting a connection to connection_made(). asyncio takes 2, uvloop 1.
_RECEIVE_BYTES = 262_144  # bytes per read, uvloop's own number.
_BACKLOG = 1024  # Kafka's 50 (socket.listen.backlog.size) drops connects when a load starts all of its connections


@dataclass
class _Added:
    """The port of a listener that the settings of a broker have added; without a port if it could not be opened, or as
    long as a resolver looks for its host."""

    wanted: AddedListener
    place: ListenerAddresses
    port: Port | None = None
    lookup: asyncio.Task[None] | None = None

    def give_up_lookup(self) -> None:
        if self.lookup is not None:
            self.lookup.cancel()


class Listeners:
    """The ports of a cluster's brokers. Make it and use it on one running event loop. Calls of `replace`, `stop`,
    `stop_broker` and the like must come one after the other."""

    def __init__(self, places: Sequence[ListenerAddresses]) -> None:
        """`contexts` is to be set before `serve` if a place has TLS, `new_contexts` always: it is called when a
        listener with TLS is added."""
        self._places = places
        self.contexts: Contexts | None = None
        self._loop = asyncio.get_running_loop()
        self._receive_buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self.new_contexts: Callable[[Driver, AddedListener], Contexts]
        self._ports: dict[int, list[tuple[ListenerAddresses, Port]]] = {}  # by broker
        self._added: dict[int, dict[str, _Added]] = {}  # by broker and name of the listener
        self._stopped = False
        self.keys = ListenerKeys()
        self._listening: set[int] = set()  # brokers with a port that is to be open
        self._changes: dict[int, asyncio.Task[OSError | None]] = {}  # pending changes of ports
        self._driver: Driver
        self._files: Files

    async def take(self, broker_ids: list[int]) -> None:
        """Reserve the ports of these brokers without listening. Raises OSError if one is taken; `close` releases the
        others then."""
        for index, broker_id in enumerate(broker_ids):
            self._added[broker_id] = {}
            ports = self._ports[broker_id] = []
            for place in sorted(self._places, key=lambda place: not place.port):  # a free port is none of the others
                ports.append((place, await _take(place.host, place.port_of(index))))
            ports.sort(key=lambda taken: self._places.index(taken[0]))

    @property
    def _all_ports(self) -> list[Port]:
        return [port for broker_id in self._ports for _, port in self._ports_of(broker_id)]

    def _ports_of(self, broker_id: int) -> list[tuple[ListenerAddresses, Port]]:
        added = self._added[broker_id].values()
        return self._ports[broker_id] + [(entry.place, entry.port) for entry in added if entry.port is not None]

    @property
    def ports(self) -> list[int]:
        """Return the ports of the first listener, in the order of the brokers."""
        return [ports[0][1].number for ports in self._ports.values()]

    def drive(self, driver: Driver) -> None:
        """Attach the connections to that cluster from now on. All its brokers run, at these ports."""
        self._driver, self._files, cluster = driver, Files(driver.told), driver.cluster
        driver.on_listening = self._on_listening
        driver.on_listeners_changed = self._begin_change
        ListenerStores(cluster.members.broker_configs, cluster.registry, lambda: self.contexts)
        self._listening = set(self._ports)
        for index, (broker_id, ports) in enumerate(self._ports.items()):
            for place, taken in ports:
                port, entry = place.advertised_port_of(index, taken.number), cluster.registry[broker_id]
                entry.set_endpoint(place.advertised_host, port, place.listener)
                entry.set_bound(place.host, taken.number, place.listener)

    async def serve(self) -> None:
        """Listen where the brokers run. Raises OSError, and ConfigError for settings of TLS, or keys of tokens, that
        cannot be used."""
        for broker_id, ports in self._ports.items():
            for place, _ in ports:
                await self.keys.begin(self._driver.cluster.sasl.mechanisms, broker_id, place.listener)
                self._check(broker_id, place.listener)
        for broker_id in self._ports:
            self._begin_change(broker_id)
        for error in await asyncio.gather(*self._changes.values(), return_exceptions=True):
            if error is not None:
                raise error
        self._driver.settle()

    def _check(self, broker_id: int, listener: Listener) -> None:
        """Make the context of a listener with TLS, and read its file of keys. Raises ConfigError."""
        if self.contexts is not None and listener.has_tls:
            self.contexts.context(self._driver.config_of(broker_id, listener), broker_id, listener.name)
        self.keys.read(self._driver.cluster.sasl.mechanisms, broker_id, listener)

    async def retire(self, old: Driver) -> None:
        """Close the connections of a cluster that was replaced, and listen for the new one."""
        old.on_listening = old.on_listeners_changed = _ignore
        old.stop()
        for transport in old.transports.values():
            transport.abort()  # before any await: no client is to get an id of the old life after the new one began
        try:
            await self.serve()
            while old.transports:  # abort() reports connection_lost in the next turns of the loop
                await asyncio.sleep(0)
        finally:
            old.stop()  # the lost connections have armed it again

    async def settled(self) -> None:
        """Wait until all pending changes of ports are done."""
        await asyncio.gather(*self._changes.values(), return_exceptions=True)

    async def stop(self) -> None:
        """Close every connection and release the ports. Parked requests get no response, as when a broker stops."""
        self._stopped = True
        for entry in [entry for added in self._added.values() for entry in added.values()]:
            entry.give_up_lookup()
        await self.settled()
        self._driver.stop()
        await asyncio.gather(*(port.refuse() for port in self._all_ports))
        self.close()
        for transport in list(self._driver.transports.values()):
            transport.abort()
        await turns(_TURNS_TO_OPEN)  # connections accepted just now are still to come, and refused
        while self._driver.transports:  # abort() reports connection_lost in the next turns of the loop
            await asyncio.sleep(0)
        self._driver.stop()  # the lost connections have armed it again

    def close(self) -> None:
        """Release the ports."""
        self.keys.stop()
        for port in self._all_ports:
            port.close()
        self._ports.clear()
        self._added.clear()

    async def stop_broker(self, broker_id: int) -> None:
        """Shut a broker down in a controlled way. Once it has stopped, its port refuses connections and stays reserved.
        Raises ValueError if it is paused."""
        await self._change_broker(broker_id, self._driver.cluster.lives.stop_broker_in_slices)

    async def kill_broker(self, broker_id: int) -> None:
        """Crash a broker; its port stays reserved."""
        await self._change_broker(broker_id, self._driver.cluster.lives.kill_broker_in_slices)

    async def pause_broker(self, broker_id: int) -> None:
        """Pause a broker; its port and its connections stay open. Raises ValueError if it does not run."""
        await self._change_broker(broker_id, self._driver.cluster.lives.pause_broker_in_slices)

    async def resume_broker(self, broker_id: int) -> None:
        """Resume a broker. Raises ValueError if it has no process."""
        await self._change_broker(broker_id, self._driver.cluster.lives.resume_broker_in_slices)

    async def start_broker(self, broker_id: int) -> None:
        """Start a broker that was stopped or killed; it listens on the same port as soon as it has registered. Raises
        ValueError if it is paused, OSError if its port cannot listen."""
        await self._change_broker(broker_id, self._driver.cluster.lives.start_broker_in_slices)

    async def _change_broker(self, broker_id: int, change: Callable[[int, Now], Slices[None]]) -> None:
        """Change the state of a broker, with other work between the slices. Wait for its port, but not for
        what takes the controller's time."""
        driver = self._driver
        await self._decided()
        rest = begin(change(broker_id, driver.clock.stamp()))
        if rest is not None:
            driver.cluster.members.events.handle(f"a change of broker {broker_id}", rest)
        driver.settle()
        await self._decided()
        pending = self._changes.get(broker_id)
        if pending is not None and (error := await pending) is not None:
            raise error

    async def _decided(self) -> None:
        """Wait until all events of the controller are completely handled."""
        while self._driver.cluster.members.events.is_busy:
            await turns(1)

    def _on_listening(self, broker_id: int, listens: bool) -> None:
        """Open or close the ports of a broker that came up or went down."""
        if listens:
            self._listening.add(broker_id)
            added = self._added[broker_id]
            for name in [name for name, entry in added.items() if entry.port is None and entry.lookup is None]:
                del added[name]  # a broker tries again when it starts
        else:
            self._listening.discard(broker_id)
        self._begin_change(broker_id)

    def _begin_change(self, broker_id: int) -> None:
        if broker_id not in self._changes:
            self._changes[broker_id] = self._loop.create_task(self._change(broker_id))

    async def _change(self, broker_id: int) -> OSError | None:
        """Open or close the ports until they are as wanted. Return the error if one of the start cannot be opened."""
        try:
            while True:
                if (gone := self._gone(broker_id)) is not None:
                    await self._remove(broker_id, gone)
                elif (new := self._new(broker_id)) is not None:
                    await self._add(broker_id, new)
                elif wrong := self._wrong(broker_id):
                    if broker_id in self._listening:
                        await self._open(broker_id, *wrong[0])
                    else:
                        await self._close_ports(broker_id, [port for _, port in wrong])
                else:
                    return None
        except OSError as error:
            log.error("broker %d runs, but no client can connect: %s", broker_id, error)
            return error
        finally:
            del self._changes[broker_id]

    def _wrong(self, broker_id: int) -> list[tuple[ListenerAddresses, Port]]:
        """Return the ports that listen and should not, or should and do not."""
        listens = broker_id in self._listening
        return [(place, port) for place, port in self._ports_of(broker_id) if port.is_open != listens]

    def _wanted(self, broker_id: int) -> Mapping[str, AddedListener]:
        return self._driver.cluster.registry[broker_id].added_listeners

    def _gone(self, broker_id: int) -> _Added | None:
        """Return an added listener that the broker has no more."""
        wanted = self._wanted(broker_id)
        return next((entry for name, entry in self._added[broker_id].items() if wanted.get(name) != entry.wanted), None)

    def _new(self, broker_id: int) -> AddedListener | None:
        """Return a listener of a running broker that has no port yet. One host after the other is looked for."""
        added = self._added[broker_id]
        is_looking = any(entry.lookup is not None for entry in added.values())
        if self._stopped or is_looking or broker_id not in self._listening:
            return None
        return next((entry for name, entry in self._wanted(broker_id).items() if name not in added), None)

    async def _add(self, broker_id: int, new: AddedListener) -> None:
        """Reserve the port of an added listener. A resolver may take long: other changes do not wait for it."""
        place = ListenerAddresses(new.host, new.port, "", 0, listener=new.listener)
        added = self._added[broker_id][new.listener.name] = _Added(new, place)
        await turns(1)  # a value may have thousands of them, and other clients have their turn
        if self._stopped:
            return
        if needs_resolver(bound_host(new.host)):
            added.lookup = self._loop.create_task(self._look_up(broker_id, added))
        else:
            await self._take_added(broker_id, added)

    async def _look_up(self, broker_id: int, added: _Added) -> None:
        await self._take_added(broker_id, added)
        added.lookup = None
        self._begin_change(broker_id)

    async def _take_added(self, broker_id: int, added: _Added) -> None:
        """Reserve a port. As in Kafka, any failure is an error in the log, and the other ports open."""
        new = added.wanted
        try:
            if new.listener.has_tls:
                self.contexts = self.new_contexts(self._driver, new)
            self._check(broker_id, new.listener)
            added.port = await _take(new.host, new.port)
            if not new.port and self._wanted(broker_id).get(new.listener.name) == new:
                self._driver.cluster.registry[broker_id].set_bound(new.host, added.port.number, new.listener)
        except Exception as error:
            _log_unopened(broker_id, new, error)

    async def _remove(self, broker_id: int, gone: _Added) -> None:
        gone.give_up_lookup()
        if gone.port is not None:
            await self._close_ports(broker_id, [gone.port], gone.wanted.listener.name)
            gone.port.close()
        del self._added[broker_id][gone.wanted.listener.name]

    async def _open(self, broker_id: int, place: ListenerAddresses, port: Port) -> None:
        """Open a port. As in Kafka, an error at that of an added listener is one in the log, and the others open."""
        contexts = self.contexts if place.listener.has_tls else None

        def new_protocol() -> KafkaProtocol:
            return KafkaProtocol(self._present_driver, broker_id, self._receive_buffer, is_refused, place, contexts)

        def is_refused(broker_id: int, descriptor: int) -> bool:
            return self._is_refused(broker_id, descriptor) or not self._has(broker_id, place)

        added = self._added[broker_id].get(place.listener.name)
        try:
            await port.open(new_protocol, _BACKLOG)
        except OSError as error:
            if added is None:
                raise
            added.port = None
            port.close()
            _log_unopened(broker_id, added.wanted, error)
        else:
            if added is not None and not added.wanted.port:
                where = endpoint_text(Endpoint(place.listener.name, added.wanted.host, port.number))
                log.info("broker %d listens at %s", broker_id, where)

    def _has(self, broker_id: int, place: ListenerAddresses) -> bool:
        """Return False for a listener that was removed while a client connected to it."""
        added = self._added[broker_id].get(place.listener.name)
        return added is None or self._wanted(broker_id).get(place.listener.name) == added.wanted

    async def _close_ports(self, broker_id: int, ports: Sequence[Port], name: str = "") -> None:
        """Close the ports and wait for the connections that are closing: those of the listener with this name, or of
        all. The others belong to the broker's next life."""
        await asyncio.gather(*(port.refuse() for port in ports))
        self._abort_unread(broker_id, name)
        await turns(_TURNS_TO_OPEN)
        while self._closing(broker_id, name):
            self._abort_unread(broker_id, name)
            await asyncio.sleep(0)

    def _abort_unread(self, broker_id: int, name: str) -> None:
        """Abort the connections that a peer that does not read would keep open."""
        for transport in self._closing(broker_id, name):
            if transport.get_write_buffer_size():
                transport.abort()

    def _present_driver(self) -> Driver:
        return self._driver

    def descriptors(self) -> list[int]:
        """Return the descriptors of all ports and connections."""
        ports = [descriptor for port in self._all_ports for descriptor in port.descriptors()]
        connected = [transport.get_extra_info("socket") for transport in self._driver.transports.values()]
        return ports + [sock.fileno() for sock in connected if sock is not None]

    def _closing(self, broker_id: int, name: str) -> list[asyncio.Transport]:
        """Return the closing connections of a listener of a broker, or of all its listeners."""
        return [
            transport
            for connection, transport in self._driver.transports.items()
            if connection.broker_id == broker_id and name in ("", connection.listener.name) and transport.is_closing()
        ]

    def _is_refused(self, broker_id: int, descriptor: int) -> bool:
        return (
            self._stopped
            or not self._driver.cluster.lives.takes_connections(broker_id)
            or self._files.are_short(descriptor)
        )


async def _take(host: str, port: int) -> Port:
    try:
        return await Port.take(bound_host(host), port)
    except socket.gaierror as error:
        raise socket.gaierror(error.errno, f"the host {host!r} is not known: {error.strerror}") from None
    except ValueError as error:  # a name that no resolver accepts
        raise socket.gaierror(socket.EAI_NONAME, f"{host!r} is not a host name: {error}") from error


def _log_unopened(broker_id: int, added: AddedListener, error: Exception) -> None:
    log.error("Unable to start acceptor for %s of broker %d: %s", added.listener.name, broker_id, error)


def _ignore(*_: object) -> None:
    """Ignore the changes of a cluster that was replaced."""
