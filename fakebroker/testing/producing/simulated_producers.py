"""Producers of a simulated cluster, in its virtual time, with network latency.

Theory   All messages in transit are ordered by time, then first come, first served: connections, bytes to brokers,
         bytes back. Each takes `latency_ms`. So a run depends only on its parameters. The messages of one time are a
         list; the times are a heap.
Units    milliseconds since the start of the simulation; producers use the clock of the brokers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from random import Random

from fakebroker.producer.client.effects import CloseConnection, Connect, SendBytes
from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.producer.journal.journal import DEFAULT_SIZE, ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producers.judge import ProducerHistory
from fakebroker.testing.producing.callers import SimulatedCaller
from fakebroker.testing.producing.history import HistoryListener
from fakebroker.testing.simulation import START_MONO_MS, SimulatedClient, Simulation

_PORT = 9092
_RANDOM_BITS = 31


def host_of(broker_id: int) -> str:
    """Return the host name of a broker for producers."""
    return f"broker-{broker_id}"


class SimulatedProducer:
    """A producer and its connections. Call `settle` after each direct call of `producer`. Each such call is like that
    of a new thread, which earlier calls do not block. `caller` is a thread that makes one call after the other."""

    def __init__(self, around: SimulatedProducers, producer: KafkaProducer) -> None:
        self.producer = producer
        self._around = around
        self._links: dict[int, SimulatedClient] = {}
        self._callers: list[SimulatedCaller] = []
        self.deadline_ms: int | None = None  # the one in the queue

    def caller(self) -> SimulatedCaller:
        """Return another thread that calls the producer."""
        self._callers.append(SimulatedCaller(self.producer, self.settle, lambda: self._around.now_ms))
        return self._callers[-1]

    def settle(self) -> None:
        """Let callers continue, apply the effects, and schedule the next deadline."""
        around = self._around
        if self._callers:
            while any(caller.go_on() for caller in self._callers):
                pass  # one call may unblock another caller
        for effect in self.producer.take_effects():
            if type(effect) is SendBytes:  # the usual case
                around.later(partial(self._send, effect.connection, effect.data))
                continue
            match effect:
                case Connect(number, host, port):
                    around.later(partial(self._connect, number, (host, port)))
                case CloseConnection(number):
                    around.later(partial(self._disconnect, number))
        deadline_ms = self.producer.next_deadline_ms()
        if deadline_ms is not None:
            self._be_called_at(deadline_ms)
        if around.on_settled is not None:
            around.on_settled(self)

    def cut(self) -> None:
        """Break all connections. The producer and the brokers detect it after the latency."""
        for number in list(self._links):
            self._disconnect(number)
            self._around.later(partial(self._tell_lost, number))

    def _be_called_at(self, deadline_ms: int) -> None:
        around = self._around
        at_ms = max(around.elapsed_of(deadline_ms), around.simulation.elapsed_ms)
        if self.deadline_ms is None or at_ms < self.deadline_ms:
            self.deadline_ms = at_ms
            around.at(at_ms, partial(self._due, at_ms))

    def _due(self, at_ms: int) -> None:
        if self.deadline_ms != at_ms:
            return  # an earlier deadline came first, and set the next one
        self.deadline_ms = None
        deadline_ms, now_ms = self.producer.next_deadline_ms(), self._around.now_ms
        if deadline_ms is not None and deadline_ms > now_ms:  # the deadline was met or moved
            self._be_called_at(deadline_ms)
            return
        self.producer.advance_to(now_ms)
        self.settle()

    def _connect(self, number: int, to: tuple[str, int]) -> None:
        around = self._around
        broker_id = around.broker_at(to)
        if broker_id not in around.simulation.listening:
            around.later(partial(self._tell_lost, number))
            return
        link = around.simulation.connect(broker_id)
        if link.closed is not None:
            around.later(partial(self._tell_lost, number))
            return
        self._links[number] = link
        link.tell = lambda data: around.later(partial(self._hear, number, data))
        around.later(partial(self._tell_connected, number))

    def _send(self, number: int, frames: bytes) -> None:
        link = self._links.get(number)
        if link is not None and link.closed is None:
            link.send(frames)

    def _disconnect(self, number: int) -> None:
        link = self._links.pop(number, None)
        if link is not None:
            if link.closed is None:
                link.disconnect()
            self._around.forget(link)

    def _hear(self, number: int, data: bytes | None) -> None:
        if data is None:
            self._tell_lost(number)
        else:
            if number in self._links:
                self._links[number].answers.clear()
            self.producer.received(number, data, self._around.now_ms)
            self.settle()

    def _tell_connected(self, number: int) -> None:
        self.producer.connected(number, self._around.now_ms)
        self.settle()

    def _tell_lost(self, number: int) -> None:
        link = self._links.pop(number, None)
        if link is not None:
            self._around.forget(link)
        self.producer.connection_lost(number, self._around.now_ms)
        self.settle()


class SimulatedProducers:
    """All producers of a simulation. Call its `advance`, not that of the simulation."""

    def __init__(self, simulation: Simulation, latency_ms: int = 1) -> None:
        self.simulation = simulation
        self.latency_ms = latency_ms
        self._under_way: dict[int, list[Callable[[], None]]] = {}  # by time, in the order of calls
        self._times: list[int] = []  # its keys, as a heap
        self.on_settled: Callable[[SimulatedProducer], None] | None = None  # called after every step of a producer
        for broker_id in simulation.cluster.registry.broker_ids:
            simulation.cluster.registry[broker_id].set_endpoint(host_of(broker_id), _PORT)

    @property
    def now_ms(self) -> int:
        """Return the clock of producers and brokers."""
        return START_MONO_MS + self.simulation.elapsed_ms

    def add(
        self,
        config: ProducerConfig,
        seed: int = 0,
        journal: ProducerJournal | None = None,
        history: ProducerHistory | None = None,
    ) -> SimulatedProducer:
        """Add a producer with its own random numbers. `journal` keeps its events, `history` its records and
        results."""
        random = Random(seed)
        bootstrap = [(host_of(broker_id), _PORT) for broker_id in self.simulation.cluster.registry.broker_ids]
        now = self.simulation.now
        producer = KafkaProducer(
            config,
            bootstrap,
            lambda: random.getrandbits(_RANDOM_BITS),
            random.random,
            self.now_ms,
            "" if journal is None else journal.name,
            now.wall_ms - now.mono_ms,
        )
        if journal is not None:
            producer.listen(journal.append)
        if history is not None:
            listener = HistoryListener(history, config)
            producer.listen(listener.hear, *listener.kinds)
        simulated = SimulatedProducer(self, producer)
        simulated.settle()
        return simulated

    def new_journal(
        self,
        config: ProducerConfig,
        name: str = "",
        size: int = DEFAULT_SIZE,
        on_event: Callable[[ProducerEvent], None] | None = None,
    ) -> ProducerJournal:
        """Return a journal for `add`."""
        return ProducerJournal(name or config.client_id, size, on_event)

    def at(self, at_ms: int, do: Callable[[], None]) -> None:
        """Call `do` at this time, in the order of calls of `at`."""
        at_once = self._under_way.get(at_ms)
        if at_once is None:
            self._under_way[at_ms] = [do]
            heappush(self._times, at_ms)
        else:
            at_once.append(do)

    def later(self, do: Callable[[], None]) -> None:
        """Call `do` after the latency."""
        self.at(self.simulation.elapsed_ms + self.latency_ms, do)

    def forget(self, link: SimulatedClient) -> None:
        """Forget a connection that is closed at both ends."""
        if link.connection.is_closed:
            self.simulation.forget(link)

    def elapsed_of(self, mono_ms: int) -> int:
        return mono_ms - self.now_ms + self.simulation.elapsed_ms

    def broker_at(self, address: tuple[str, int]) -> int:
        return next(
            broker_id
            for broker_id in self.simulation.cluster.registry.broker_ids
            if (host_of(broker_id), _PORT) == address
        )

    def advance(self, ms: int) -> None:
        """Advance the time, event by event. At the same time brokers act before messages arrive. Change the cluster
        only by methods of the simulation."""
        simulation = self.simulation
        end_ms = simulation.elapsed_ms + ms
        brokers_ms, settled = simulation.next_event_ms(), simulation.settled
        while True:
            if settled != simulation.settled:  # otherwise the cluster has not changed
                brokers_ms, settled = simulation.next_event_ms(), simulation.settled
            next_ms = self._times[0] if self._times else None
            if brokers_ms is not None and (next_ms is None or brokers_ms <= next_ms):
                next_ms = brokers_ms
            if next_ms is None or next_ms > end_ms:
                break
            if next_ms == brokers_ms:
                simulation.run_until(next_ms)
            else:  # the brokers have nothing to do, and get the time with the messages
                simulation.elapsed_ms = next_ms
            while self._times and self._times[0] <= next_ms:
                self._come(self._times[0])
        simulation.run_until(end_ms)

    def _come(self, at_ms: int) -> None:
        """Deliver all messages of this time, and those that they cause at once."""
        heappop(self._times)
        at_once = self._under_way[at_ms]
        done = 0
        try:
            while done < len(at_once):
                done += 1
                at_once[done - 1]()
        finally:
            if done < len(at_once):  # after an exception the rest stays in the queue
                del at_once[:done]
                heappush(self._times, at_ms)
            else:
                del self._under_way[at_ms]
