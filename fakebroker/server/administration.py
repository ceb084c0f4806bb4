"""Methods of `AsyncFakeCluster` that tell how clients reach a running cluster, and that change its topics and settings.

A method that changes something reads the clock, enters the matching door of the cluster, and performs the resulting
effects before it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypeVar

from fakebroker.core.arguments import MAPPING, STRING, STRING_OR_NONE, WHOLE_NUMBER, require
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.replication.behaviour import Selection
from fakebroker.core.security.identity import Listener
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import Slices, finish
from fakebroker.server.driver import Driver
from fakebroker.server.followers_in_hand import FollowerBehaviours, Step
from fakebroker.server.made.arguments import Arguments, read_assignments
from fakebroker.server.oauth.tokens import OAuth, TokenSigner, unsecured
from fakebroker.server.quotas_in_hand import Quotas
from fakebroker.server.security.acls_in_hand import Acls
from fakebroker.server.security.users_in_hand import Users, put_user
from fakebroker.server.settings import texts
from fakebroker.server.tls.certificates import ClientCertificate
from fakebroker.server.tls.client_settings import PLAIN, ClientLogin, client_settings
from fakebroker.server.tls.in_hand import Tls

T = TypeVar("T")


class Administration:
    """Base class of `AsyncFakeCluster`, which supplies the driver.

    tls         the certificates of listeners with TLS
    followers   the behaviour of followers
    quotas      the quotas of clients
    oauth       tokens for OAUTHBEARER
    acls        the ACLs
    users       the users of SASL
    """

    def __init__(self, arguments: Arguments, certificates: str | PathLike[str] | None) -> None:
        self._arguments = arguments
        self.tls = Tls(arguments.places, certificates)
        self.followers = FollowerBehaviours(self._run_followers)
        self.quotas = Quotas(self._reach)
        self._signer = TokenSigner()
        self.oauth = OAuth(self._new_token, self._signer)
        self.acls = Acls(self._reach)
        self.users = Users(self._reach)

    @property
    def _at_home(self) -> Driver:
        """Return the driver. Raises RuntimeError if the caller is in another loop, thread or process, or if the cluster
        does not run."""
        raise NotImplementedError

    @property
    def _seen(self) -> Driver:
        """Return the driver for read-only access, from any thread."""
        raise NotImplementedError

    def _reach(self, act: Callable[[Driver], T], /) -> T:
        return act(self._at_home)

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Return id, host and port of each running broker, as clients see them."""
        return list(self._seen.cluster.metadata.alive_brokers(self._arguments.places[0].listener))

    @property
    def bootstrap_servers(self) -> str:
        """Return "host:port,host:port,..." of all brokers, running or not, for a client's configuration. With several
        listeners it is that of the first."""
        return self._bootstrap(self._arguments.places[0].listener)

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Return the name and the security protocol of each listener."""
        return tuple(place.listener for place in self._arguments.places)

    def bootstrap(self, listener: str) -> str:
        """Return the bootstrap servers of a listener, by its name or its protocol. Raises ValueError if there is no
        such listener, or several."""
        return self._bootstrap(self._arguments.listener(listener))

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
        chosen = self.listeners[0] if listener is None else self._arguments.listener(listener)
        if password is None and isinstance(user, str):
            password = self._seen.cluster.sasl.known_password(user, mechanism)
        login = ClientLogin(mechanism, user, password, certificate, token)
        return client_settings(library, self._bootstrap(chosen), chosen, self.tls, login)

    def _bootstrap(self, listener: Listener) -> str:
        core = self._seen.cluster
        endpoints = [core.registry[broker_id].endpoint(listener) for broker_id in self._arguments.broker_ids]
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
        require(STRING, name=name)
        require(WHOLE_NUMBER, partitions=partitions, replication_factor=replication_factor)
        new = NewTopic(name, partitions, replication_factor, read_assignments(assignments), texts(configs))
        finish(self._create_topic_in_slices(new))

    def _create_topic_in_slices(self, new: NewTopic) -> Slices[None]:
        driver = self._at_home
        yield from driver.cluster.admin.create_topic_in_slices(new, driver.clock.stamp())

    def alter_topic_configs(self, name: str, configs: Mapping[str, str | int | bool | None]) -> None:
        """Set some settings of a topic, or reset them to their defaults with None; the others stay. They apply from the
        next request on. Parked requests are not woken, as in Kafka. If it raises KafkaError, nothing is changed."""
        finish(self._alter_topic_configs_in_slices(name, configs))

    def _alter_topic_configs_in_slices(self, name: str, configs: Mapping[str, str | int | bool | None]) -> Slices[None]:
        require(STRING, name=name)
        require(MAPPING, configs=configs)
        driver = self._at_home
        yield from driver.cluster.admin.alter_topic_configs_in_slices(name, texts(configs), driver.clock.stamp())
        driver.settle()

    def expire_sessions(self, user: str | None = None) -> int:
        """End the sessions of SASL of a user, or of all, now. The next request of such a client closes its connection,
        unless the client authenticates again. Return how many there were."""
        require(STRING_OR_NONE, user=user)
        driver = self._at_home
        return driver.cluster.admin.expire_sessions(user, driver.clock.stamp())

    def alter_broker_configs(self, configs: Mapping[str, str | int | bool | None]) -> None:
        """Set some settings of all brokers, or reset them to their value at the start with None; the others stay.
        Topics without a setting of their own use the new value at once. Raises KafkaError, and changes nothing, for
        settings that Kafka cannot alter while brokers run (`fakebroker configs` lists them)."""
        finish(self._alter_broker_configs_in_slices(configs))

    def _alter_broker_configs_in_slices(self, configs: Mapping[str, str | int | bool | None]) -> Slices[None]:
        require(MAPPING, configs=configs)
        driver = self._at_home
        yield from driver.cluster.admin.alter_broker_configs_in_slices(texts(configs), driver.clock.stamp())
        driver.settle()

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Parked requests for it get UNKNOWN_TOPIC_OR_PARTITION. Raises KafkaError if there is no such
        topic."""
        finish(self._delete_topic_in_slices(name))

    def _delete_topic_in_slices(self, name: str) -> Slices[None]:
        require(STRING, name=name)
        driver = self._at_home
        yield from driver.cluster.admin.delete_topic_in_slices(name, driver.clock.stamp())
        driver.settle()

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Make an in-sync replica the leader; do nothing if it is the leader. Requests parked at the old leader get
        NOT_LEADER_OR_FOLLOWER. Raises KafkaError for a broker that is stopped, not in sync, or has no replica.

        As in Kafka, the preferred leader is elected again within 300 s, unless `auto.leader.rebalance.enable` is false.
        """
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition, broker=broker)
        driver = self._at_home
        driver.cluster.admin.move_leader(topic, partition, broker, driver.clock.stamp())
        driver.settle()

    def reassign(self, topic: str, partition: int, brokers: Sequence[int] | None) -> None:
        """Move a partition to these brokers, the preferred leader first, as AlterPartitionReassignments does. New
        replicas copy the log as their follower behaviour says; the old ones are removed once the new ones are in sync.
        None cancels a reassignment in progress."""
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition)
        for broker in brokers or ():
            require(WHOLE_NUMBER, broker=broker)
        driver = self._at_home
        driver.cluster.admin.reassign(topic, partition, brokers, driver.clock.stamp())
        driver.settle()

    def compact(self, topic: str) -> int:
        """Compact a topic with `cleanup.policy=compact` now, as if its active segments had just rolled and were dirty
        enough. Records that are uncommitted or younger than `min.compaction.lag.ms` stay. Tombstones stay for
        `delete.retention.ms`. Return the number of partitions that were cleaned."""
        return finish(self._compact_in_slices(topic))

    def _compact_in_slices(self, topic: str) -> Slices[int]:
        require(STRING, topic=topic)
        driver = self._at_home
        cleaned = yield from driver.cluster.admin.compact_in_slices(topic, driver.clock.stamp())
        driver.settle()
        return cleaned

    # Internal methods.

    def _new_token(self, claims_at: Callable[[int], dict[str, Any]], is_signed: bool) -> str:
        """Make a token of the claims at the present time. Let the brokers know the key of a signed one."""
        driver = self._at_home
        claims = claims_at(driver.clock.stamp().wall_ms)
        if not is_signed:
            return unsecured(claims)
        driver.cluster.sasl.mechanisms.verify = self._signer.verify
        return self._signer.sign(claims)

    def _admit(self) -> None:
        """Create the users and ACLs of the arguments."""
        cluster = self._at_home.cluster
        for name, secrets in self._arguments.users.items():
            put_user(cluster, name, secrets)
        for binding in self._arguments.acls:
            cluster.admin.create_acl(binding)

    def _run_followers(self, steps: Sequence[Step], selection: Selection) -> None:
        finish(self._run_followers_in_slices(steps, selection))

    def _run_followers_in_slices(self, steps: Sequence[Step], selection: Selection) -> Slices[None]:
        driver = self._at_home
        yield from driver.cluster.admin.script_followers_in_slices(steps, selection, driver.clock.stamp())
        driver.settle()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
