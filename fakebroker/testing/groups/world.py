"""A group among faults, in virtual time. Members join, leave, crash and pause; brokers stop, leaders and the
coordinator move, followers freeze. At the end all faults are healed, and the group must settle and have read
everything.

    world = GroupWorld(brokers=3, partitions=4)
    world.join(); world.produce(0, 5); world.advance(5_000); world.finish()
    assert not world.history.findings

Theory   The members are clients of the simulated cluster and exchange frames with it. The judge (`GroupHistory`) gets
         their reports, and does not look into the coordinator. Watermarks come from the journal. Liveness: after the
         last fault the live members settle within SETTLES_MS of virtual time, and everything below the high watermark
         is read and committed soon after.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.journal.events import Event, LeaderChanged, WatermarkMoved
from fakebroker.core.journal.journal import Journal
from fakebroker.testing import wire
from fakebroker.testing.actors.world import World
from fakebroker.testing.groups.classic import ClassicConsumer
from fakebroker.testing.groups.consumer import ConsumerGroupConsumer
from fakebroker.testing.groups.frames import Place
from fakebroker.testing.groups.judge import GroupHistory
from fakebroker.testing.groups.member import BACKOFF_MS, SETTLES_MS, SimulatedConsumer
from fakebroker.testing.simulation import START_WALL_MS, Simulation

OFFSETS = "__consumer_offsets"
LAG_MAX_MS = 4_000
# A read and a commit of each member, each after a back-off, and one request that times out.
READS_MS = 10_000


class GroupWorld(World):
    """A group of members of one protocol, "classic" or "consumer", and one topic. `on_event` gets all events of the
    journal."""

    def __init__(
        self,
        brokers: int = 3,
        partitions: int = 4,
        protocol: str = "classic",
        seed: int = 0,
        check_every: int = 16,
        schedule: str = "first-come",
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.topic, self.group = "t", "group"
        self._who_hears = on_event
        self._watermarks: dict[Place, int] = {}
        self.journal = Journal(1_000_000, self._on_event)
        config = {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": str(min(brokers, 3)),
            "replica.lag.time.max.ms": str(LAG_MAX_MS),
            "group.initial.rebalance.delay.ms": "500",
            "group.min.session.timeout.ms": "1000",
            "group.consumer.min.session.timeout.ms": "1000",
            "group.consumer.session.timeout.ms": "10000",
            "group.consumer.min.heartbeat.interval.ms": "1000",
            "group.consumer.heartbeat.interval.ms": "3000",
            "auto.leader.rebalance.enable": "false",
            "connections.max.idle.ms": "-1",
        }
        self.simulation = Simulation(
            brokers, config=config, seed=seed, journal=self.journal, check_every=check_every, schedule=schedule
        )
        self.simulation.topic(self.topic, partitions, min(brokers, 3), retention_ms=-1)
        self.places: list[Place] = [(self.topic, index) for index in range(partitions)]
        self.history = GroupHistory()
        self.members: list[SimulatedConsumer] = []
        self.settled_ms = 0  # the time to settle after all faults were healed
        self._protocol = protocol
        self._produced = 0

    # Actions.

    @property
    def alive(self) -> list[SimulatedConsumer]:
        return [member for member in self.members if member.is_alive]

    @property
    def actors(self) -> list[SimulatedConsumer]:
        return self.members

    def join(self) -> SimulatedConsumer:
        kind = ClassicConsumer if self._protocol == "classic" else ConsumerGroupConsumer
        name = f"m{len(self.members) + 1}"
        member = kind(name, self.simulation, self.history, self.group, self.topic, self._watermark)
        self.members.append(member)
        self.act()
        return member

    def produce(self, partition: int, records: int) -> None:
        """Send records to the leader with acks=all, and ignore the response."""
        place = self.places[partition % len(self.places)]
        leader = self.simulation.partition(*place).leader_id
        if leader < 0:
            return
        self._produced += 1
        client = self.simulation.connect(leader)
        batch = wire.batch(b"%d" % self._produced, records, START_WALL_MS)
        client.send(wire.produce(self._produced, -1, 2_000, [(place, batch)]))
        self.act()

    def heal(self) -> None:
        """Heal all faults."""
        for broker in self.simulation.cluster.registry.broker_ids:
            self.start(broker)
        self.followers("instant")
        for member in self.members:
            member.is_paused = False
        self.act()

    def finish(self) -> None:
        """Heal all faults. Check that the group settles, and has read everything, within a limit of time."""
        self.heal()
        self.settled_ms = self.settle()
        self.advance(READS_MS)
        if self.alive:
            for place in self.places:
                read_to, watermark = self.history.read_to(place), self._watermark(place)
                if read_to != watermark:
                    self.history.unsettled(f"{place} is read to {read_to} and not to {watermark}, after {READS_MS} ms")

    def settle(self) -> int:
        """Advance the time until the group is settled, and return how long it took. If it does not settle, report a
        finding."""
        began_ms = self.now_ms
        while not self.is_settled:
            if self.now_ms - began_ms >= SETTLES_MS:
                members = [(member.name, member.generation, member.owned, member.positions) for member in self.alive]
                self.history.unsettled(f"not settled {SETTLES_MS} ms after the faults ended: {members}")
                break
            self.advance(BACKOFF_MS)
        return self.now_ms - began_ms

    @property
    def is_settled(self) -> bool:
        """True if all live members are in one generation, and each partition has one owner."""
        alive = self.alive
        owned = sorted(place for member in alive for place in member.owned)
        return not alive or (
            all(member.is_settled for member in alive)
            and len({member.generation for member in alive}) == 1
            and owned == self.places
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, WatermarkMoved | LeaderChanged):  # a new leader may know a higher one
            place = event.topic, event.partition
            self._watermarks[place] = max(self._watermarks.get(place, 0), event.high_watermark)
        if self._who_hears is not None:
            self._who_hears(event)

    def _watermark(self, place: Place) -> int:
        """Return the high watermark as the journal has it now."""
        return self._watermarks.get(place, 0)
