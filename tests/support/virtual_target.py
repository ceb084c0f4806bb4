"""fakebroker's core in virtual time as a target of conformance cases: answers are exact to the millisecond, and no
time passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID
from weakref import finalize

from conformance.scenario import LOOPBACK, Topic
from conformance.targets.boxes import Box
from conformance.targets.wire import Arrival
from fakebroker.apis.features import supported_features
from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.controller.features import UNSAFE_DOWNGRADE, FeatureUpdate
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.faults.presets import NetworkPartition
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.security.identity import Listener
from fakebroker.protocol.errors import KafkaError
from fakebroker.server.oauth.jwks import verifier_of
from support.simulation import START_MONO_MS, SimulatedClient, Simulation

_POLL_MS = 10


class VirtualConnection:
    def __init__(self, simulation: Simulation, client: SimulatedClient) -> None:
        self._simulation = simulation
        self._client = client

    @property
    def arrivals(self) -> list[Arrival]:
        return [Arrival(at_ms / 1000, frame) for at_ms, frame in self._client.answers]

    @property
    def closed(self) -> bool:
        return self._client.closed is not None

    def send(self, data: bytes) -> None:
        if not self.closed:
            self._client.send(data)

    def wait(self, seen: int, until_s: float) -> None:
        """Let time pass, deadline by deadline, until there is something to see."""
        simulation = self._simulation
        until_ms = round(until_s * 1000)
        while len(self._client.answers) <= seen and not self.closed and simulation.elapsed_ms < until_ms:
            deadline = simulation.cluster.next_deadline_ms()
            next_ms = until_ms if deadline is None else min(deadline - START_MONO_MS, until_ms)
            simulation.advance(max(next_ms - simulation.elapsed_ms, 0))

    def close(self) -> None:
        if not self.closed:
            self._client.disconnect()


class VirtualTarget:
    """A cluster for one case."""

    version = "virtual"

    def __init__(self, box: Box, check_every: int = 1) -> None:
        self.simulation = Simulation(box.brokers, config=box.placed, racks=box.racks, check_every=check_every)
        self._cuts: dict[int, StateFault] = {}
        mechanisms = self.simulation.cluster.sasl.mechanisms
        for listener in box.listeners:
            if url := mechanisms.jwks_url(1, Listener(listener, listener)):
                mechanisms.keys[url] = verifier_of(url)
        if "SSL" in box.listeners:
            self._open_with_tls(Listener("SSL", "SSL"))
        supported = supported_features()
        updates = [FeatureUpdate(name, level, UNSAFE_DOWNGRADE) for name, level in box.features.items()]
        known = [update for update in updates if update.feature in supported]
        self.simulation.cluster.controller.features.update(known, supported, 1, False)

    def _open_with_tls(self, listener: Listener) -> None:
        """Give the first broker a listener with TLS, of which only the stores are used."""
        from fakebroker.server.tls.certificates import Certificates
        from fakebroker.server.tls.contexts import Contexts
        from fakebroker.server.tls.listener_stores import ListenerStores

        cluster, certificates = self.simulation.cluster, Certificates([LOOPBACK])
        finalize(self, certificates.close)
        contexts = Contexts(certificates, lambda: 0)
        cluster.registry[1].set_endpoint(LOOPBACK, 1, listener)
        contexts.context(cluster.members.broker_configs.of_listener(1, listener.name), 1, listener.name)
        ListenerStores(cluster.members.broker_configs, cluster.registry, lambda: contexts)

    def now_s(self) -> float:
        return self.simulation.elapsed_ms / 1000

    def connect(self, broker: int, host: str = LOOPBACK, listener: str = "PLAINTEXT") -> VirtualConnection:
        if broker not in self.simulation.listening:
            raise ConnectionRefusedError(f"broker {broker} does not listen")
        at = Listener(listener, listener)
        return VirtualConnection(self.simulation, self.simulation.connect(broker, host, at))

    def pause(self, ms: int) -> None:
        self.simulation.advance(ms)

    def create_topics(self, topics: Sequence[Topic]) -> None:
        simulation = self.simulation
        for topic in topics:
            assignments = [(partition, topic.broker_ids) for partition in range(topic.partitions)]
            simulation.cluster.admin.create_topic(
                NewTopic(topic.name, -1, -1, assignments, topic.configs), simulation.now
            )
        simulation.settle()

    def topic_ids(self, names: Sequence[str]) -> dict[str, UUID]:
        topics = {name: self.simulation.cluster.metadata.topic(name) for name in names}
        return {name: topic.topic_id for name, topic in topics.items() if topic is not None}

    def isr(self, topic: str, partition: int) -> set[int]:
        return set(self.simulation.partition(topic, partition).isr)

    def freeze(self, broker: int) -> None:
        self.simulation.followers("frozen", broker=broker)

    def play(self, broker: int) -> None:
        self.simulation.followers("external", broker=broker)

    def thaw(self, broker: int) -> None:
        with suppress(KafkaError):  # the case may have deleted all that followed there
            self.simulation.followers("instant", broker=broker)

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        self.simulation.move_leader(broker, topic, partition)

    def stop_broker(self, broker: int) -> None:
        self.simulation.stop(broker)
        while broker in self.simulation.listening:
            self.simulation.advance(_POLL_MS)

    def start_broker(self, broker: int) -> None:
        self.simulation.start(broker)
        while broker not in self.simulation.listening:
            self.simulation.advance(_POLL_MS)

    def kill_broker(self, broker: int) -> None:
        self.simulation.kill(broker)

    def pause_broker(self, broker: int) -> None:
        self.simulation.pause(broker)

    def resume_broker(self, broker: int) -> None:
        self.simulation.resume(broker)

    def cut_off(self, broker: int) -> None:
        self._cuts[broker] = self.simulation.cluster.faults.arising.arise(NetworkPartition((broker,), (), "b"))
        self.simulation.settle()

    def join(self, broker: int) -> None:
        self.simulation.cluster.now = self.simulation.now
        self.simulation.cluster.faults.arising.remove(self._cuts.pop(broker))
        self.simulation.settle()

    def delete_topic(self, topic: str) -> None:
        self.simulation.delete_topic(topic)

    def catch_up(self, broker: int) -> None:
        """Let all brokers have all metadata at once."""

    def set_quota(self, client_id: str, quotas: Mapping[str, float]) -> None:
        self.simulation.cluster.members.client_quotas.alter(QuotaEntity(None, client_id), quotas)
