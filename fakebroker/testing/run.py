"""A plan carried out: on the simulated cluster and by the oracle side by side, compared after every step.

Theory   Every action goes to both; whenever the core has something to do, the oracle does it first. What clients saw
         must be what a world of the oracle says, answer by answer and to the millisecond; so must the state: logs, ISR,
         watermarks, leaders, who waits in which purgatory, how many timers run, who is connected. On top come rules
         that need no oracle (`invariants.py`).
Errors   `Violation`, with the step, the time and the first difference.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence

from fakebroker.core.journal.journal import Journal
from fakebroker.testing import wire
from fakebroker.testing.clients import Client
from fakebroker.testing.compare import by_connection, outcome_difference, state_difference
from fakebroker.testing.invariants import Invariants
from fakebroker.testing.marks import mark
from fakebroker.testing.messages import Fetch, Key, Outcome, Produce, Request, Violation
from fakebroker.testing.oracle import Oracle
from fakebroker.testing.oracle_partition import FROZEN, INSTANT, NOBODY
from fakebroker.testing.plan import BEHAVIOURS, FAULTS, MAX_CLIENTS, Action
from fakebroker.testing.simulation import SimulatedClient, Simulation
from fakebroker.testing.worlds import Worlds
from timingwheel.mypyc import mypyc_attr

MAX_CHAIN = 200  # reactions of clients to one event: more is a loop
EVERY_STEP, OFTEN = 1, 16  # how often whole logs are compared


@mypyc_attr(allow_interpreted_subclasses=True)
class Run:
    """One simulated history. `perform` its actions, the first being `cluster`, and `finish` it.

    seed        of topic ids and cluster id, nothing else: the plan has all that is drawn
    journal     where the broker writes what it decides, if anywhere
    look_every  compare whole logs, and check the core's own invariants, at every so-manieth step and at the end
    """

    def __init__(self, seed: int = 0, look_every: int = OFTEN, journal: Journal | None = None) -> None:
        self.seed = seed
        self.journal = journal
        self.steps = 0
        self.requests = 0
        self.performed: list[Action] = []
        self._look_every = look_every
        self._begun = False

    # What plans do.

    def perform(self, action: Action) -> None:
        """One step, and everything that must hold after it. Raises Violation."""
        self.performed.append(action)
        self.steps += 1
        try:
            if self._begun != (action.name != "cluster"):
                raise ValueError("a plan begins with its cluster, and has one")
            getattr(self, f"_do_{action.name}")(*action.arguments)
            self._settle()
            self._check(self.steps % self._look_every == 0)
        except Violation:
            raise
        except AssertionError as error:
            raise Violation(f"step {self.steps} ({action}) at {self.now_ms} ms: {error!r}") from error

    def finish(self) -> None:
        """Everybody is healed, all time that anybody may wait for passes, every client goes: nothing is left."""
        if not self._begun:
            return
        for action in (
            *(Action("start", (broker,)) for broker in self.brokers),
            Action("followers", (0, -1, -1, -1)),
            Action("advance", (20_000,)),
        ):
            self.perform(action)
        for client in self.clients:
            client.disconnect()
        self._advance(20_000)
        self._check(True)
        self._invariants.nothing_is_left()

    def check_leaks(self) -> None:
        """Once it is finished: the broker holds on to no connection. Slow, since it collects garbage."""
        connections = [mark(connection) for connection in self.simulation._clients]
        self.clients.clear()
        self._links.clear()
        self.simulation._clients.clear()
        gc.collect()
        kept = sum(reference() is not None for reference in connections)
        if kept:
            raise Violation(f"{kept} of {len(connections)} connections are closed and not forgotten")

    @property
    def now_ms(self) -> int:
        return self.simulation.elapsed_ms

    def _do_cluster(self, brokers: int, lag_max_ms: int) -> None:
        brokers, lag_max_ms = max(1, min(brokers, 5)), max(lag_max_ms, 1)
        config = {
            "replica.lag.time.max.ms": str(lag_max_ms),
            "connections.max.idle.ms": "-1",
            "auto.leader.rebalance.enable": "false",
            "producer.purgatory.purge.interval.requests": "5",
            "fetch.purgatory.purge.interval.requests": "5",
        }
        self.brokers = range(1, brokers + 1)
        self.simulation = Simulation(
            brokers,
            config=config,
            seed=self.seed,
            check_every=self._look_every,
            with_tape=True,
            journal=self.journal,
        )
        self.simulation.on_handling(self._handled)
        self.worlds = Worlds(Oracle(self.brokers, lag_max_ms))
        self.clients = [Client(number, self) for number in range(MAX_CLIENTS)]
        self._impatient = [client for client in self.clients if client.is_impatient]
        self.topics: list[str] = []
        self._links: dict[int, tuple[SimulatedClient, Client]] = {}
        self._asked: dict[int, Request] = {}
        self._number = 0
        self._made_topics = 0
        self._invariants = Invariants(self.simulation)
        self._begun = True

    def _do_topic(self, partitions: int, replicas: int, min_isr: int, unclean: int) -> None:
        self._made_topics += 1
        self._create(f"t{self._made_topics}", partitions, replicas, min_isr, bool(unclean))

    def _create(self, name: str, partitions: int, replicas: int, min_isr: int, unclean: bool) -> None:
        partitions, replicas = max(1, min(partitions, 4)), max(1, min(replicas, len(self.brokers)))
        if not self.worlds.open[0].alive:
            return
        self.simulation.topic(
            name,
            partitions,
            replicas,
            min_insync_replicas=max(min_isr, 1),
            unclean_leader_election_enable=str(unclean).lower(),
            retention_ms=-1,
        )
        self.topics.append(name)
        for world in self.worlds.open:
            world.create_topic(name, partitions, replicas, max(min_isr, 1), unclean)

    def _do_delete(self, topic: int) -> None:
        if len(self.topics) > 1:
            self._delete(self.topics[topic % len(self.topics)])

    def _delete(self, name: str) -> None:
        self.topics.remove(name)
        for world in self.worlds.open:
            world.delete_topic(name)
        self.simulation.delete_topic(name)

    def _do_recreate(self, topic: int, min_isr: int) -> None:
        """A topic goes and comes back empty with another min.insync.replicas: what stands in for a change of settings,
        which the broker does not serve."""
        if self.topics and self.worlds.open[0].alive:
            name = self.topics[topic % len(self.topics)]
            replicas = len(self.simulation.partition(name, 0).replicas)
            self._delete(name)
            self._create(name, 1 + topic % 3, replicas, min_isr, False)

    def _do_produce(self, client: int, acks: int, timeout_ms: int, bits: int, records: int, fault: int) -> None:
        keys = [key for bit, key in enumerate(self._keys()) if bits >> bit & 1]
        name = ("", *FAULTS)[fault % (len(FAULTS) + 1)]
        if keys:
            self._client(client).produce(acks, timeout_ms, keys, max(1, min(records, 50)), name)

    def _do_burst(self, client: int, acks: int, timeout_ms: int, partition: int, requests: int) -> None:
        if keys := self._keys():
            self._client(client).burst(acks, timeout_ms, keys[partition % len(keys)], requests)

    def _do_fetch(self, client: int, partition: int, before_end: int, wait_ms: int) -> None:
        if keys := self._keys():
            key = keys[partition % len(keys)]
            model = self.worlds.open[0].partitions[key]
            end = 0 if model.leader == NOBODY else model.replicas[model.leader].end
            self._client(client).fetch(key, end - before_end, max(wait_ms, 0))

    def _do_garbage(self, client: int, kind: int) -> None:
        self._client(client).garbage(wire.GARBAGE[kind % len(wire.GARBAGE)], self._broker(client))

    def _do_disconnect(self, client: int) -> None:
        self._client(client).disconnect()

    def _do_followers(self, behaviour: int, topic: int, partition: int, broker: int) -> None:
        text = BEHAVIOURS[behaviour % len(BEHAVIOURS)]
        lag_ms = {"instant": INSTANT, "frozen": FROZEN}.get(text)
        if text.startswith("lagging"):
            lag_ms = int(text.partition(":")[2])
        name = self.topics[topic % len(self.topics)] if topic >= 0 and self.topics else None
        index = partition if partition >= 0 and name is not None else None
        who = self._broker(broker) if broker > 0 else None
        chosen = self.worlds.open[0].selected(name, index, who)
        if (name, index, who) != (None, None, None) and all(part.leader == broker_id for part, broker_id in chosen):
            return  # concerns nobody, and would be refused
        for world in self.worlds.open:
            world.set_followers(lag_ms, name, index, who)
        self.simulation.followers(text, name, index, who)

    def _do_stop(self, broker: int) -> None:
        who = self._broker(broker)
        if who in self.worlds.open[0].alive:
            for world in self.worlds.open:
                world.stop(who)
            self.simulation.stop(who)

    def _do_start(self, broker: int) -> None:
        who = self._broker(broker)
        if who not in self.worlds.open[0].alive:
            for world in self.worlds.open:
                world.start(who)
            self.simulation.start(who)

    def _do_move(self, partition: int, which: int) -> None:
        if keys := self._keys():
            key = keys[partition % len(keys)]
            model = self.worlds.open[0].partitions[key]
            if model.leader != NOBODY:
                in_sync = sorted(model.isr)
                who = in_sync[which % len(in_sync)]
                for world in self.worlds.open:
                    world.move_leader(key, who)
                self.simulation.move_leader(who, *key)

    def _do_advance(self, ms: int) -> None:
        self._advance(max(0, min(ms, 60_000)))

    def _do_jump(self) -> None:
        """To the next deadline, whatever it is for."""
        event_ms = self.simulation.next_event_ms()
        if event_ms is not None:
            self._advance(event_ms - self.now_ms)

    def _keys(self) -> list[Key]:
        return list(self.worlds.open[0].partitions)

    def _client(self, number: int) -> Client:
        return self.clients[number % MAX_CLIENTS]

    def _broker(self, number: int) -> int:
        return 1 + number % len(self.brokers)

    # What clients do (clients.Surroundings).

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def leader_of(self, key: Key) -> int:
        partition = self.worlds.open[0].partitions.get(key)
        return self.brokers[0] if partition is None or partition.leader == NOBODY else partition.leader

    def connect(self, client: Client, broker: int) -> SimulatedClient:
        link = self.simulation.connect(broker)
        for world in self.worlds.open:
            world.connect(link.number, broker)
        self._links[link.number] = link, client
        return link

    def send(self, link: SimulatedClient, requests: Sequence[tuple[Request, bytes]]) -> None:
        self.requests += len(requests)
        for request, _ in requests:
            self._asked[request.number] = request
        for world in self.worlds.open:
            world.send(link.number, *(request for request, _ in requests))
        link.send(*(frame for _, frame in requests))

    def disconnect(self, link: SimulatedClient) -> None:
        for world in self.worlds.open:
            world.disconnect(link.number)
        link.disconnect()
        link.closed = link.closed or "the client has gone"

    # Time.

    def _advance(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        self._settle()
        event_ms = self.simulation.next_event_ms()
        while True:
            wakes = [wake for client in self._impatient if (wake := client.next_wake_ms()) is not None]
            at_ms = min([end_ms, *wakes, *([] if event_ms is None else [event_ms])])
            at_ms = max(at_ms, self.now_ms)
            self.worlds.advance_to(at_ms)
            self.simulation.run_until(at_ms)
            self._settle()
            for client in self._impatient:
                client.wake()
            self._settle()
            event_ms = self.simulation.next_event_ms()
            if at_ms >= end_ms and (event_ms is None or event_ms > end_ms):
                return

    def _handled(self, number: int) -> None:
        request = self.worlds.handle(number)
        if isinstance(request, Produce):
            self._invariants.handled(request)

    # Comparing.

    def _settle(self) -> None:
        """What clients saw is what they had to see; let them react, until nobody does."""
        for _ in range(MAX_CHAIN):
            outcomes = self._compare_outcomes()
            if not outcomes:
                return
            for outcome in outcomes:
                self._tell(outcome)
        raise Violation(f"clients and broker go on and on at {self.now_ms} ms")

    def _tell(self, outcome: Outcome) -> None:
        link, client = self._links[outcome.connection]
        if outcome.result is None:
            del self._links[outcome.connection]
            client.on_closed(link)
            return
        request = self._asked.pop(outcome.number)
        if isinstance(request, Produce):
            result: Sequence[wire.PartitionResult] = outcome.result  # type: ignore[assignment]
            self._invariants.answered(request, result)
            client.on_produced(request.number, result)

    def _compare_outcomes(self) -> list[Outcome]:
        seen = self._seen()
        if not seen and not any(world.outcomes for world in self.worlds.open):
            return seen
        found = sorted(seen, key=by_connection)
        expected = [sorted(world.outcomes, key=by_connection) for world in self.worlds.open]
        self.worlds.keep([outcomes == found for outcomes in expected])
        if not self.worlds.open:
            raise Violation(f"{self._where()}{outcome_difference(expected[0], found)}")
        for world in self.worlds.open:
            world.outcomes.clear()
        return seen

    def _seen(self) -> list[Outcome]:
        """What came to clients since the last time."""
        seen: list[Outcome] = []
        for at_ms, number, frame in self.simulation.arrivals:
            if frame is None:
                seen.append(Outcome(number, at_ms, -1, None))
                continue
            answered = wire.correlation_id_of(frame)
            request = self._asked.get(answered)
            if request is None:
                raise Violation(f"{self._where()}connection {number} is answered {answered}: nobody asked that")
            read = wire.read_fetch_answer if isinstance(request, Fetch) else wire.read_produce_answer
            seen.append(Outcome(number, at_ms, answered, read(frame)))
        self.simulation.arrivals.clear()
        return seen

    def _check(self, closely: bool) -> None:
        """The state is that of a world, and the invariants hold."""
        links = [link for link, _ in self._links.values()]
        tasks = self._invariants.periodic_tasks
        differences = [state_difference(self.simulation, world, links, tasks, closely) for world in self.worlds.open]
        self.worlds.keep([difference is None for difference in differences])
        if not self.worlds.open:
            raise Violation(f"{self._where()}{differences[0]}")
        self.worlds.merge()
        self._invariants.check(closely)

    def _where(self) -> str:
        action = self.performed[-1] if self.performed else ""
        return f"step {self.steps} ({action}) at {self.now_ms} ms: "
