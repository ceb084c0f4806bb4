"""A run of a plan, step by step, on the simulated cluster and on the oracle (`side_by_side.py`).

Theory   After every step the two are compared: logs, ISR, watermarks, leaders, parked requests, timers, connections. In
         addition, rules are checked that need no oracle (`invariants.py`).
Errors   `Violation`, with the step, the time and the first difference.
"""

from __future__ import annotations

import gc

from fakebroker.core.journal.journal import Journal
from fakebroker.testing import wire
from fakebroker.testing.clients import IN_FLIGHT, MARKERS_TIMEOUT_MS, ModelClient
from fakebroker.testing.messages import Key, Violation
from fakebroker.testing.oracle_partition import FROZEN, INSTANT
from fakebroker.testing.plan import BEHAVIOURS, FAULTS, MAX_CLIENTS, MAX_TRANSACTIONAL, Action
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.rules.requests import KILLED, PAUSED, RUNNING, STARTING, STOPPED, STOPPING
from fakebroker.testing.side_by_side import SideBySide
from timingwheel.mypyc import mypyc_attr

EVERY_STEP, OFTEN, SELDOM = 1, 16, 64  # how often whole logs are compared


@mypyc_attr(allow_interpreted_subclasses=True)
class Run:
    """One simulated history. `perform` its actions, of which the first is `cluster`, and `finish` it.

    seed        for topic ids and the cluster id only, as the plan contains everything else that is drawn
    journal     the broker's journal, if wanted
    look_every  compare whole logs, and check the core's own invariants, at every n-th step and at the end
    """

    def __init__(self, seed: int = 0, look_every: int = OFTEN, journal: Journal | None = None) -> None:
        self.seed = seed
        self.journal = journal
        self.steps = 0
        self.performed: list[Action] = []
        self._look_every = look_every
        self._begun = False

    # Actions of plans.

    def perform(self, action: Action) -> None:
        """Perform a step, and check everything that must hold after it. Raises Violation."""
        self.performed.append(action)
        self.steps += 1
        try:
            if self._begun != (action.name != "cluster"):
                raise ValueError("a plan begins with its cluster, and has one")
            if self._begun:
                self._both.where = f"step {self.steps} ({action})"
            getattr(self, f"_do_{action.name}")(*action.arguments)
            self._both.settle()
            self._both.check(self.steps % self._look_every == 0)
        except Violation:
            raise
        except AssertionError as error:
            raise Violation(f"step {self.steps} ({action}) at {self.now_ms} ms: {error!r}") from error

    def finish(self) -> None:
        """Heal all faults, let all waiting end, disconnect all clients, and check that nothing is left."""
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
        self._both.advance(20_000)
        self._both.check(True)
        self._both.nothing_is_left()

    def check_leaks(self) -> None:
        """Check after `finish` that the broker keeps no connection. This is slow, as it collects garbage."""
        marks = self._both.forget_all()
        gc.collect()
        kept = sum(reference() is not None for reference in marks)
        if kept:
            raise Violation(f"{kept} of {len(marks)} closed connections are still in memory")

    @property
    def now_ms(self) -> int:
        return self.simulation.elapsed_ms

    @property
    def requests(self) -> int:
        """Return the number of requests sent."""
        return self._both.requests if self._begun else 0

    def _do_cluster(self, brokers: int, lag_max_ms: int) -> None:
        brokers, lag_max_ms = max(1, min(brokers, 5)), max(lag_max_ms, 1)
        config = {
            "fakebroker.metadata.delay.ms": "0",  # in the oracle, all brokers know changes at once
            "replica.lag.time.max.ms": str(lag_max_ms),
            "connections.max.idle.ms": "-1",
            "auto.leader.rebalance.enable": "false",
            "producer.purgatory.purge.interval.requests": "5",
            "fetch.purgatory.purge.interval.requests": "5",
            "request.timeout.ms": str(MARKERS_TIMEOUT_MS),
            "transaction.partition.verification.enable": "false",  # there is no coordinator: clients write the markers
        }
        both = self._both = self._new_side_by_side(brokers, config, lag_max_ms)
        self.brokers, self.simulation, self.worlds, self.clients = (
            both.brokers,
            both.simulation,
            both.worlds,
            both.clients,
        )
        both.where = f"step {self.steps} ({self.performed[-1]})"
        self.topics: list[str] = []
        self._made_topics = 0
        self._begun = True

    def _new_side_by_side(self, brokers: int, config: dict[str, str], lag_max_ms: int) -> SideBySide:
        return SideBySide(brokers, config, lag_max_ms, self.seed, self._look_every, self.journal)

    def _do_topic(self, partitions: int, replicas: int, min_isr: int, unclean: int) -> None:
        self._made_topics += 1
        self._create(f"t{self._made_topics}", partitions, replicas, min_isr, bool(unclean))

    def _create(self, name: str, partitions: int, replicas: int, min_isr: int, unclean: bool) -> None:
        usable = set(self.brokers) - self.worlds.open[0].going
        if not self.worlds.open[0].alive:
            return
        partitions, replicas = max(1, min(partitions, 4)), max(1, min(replicas, len(usable)))
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
        """Delete a topic and create it again, empty, with another min.insync.replicas. No plan changes the settings of
        an existing topic."""
        if self.topics and self.worlds.open[0].alive:
            name = self.topics[topic % len(self.topics)]
            replicas = len(self.simulation.partition(name, 0).replicas)
            self._delete(name)
            self._create(name, 1 + topic % 3, replicas, min_isr, False)

    def _do_produce(self, client: int, acks: int, timeout_ms: int, bits: int, records: int, fault: int) -> None:
        keys = self._chosen(bits)
        name = ("", *FAULTS)[fault % (len(FAULTS) + 1)]
        if keys:
            self._client(client).produce(acks, timeout_ms, keys, max(1, min(records, 50)), name)

    def _do_burst(self, client: int, acks: int, timeout_ms: int, partition: int, requests: int) -> None:
        if keys := self._keys():
            self._client(client).burst(acks, timeout_ms, keys[partition % len(keys)], requests)

    def _do_stream(self, client: int, acks: int, timeout_ms: int, partition: int, requests: int) -> None:
        """Send bursts without a pause, as long as each completes at once. So a paused broker never gets more than it
        handles in one turn, a limit that the oracle does not have."""
        who = self._client(client)
        while requests > 0 and (keys := self._keys()) and not self._both.waits_at_broker(who):
            key = keys[partition % len(keys)]
            made = who.burst(acks, timeout_ms, key, min(requests, IN_FLIGHT))
            requests -= made
            self._both.settle()
            if not made or who.sent or not who.reaches(key):
                return

    def _do_fetch(self, client: int, partition: int, before_end: int, wait_ms: int, is_committed: bool = False) -> None:
        if keys := self._keys():
            key = keys[partition % len(keys)]
            model = self.worlds.open[0].partitions[key]
            end = 0 if model.leader == NOBODY else model.replicas[model.leader].end
            self._client(client).fetch(key, end - before_end, max(wait_ms, 0), is_committed)

    def _do_committed(self, client: int, partition: int, before_end: int, wait_ms: int) -> None:
        self._do_fetch(client, partition, before_end, wait_ms, True)

    def _do_transact(self, producer: int, acks: int, timeout_ms: int, bits: int, records: int) -> None:
        if keys := self._chosen(bits):
            self._transactional(producer).produce(acks, timeout_ms, keys, max(1, min(records, 50)), "")

    def _do_end(self, producer: int, commits: int, is_fenced: int, bits: int) -> None:
        if keys := self._chosen(bits):
            self._transactional(producer).end(commits != 0, is_fenced == 1, keys)

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
            return  # affects no follower, and would be refused
        for world in self.worlds.open:
            world.set_followers(lag_ms, name, index, who)
        self.simulation.followers(text, name, index, who)

    def _state(self, who: int) -> str:
        return self.worlds.open[0].states[who]

    def _do_stop(self, broker: int) -> None:
        who = self._broker(broker)
        if self._state(who) == RUNNING:
            for world in self.worlds.open:
                world.begin_to_stop(who)
            self.simulation.stop(who)
            for world in self.worlds.open:
                world.stop(who)

    def _do_kill(self, broker: int) -> None:
        who = self._broker(broker)
        if self._state(who) in (RUNNING, PAUSED, STOPPING, STARTING):
            for world in self.worlds.open:
                world.kill(who)
            self.simulation.kill(who)

    def _do_pause(self, broker: int) -> None:
        who = self._broker(broker)
        if self._state(who) == RUNNING:
            for world in self.worlds.open:
                world.pause(who)
            self.simulation.pause(who)

    def _do_resume(self, broker: int) -> None:
        who = self._broker(broker)
        if self._state(who) == PAUSED:
            for world in self.worlds.open:
                world.resume(who)
            self.simulation.resume(who)

    def _do_start(self, broker: int) -> None:
        """Start the broker, or resume it if it is paused."""
        who = self._broker(broker)
        self._do_resume(broker)
        if self._state(who) in (STOPPED, KILLED):
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
        self._both.advance(max(0, min(ms, 60_000)))

    def _do_jump(self) -> None:
        """Advance to the next deadline of any kind."""
        event_ms = self.simulation.next_event_ms()
        if event_ms is not None:
            self._both.advance(event_ms - self.now_ms)

    def _chosen(self, bits: int) -> list[Key]:
        return [key for bit, key in enumerate(self._keys()) if bits >> bit & 1]

    def _transactional(self, number: int) -> ModelClient:
        return self.clients[MAX_CLIENTS + number % MAX_TRANSACTIONAL]

    def _keys(self) -> list[Key]:
        return list(self.worlds.open[0].partitions)

    def _client(self, number: int) -> ModelClient:
        return self.clients[number % MAX_CLIENTS]

    def _broker(self, number: int) -> int:
        return 1 + number % len(self.brokers)
