"""The clusters that cases run on, by name: the same brokers and settings for Kafka and for fakebroker."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.sasl.sign_tokens import AUDIENCE, ISSUER, KEYS
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER

_COMMON = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",  # leaders are where a case puts them
    "log.retention.ms": "-1",  # cases use fixed timestamps of the past
}


# Sessions may be short, so that a case need not wait long. The first generation does not wait for more members.
_GROUPS = _COMMON | {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "300"}


# One coordinator for all transactional ids and groups; transactions that took too long are looked for all the time.
_TRANSACTIONS = _GROUPS | {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
_ALONE = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
_THREE = {"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "3"}
_CLEANS = {"log.cleaner.enable": "true", "log.cleaner.backoff.ms": "500"}
_CLEANS_SMALL = {"log.cleaner.dedupe.buffer.size": str(2**21), "log.cleaner.io.buffer.size": str(2**17)}
_UNVERIFIED = {"transaction.partition.verification.enable": "false"}
_SHORT_SESSIONS = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}


_DYING = _COMMON | {"broker.session.timeout.ms": "3000"}
_PATIENT = {"request.timeout.ms": "600000"}
_DYING_FAST = {
    "broker.heartbeat.interval.ms": "300",
    "replica.fetch.backoff.ms": "100",  # a follower of a broker that does not lead yet is back soon
    "replica.high.watermark.checkpoint.interval.ms": "100",  # else it is luck what a dead leader remembers
}


_JAAS = {
    "plain": 'plain.PlainLoginModule required user_alice="secret" user_bob="word";',
    "scram-sha-256": "scram.ScramLoginModule required;",
    "scram-sha-512": "scram.ScramLoginModule required;",
    "oauthbearer": 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
}


def _logins(listener: str) -> dict[str, str]:
    """Return the settings of a listener with all mechanisms."""
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        **{
            f"listener.name.{listener}.{mechanism}.sasl.jaas.config": f"org.apache.kafka.common.security.{module}"
            for mechanism, module in _JAAS.items()
        },
    }


_SASL = _COMMON | _logins("sasl_plaintext")


KEYS_URL = "{keys}"  # in settings
_VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_OAUTH = "listener.name.sasl_plaintext.oauthbearer"
_ALLOWED_URLS = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls"
_KEYS_OF_A_FILE = _COMMON | {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    f"{_OAUTH}.sasl.jaas.config": f"org.apache.kafka.common.security.{_JAAS['oauthbearer']}",
    f"{_OAUTH}.sasl.server.callback.handler.class": _VALIDATOR,
    f"{_OAUTH}.sasl.oauthbearer.jwks.endpoint.url": KEYS_URL,
}
_SIGNED_ANY = _KEYS_OF_A_FILE | {
    f"{_OAUTH}.sasl.oauthbearer.allow.unverified.audience": "true",
    f"{_OAUTH}.sasl.oauthbearer.allow.unverified.issuer": "true",
    f"{_OAUTH}.sasl.oauthbearer.sub.claim.name": "name",
    f"{_OAUTH}.sasl.oauthbearer.scope.claim.name": "roles",
}
_SIGNED = _KEYS_OF_A_FILE | {
    f"{_OAUTH}.sasl.oauthbearer.expected.audience": f"{AUDIENCE},second",
    f"{_OAUTH}.sasl.oauthbearer.expected.issuer": ISSUER,
}


@dataclass(frozen=True)
class Box:
    brokers: int
    config: dict[str, str]
    kafka_only: dict[str, str] = field(default_factory=dict)  # what fakebroker has no use for
    features: dict[str, int] = field(default_factory=dict)  # levels that are other than the highest
    racks: dict[int, str] = field(default_factory=dict)  # where brokers stand, by id
    controller_apart: bool = False  # in Kafka: then every broker may die
    has_cuts: bool = False  # and be cut off from the controller
    listeners: tuple[str, ...] = ()  # beside PLAINTEXT, each named as its protocol
    java_options: tuple[str, ...] = ()

    @property
    def placed(self) -> dict[str, str]:
        """Return the settings with the URL of the file of keys in place of `KEYS_URL`: it differs between machines."""
        return {name: self.place(value) for name, value in self.config.items()}

    def place(self, text: str) -> str:
        """Return a setting, or an option of Java, with that URL in it."""
        return text.replace(KEYS_URL, KEYS.as_uri())


# What Kafka in a box is given anyway (kafka_box.py), so that both tell the same of it.
_TOLD = _COMMON | {
    "broker.session.timeout.ms": "3600000",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.cleaner.enable": "false",
    "log.roll.ms": str(2**63 - 1),
    "offsets.topic.replication.factor": "1",
}

BOXES = {
    "one": Box(1, _COMMON),
    "alone": Box(1, _COMMON),  # for one case that asks for all topics
    # For cases that alter what all cases of a box would feel. Without eligible leader replicas (KIP-966), which we do
    # not have: with them min.insync.replicas is set for all brokers from the start, and altered by other rules.
    "configs": Box(1, _TOLD, features={"eligible.leader.replicas.version": 0}),
    # Its broker is the controller too, and is told so: which listeners it has to keep depends on that.
    "listeners": Box(
        1,
        _TOLD
        | {
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT,OTHER:PLAINTEXT"
            ),
        },
    ),
    "quotas": Box(1, _COMMON),  # for quotas, credentials and features of the whole cluster
    "three": Box(3, _COMMON),
    "racks": Box(
        3,
        _COMMON | {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"},
        racks={1: "a", 2: "b", 3: "c"},
    ),
    "lag": Box(3, _COMMON | {"replica.lag.time.max.ms": "1500"}),
    "groups": Box(1, _GROUPS),
    # What coordinators write has to fit into a batch, and these are small.
    "small-batches": Box(
        1,
        _TRANSACTIONS | _ALONE | {"message.max.bytes": "800", "group.consumer.assignment.interval.ms": "0"},
    ),
    "small-groups": Box(1, _GROUPS | {"group.initial.rebalance.delay.ms": "400", "group.max.size": "2"}),
    # One coordinator for all groups; a request that waits for replicas does not wait long.
    "coordinator": Box(
        3,
        _COMMON
        | {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "3",
            "offsets.commit.timeout.ms": "1000",
        },
    ),
    # One broker, and two would be needed: no broker ever coordinates a group or a transactional id.
    "no-coordinators": Box(
        1,
        _COMMON | {"offsets.topic.replication.factor": "2", "transaction.state.log.replication.factor": "2"},
    ),
    # Every change has its assignment at once, and a group may have short sessions of its own.
    "consumer-groups": Box(
        1,
        _GROUPS
        | {
            "group.consumer.assignment.interval.ms": "0",
            "group.consumer.min.session.timeout.ms": "500",
            "group.consumer.min.heartbeat.interval.ms": "100",
            "group.consumer.max.size": "10",
        },
    ),
    # Walks of groups over three brokers: one coordinator for all of them, which moves, and brokers that stop. Only a
    # group that says so has sessions that end.
    "walks": Box(
        3,
        _GROUPS
        | {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "3",
            "group.consumer.assignment.interval.ms": "0",
            "group.consumer.min.session.timeout.ms": "500",
            "group.consumer.session.timeout.ms": "1200000",
            "group.consumer.max.session.timeout.ms": "1200000",
            "group.consumer.min.heartbeat.interval.ms": "100",
            "group.consumer.max.size": "10",
        },
        {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"},
    ),
    # For whole client libraries: sessions of the broker's choosing are short, changes have their assignment at once.
    "clients": Box(
        3,
        _GROUPS
        | {
            "offsets.topic.num.partitions": "5",
            "group.consumer.assignment.interval.ms": "0",
            "group.consumer.min.session.timeout.ms": "500",
            "group.consumer.session.timeout.ms": "3000",
            "group.consumer.min.heartbeat.interval.ms": "100",
            "group.consumer.heartbeat.interval.ms": "300",
        },
    ),
    "compacts": Box(1, _COMMON | _CLEANS, _CLEANS_SMALL),
    # Everything is allowed until the first case gives ACLs to the harness (conformance/security/acl_steps.py).
    "acls": Box(
        1,
        _TRANSACTIONS
        | _ALONE
        | {
            "auto.create.topics.enable": "true",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "allow.everyone.if.no.acl.found": "true",
            "group.consumer.assignment.interval.ms": "0",
        },
    ),
    "transactions": Box(1, _TRANSACTIONS | _ALONE),
    "transactions-1": Box(1, _TRANSACTIONS | _ALONE, features={"transaction.version": 1}),
    "transactions-0": Box(1, _TRANSACTIONS | _ALONE, features={"transaction.version": 0}),
    "transactions-unverified": Box(1, _TRANSACTIONS | _ALONE | _UNVERIFIED),
    "transactions-unverified-1": Box(1, _TRANSACTIONS | _ALONE | _UNVERIFIED, features={"transaction.version": 1}),
    "transactions-compact": Box(1, _TRANSACTIONS | _ALONE | _CLEANS, _CLEANS_SMALL),
    "transactions-compact-1": Box(
        1, _TRANSACTIONS | _ALONE | _CLEANS, _CLEANS_SMALL, features={"transaction.version": 1}
    ),
    "transactions-three": Box(3, _TRANSACTIONS | _THREE, _SHORT_SESSIONS),
    "transactions-three-1": Box(3, _TRANSACTIONS | _THREE, _SHORT_SESSIONS, {"transaction.version": 1}),
    # For programs that do things exactly once while brokers die: a silent broker is given up after three seconds.
    "exactly-once": Box(
        3, _TRANSACTIONS | _THREE | {"broker.session.timeout.ms": "3000"}, _DYING_FAST, controller_apart=True
    ),
    # For cases that stop brokers: while its session holds, a broker cannot come back (DuplicateBrokerRegistration).
    "stops": Box(3, _COMMON, {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "500"}),
    # For brokers that die: a session is over soon, and no replica leaves an ISR without that.
    "deaths": Box(3, _DYING, _DYING_FAST, features={"eligible.leader.replicas.version": 0}, controller_apart=True),
    "deaths-hasty": Box(  # fetches are given up after few seconds
        3,
        _DYING | {"request.timeout.ms": "4500"},
        _DYING_FAST,
        features={"eligible.leader.replicas.version": 0},
        controller_apart=True,
    ),
    "deaths-elr": Box(3, _DYING, _DYING_FAST, controller_apart=True),
    # For rounds of plans: on a slow machine a broker is paused for more than half a minute there, and still keeps the
    # responses from before.
    "deaths-rounds": Box(
        3, _DYING | _PATIENT, _DYING_FAST, features={"eligible.leader.replicas.version": 0}, controller_apart=True
    ),
    "deaths-elr-rounds": Box(3, _DYING | _PATIENT, _DYING_FAST, controller_apart=True),
    "sasl": Box(1, _SASL | {"delegation.token.secret.key": "secret"}, listeners=("SASL_PLAINTEXT",)),
    "sasl-sessions": Box(1, _SASL | {"connections.max.reauth.ms": "2500"}, listeners=("SASL_PLAINTEXT",)),
    # A handler that is of no mechanism has no effect, nor have certificates for all listeners at one with SASL.
    "sasl-settings": Box(
        1,
        _SASL | _logins("sasl_ssl") | {"sasl.server.callback.handler.class": _VALIDATOR, "ssl.client.auth": "required"},
        listeners=("SASL_PLAINTEXT", "SASL_SSL"),
    ),
    # The harness is User:ANONYMOUS at the listener PLAINTEXT, and may do everything. Users log in at SASL_SSL.
    "users": Box(
        1,
        _TRANSACTIONS
        | _ALONE
        | _logins("sasl_ssl")
        | {
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS;User:admin",
            "delegation.token.secret.key": "secret",
            "group.consumer.assignment.interval.ms": "0",
        },
        listeners=("SASL_SSL",),
    ),
    "stores": Box(1, _COMMON, listeners=("SSL",)),
    "signed-any": Box(1, _SIGNED_ANY, listeners=("SASL_PLAINTEXT",), java_options=(f"{_ALLOWED_URLS}={KEYS_URL}",)),
    "signed": Box(1, _SIGNED, listeners=("SASL_PLAINTEXT",), java_options=(f"{_ALLOWED_URLS}={KEYS_URL}",)),
    "cuts": Box(3, _DYING, _DYING_FAST, controller_apart=True, has_cuts=True),
}
