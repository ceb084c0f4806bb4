"""A cluster for Python programs that run an event loop: `AsyncFakeCluster`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, Self

from fakebroker.core.arguments import STRING_OR_NONE, require
from fakebroker.core.journal.size import DEFAULT_SIZE
from fakebroker.core.replication.behaviour import Selection
from fakebroker.core.security.identity import Listener
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import finish
from fakebroker.server.administration import Administration
from fakebroker.server.brokers_in_hand import AsyncBroker, Brokers
from fakebroker.server.clock_in_hand import AsyncClock
from fakebroker.server.faults_in_hand import AsyncFaults, AsyncRequestBarrier, hold_fault
from fakebroker.server.followers_in_hand import FollowerBehaviours, Step
from fakebroker.server.journal_in_hand import JournalInHand
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.lives import LifeSequence
from fakebroker.server.made.spec import ClusterSpec
from fakebroker.server.oauth.tokens import OAuth, TokenSigner, unsecured
from fakebroker.server.quotas_in_hand import Quotas
from fakebroker.server.running.cluster_server import ClusterServer
from fakebroker.server.security.acls_in_hand import Acls
from fakebroker.server.security.users_in_hand import Users
from fakebroker.server.tls.certificates import ClientCertificate
from fakebroker.server.tls.client_settings import PLAIN, ClientLogin, client_settings
from fakebroker.server.tls.in_hand import Tls
from fakebroker.server.writing.kept_journal import KeptJournal


class AsyncFakeCluster:
    """A Kafka cluster of `brokers` brokers (3, with the ids 1 to N) that accepts connections while the `async with`
    block runs.

    broker_ids        their ids, in place of 1 to N; if `brokers` is given too, it is their number
    racks             racks of brokers by id, e.g. {1: "a", 2: "b"}; for other brokers broker.rack applies
    features          levels of features, e.g. {"transaction.version": 1}; the others are at their highest
    host, port        where to listen (127.0.0.1): the n-th broker on port + n - 1; port 0 (default) takes free ports
    advertised_host   the host that clients connect to (default: `host`). "dialled": each client is sent the address
                      that it connected to (docs/addresses.md)
    advertised_port   clients connect to the n-th broker on advertised_port + n - 1; 0 (default): where it listens
    listeners         listeners of each broker, instead of one in plain text: texts NAME=PROTOCOL://HOST:PORT, with
                      ",advertised=HOST:PORT" if clients reach it elsewhere, or only a PROTOCOL, for a free port of
                      `host` (docs/security.md)
    certificates      the folder for the CA and the certificates of listeners with TLS, which keeps its CA; without it,
                      a temporary one
    users             passwords of SASL users by name, for PLAIN and SCRAM; without `listeners` there is then one of
                      SASL_PLAINTEXT
    acls              ACLs from the start, as mappings of the arguments of `acls.add`, with Kafka's authorizer: what no
                      ACL allows is refused, so an empty list refuses all
    followers         what followers do from the start: "instant", "lagging:MS", "throttled:BYTES_PER_S", "frozen" or
                      "external"
    config            broker settings by Kafka's names, e.g. {"min.insync.replicas": 2}
    defaults          "kafka" takes Kafka's defaults where ours differ; "test" takes defaults with which tests wait less
                      (docs/settings.md)
    seed              the seed of the schedule, and of all ids if `life` is "first"
    life              "new" (default): the cluster gives no id that an earlier cluster at its address gave
                      (docs/addresses.md); "first": ids follow from the seed, and are the same in each run
    schedule          "first-come", or "random": the seed draws the order of events that could happen in any order
                      (requests that arrived at the same time, responses, timeouts of a millisecond)
    clock             "real", "manual" (only `clock.advance` moves it) or "auto": the real one, but while clients are
                      quiet and a request waits only for time, it skips ahead; deadlines of clients, e.g. for
                      heartbeats, move along
    journal           how many events `journal` keeps, the last ones (one with many records counts as many); 0 keeps
                      none and costs nothing
    journal_file      the file to which all events are written, as lines of JSON

    Raises KafkaError for a bad setting, ValueError or TypeError for a bad argument. `start` raises OSError if a port is
    taken, the host is not known, or the journal cannot be written.
    """

    def __init__(
        self,
        brokers: int | None = None,
        *,
        broker_ids: Sequence[int] | None = None,
        racks: Mapping[int, str] | None = None,
        features: Mapping[str, int] | None = None,
        host: str | None = None,
        port: int | None = None,
        advertised_host: str | None = None,
        advertised_port: int | None = None,
        listeners: Sequence[str] | None = None,
        certificates: str | PathLike[str] | None = None,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Mapping[str, str]] | None = None,
        followers: str = "instant",
        config: Mapping[str, str | int | bool] | None = None,
        defaults: str = "fakebroker",
        seed: int = 0,
        life: str = "new",
        schedule: str = "first-come",
        clock: str = "real",
        journal: int = DEFAULT_SIZE,
        journal_file: str | PathLike[str] | None = None,
    ) -> None:
        spec = ClusterSpec(
            brokers,
            broker_ids=broker_ids,
            racks=racks,
            features=features,
            host=host,
            port=port,
            advertised_host=advertised_host,
            advertised_port=advertised_port,
            listeners=listeners,
            certificates=certificates,
            users=users,
            acls=acls,
            followers=followers,
            config=config,
            defaults=defaults,
            seed=seed,
            life=life,
            schedule=schedule,
            clock=clock,
            journal=journal,
            journal_file=journal_file,
        )
        arguments = Arguments.read(spec)
        self.tls = Tls(arguments.places, certificates)
        lives = LifeSequence(life, seed, any(place.is_known for place in arguments.places))
        # For the control and `serve`, which serve the cluster to others. It is not for users.
        self.server = server = ClusterServer(arguments, clock, self.tls, lives, KeptJournal(journal, journal_file))
        self._administration = Administration(server.driver_here)
        self._signer = TokenSigner()
        self.followers = FollowerBehaviours(self._run_followers)
        self.quotas = Quotas(server.reach)
        self.oauth = OAuth(self._new_token, self._signer)
        self.acls = Acls(server.reach)
        self.users = Users(server.reach)
        self.clock = AsyncClock(clock, server.driver_here, server.change)
        self.journal = JournalInHand(server.snapshot_journal, server.clear_journal)
        self.faults = AsyncFaults(server.driver_here)
        server.on_stop = self.faults.tell_unfired
        self.brokers = Brokers(
            {
                broker_id: AsyncBroker(broker_id, server.driver_to_read, server.change_listeners)
                for broker_id in arguments.broker_ids
            }
        )

    @classmethod
    def from_scenario(cls, path: str | PathLike[str], **arguments: Any) -> Self:
        """Return a cluster as a scenario file describes it (docs/scenarios.md); its content is created by start().
        `arguments` take precedence over the file. Raises OSError, or ScenarioError (a ValueError) with the line of the
        mistake. start() raises ScenarioError if the cluster refuses the content."""
        from fakebroker.server.scenario.scenario import Scenario  # imported here: only scenarios need YAML

        scenario = Scenario.read_file(path)
        scenario.check_arguments(cls)
        cluster = cls(**scenario.arguments_beneath(arguments))
        cluster.server.set_ups.append(partial(scenario.set_up, cluster))
        return cluster

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen on all brokers. A cluster that was stopped starts empty, as a new life."""
        await self.server.start()

    async def reset(self) -> None:
        """Reset settings, followers, brokers, journal and clock, on the same ports. Drop topics, groups, transactions
        and quotas, except those of its scenario. Close all connections without responses to parked requests. Clients
        that reconnect get no id of the old life (docs/addresses.md). A journal_file is continued. Raises ConfigError if
        the keys of tokens cannot be had again; nothing is changed then."""
        await self.server.reset()

    async def stop(self) -> None:
        """Close all ports and connections. Parked requests get no response. If the caller is cancelled, the stop still
        completes. In a child process there is nothing to stop."""
        await self.server.stop()

    def hold(
        self, *, api: Any = None, at: str | None = None, n: int = 1, times: Any = None, **when: Any
    ) -> AsyncRequestBarrier:
        """Return a barrier: matching requests stop at a point (before they are handled) until `release` or the end of
        the block. `when` has selectors of faults (docs/faults.md): topic="t", partition=2. `n` is how many requests
        `wait` waits for. Raises ValueError."""
        return AsyncRequestBarrier(self.faults.add(hold_fault(n, api, at, times, when)), n)

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Return id, host and port of each running broker, as clients see them."""
        return list(self.server.driver_to_read().cluster.metadata.alive_brokers(self.listeners[0]))

    @property
    def bootstrap_servers(self) -> str:
        """Return "host:port,host:port,..." of all brokers, running or not, for a client's configuration. With several
        listeners it is that of the first."""
        return self._bootstrap(self.listeners[0])

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Return the name and the security protocol of each listener."""
        return tuple(place.listener for place in self.server.arguments.places)

    def bootstrap(self, listener: str) -> str:
        """Return the bootstrap servers of a listener, by its name or its protocol. Raises ValueError if there is no
        such listener, or several."""
        return self._bootstrap(self.server.arguments.listener(listener))

    def client_settings(
        self,
        library: str,
        listener: str | None = None,
        *,
        mechanism: str = PLAIN,
        user: str | None = None,
        password: str | None = None,
        certificate: ClientCertificate | None = None,
        token: str | None = None,
    ) -> dict[str, Any]:
        """Return the settings with which a client of that library connects to a listener (default: the first one):
        "confluent", "kafka-python", "aiokafka", "java", "librdkafka", "kafkajs", "franz-go", "sarama" or "kafka-go".
        `user` and `password` are for SASL; the password of a user of `users` is known. For AWS_MSK_IAM they are an
        access key and its secret; franz-go alone takes them as settings. A `token` of `oauth` is for OAUTHBEARER, with
        a library that takes one as a setting. A `certificate` of `tls.client` is for TLS. Raises ValueError."""
        require(STRING_OR_NONE, token=token)
        chosen = self.listeners[0] if listener is None else self.server.arguments.listener(listener)
        if password is None and isinstance(user, str):
            password = self.server.driver_to_read().cluster.sasl.known_password(user, mechanism)
        login = ClientLogin(mechanism, user, password, certificate, token)
        return client_settings(library, self._bootstrap(chosen), chosen, self.tls, login)

    def _bootstrap(self, listener: Listener) -> str:
        registry = self.server.driver_to_read().cluster.registry
        endpoints = [registry[broker_id].endpoint(listener) for broker_id in self.brokers]
        return ",".join(f"{_bracketed(broker.host)}:{broker.port}" for broker in endpoints)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | int | bool] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic. -1 takes the broker's default (1 partition; as many replicas as brokers, at most 3).

        `assignments` lists the brokers of each partition, the preferred leader first, as in [[3, 1], [1, 2]]. It fixes
        the number of partitions and replicas, so leave out `partitions` and `replication_factor`. Raises KafkaError
        with the error code that CreateTopics would return.
        """
        finish(self._administration.create_topic(name, partitions, replication_factor, configs, assignments))

    def alter_topic_configs(self, name: str, configs: Mapping[str, str | int | bool | None]) -> None:
        """Set some settings of a topic, or reset them to their defaults with None; the others stay. They apply from the
        next request on. Parked requests are not woken, as in Kafka. If it raises KafkaError, nothing is changed."""
        finish(self._administration.alter_topic_configs(name, configs))

    def expire_sessions(self, user: str | None = None) -> int:
        """End the sessions of SASL of a user, or of all, now. The next request of such a client closes its connection,
        unless the client authenticates again. Return how many there were."""
        return self._administration.expire_sessions(user)

    def alter_broker_configs(self, configs: Mapping[str, str | int | bool | None]) -> None:
        """Set some settings of all brokers, or reset them to their value at the start with None; the others stay.
        Topics without a setting of their own use the new value at once. Raises KafkaError, and changes nothing, for
        settings that Kafka cannot alter while brokers run (`fakebroker configs` lists them)."""
        finish(self._administration.alter_broker_configs(configs))

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Parked requests for it get UNKNOWN_TOPIC_OR_PARTITION. Raises KafkaError if there is no such
        topic."""
        finish(self._administration.delete_topic(name))

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Make an in-sync replica the leader; do nothing if it is the leader. Requests parked at the old leader get
        NOT_LEADER_OR_FOLLOWER. Raises KafkaError for a broker that is stopped, not in sync, or has no replica.

        As in Kafka, the preferred leader is elected again within 300 s, unless `auto.leader.rebalance.enable` is false.
        """
        self._administration.move_leader(topic, partition, broker)

    def reassign(self, topic: str, partition: int, brokers: Sequence[int] | None) -> None:
        """Move a partition to these brokers, the preferred leader first, as AlterPartitionReassignments does. New
        replicas copy the log as their follower behaviour says; the old ones are removed once the new ones are in sync.
        None cancels a reassignment in progress."""
        self._administration.reassign(topic, partition, brokers)

    def compact(self, topic: str) -> int:
        """Compact a topic with `cleanup.policy=compact` now, as if its active segments had just rolled and were dirty
        enough. Records that are uncommitted or younger than `min.compaction.lag.ms` stay. Tombstones stay for
        `delete.retention.ms`. Return the number of partitions that were cleaned."""
        return finish(self._administration.compact(topic))

    def _run_followers(self, steps: Sequence[Step], selection: Selection) -> None:
        finish(self._administration.script_followers(steps, selection))

    def _new_token(self, claims_at: Callable[[int], dict[str, Any]], is_signed: bool) -> str:
        """Make a token of the claims at the present time. Let the brokers know the key of a signed one."""
        driver = self.server.driver_here()
        claims = claims_at(driver.clock.stamp().wall_ms)
        if not is_signed:
            return unsecured(claims)
        driver.cluster.sasl.mechanisms.verify = self._signer.verify
        return self._signer.sign(claims)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
