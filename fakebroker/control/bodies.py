"""The JSON of requests: one class for each body or query.

Shape    An unknown member is refused, with the name of the closest known one. Numbers are whole and bounded.
Units    in the names: _ms are milliseconds of the broker's clock, _wall_ms of the machine's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from fakebroker.spelling import closest

MAX_WAIT_MS = 60_000
MAX_MS = 366 * 24 * 3_600_000

Name = Annotated[str, Field(max_length=1000)]
Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
BrokerId = Annotated[str, Field(pattern="^[0-9]{1,10}$")]  # as the name of a member
Setting = str | bool | int | float
Step = Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_MS)], Name], Field(strict=False)]  # JSON has lists
Settings = dict[Name, Setting]
Ids = Annotated[list[Id], Field(max_length=100, fail_fast=True)]


class Strict(BaseModel):
    """A model that refuses unknown members."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _know_all(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for name in given:
                if name not in cls.model_fields:
                    meant = closest(name, cls.model_fields)
                    raise PydanticCustomError(
                        "unknown_member",
                        "there is no member {name}{meant}; there are {known}",
                        {
                            "name": ascii(name),
                            "meant": f" (did you mean {meant[0]}?)" if meant else "",
                            "known": ", ".join(cls.model_fields) or "none",
                        },
                    )
        return given


class Limits(Strict):
    """Limits of a wait: `timeout_ms` by the broker's clock, `timeout_wall_ms` by the machine's, whichever is reached
    first. With a manual clock the first one counts only what is advanced."""

    timeout_ms: int = Field(MAX_MS, ge=0, le=MAX_MS, description="milliseconds of the broker's clock")
    timeout_wall_ms: int = Field(10_000, ge=0, le=MAX_WAIT_MS, description="milliseconds of the machine's clock")


class NewTopic(Strict):
    """A topic to create. -1 takes the broker's default."""

    name: Name
    partitions: int = Field(-1, ge=-1, le=100_000)
    replication_factor: int = Field(-1, ge=-1, le=100)
    configs: Settings = Field(default_factory=dict, description="by Kafka's names")
    assignments: list[Ids] | None = Field(
        None,
        max_length=10_000,
        fail_fast=True,
        description="the brokers of each partition, the preferred leader first; replaces the two numbers",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "orders", "partitions": 2, "replication_factor": 3, "configs": {"min.insync.replicas": 2}}
            ]
        }
    )


class Configs(Strict):
    """Settings by Kafka's names; null resets one."""

    configs: dict[Name, Setting | None]

    model_config = ConfigDict(json_schema_extra={"examples": [{"configs": {"min.insync.replicas": 2}}]})


class Followers(Strict):
    """The behaviour of followers: of all, or those of a topic, partition or broker. `resume` undoes `frozen`."""

    behaviour: Literal["instant", "lagging", "throttled", "frozen", "external", "resume"] | None = None
    lag_ms: int | None = Field(None, ge=0, le=2**31 - 1, description="lag of `lagging`, in milliseconds")
    bytes_per_s: int | None = Field(None, ge=1, le=2**63 - 1, description="rate of `throttled`, in bytes a second")
    topic: Name | None = None
    partition: Id | None = None
    broker: Id | None = None
    script: list[Step] | None = Field(
        None,
        min_length=1,
        max_length=1000,
        fail_fast=True,
        description="replaces `behaviour`: steps of [milliseconds from now, behaviour], in order",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"behaviour": "frozen", "topic": "orders", "partition": 0},
                {"behaviour": "lagging", "lag_ms": 200},
                {"script": [[0, "frozen"], [5000, "resume"]]},
            ]
        }
    )


class NewLeader(Strict):
    broker: Id

    model_config = ConfigDict(json_schema_extra={"examples": [{"broker": 2}]})


class NewReplicas(Strict):
    """The new replicas of a partition, the preferred leader first; null cancels a reassignment."""

    brokers: Ids | None

    model_config = ConfigDict(json_schema_extra={"examples": [{"brokers": [2, 3]}]})


class ClockTo(Strict):
    """The time to set a clock to; it never goes back. Give one of the two."""

    elapsed_ms: int | None = Field(
        None, ge=0, le=100 * MAX_MS, description="milliseconds since the start of the cluster"
    )
    wall_ms: int | None = Field(None, ge=0, le=2**53, description="milliseconds since 1970")

    model_config = ConfigDict(json_schema_extra={"examples": [{"elapsed_ms": 30_000}]})


class Advance(Strict):
    """The time to advance: some milliseconds, or to the next pending event. Give one of the two."""

    ms: int | None = Field(None, ge=0, le=MAX_MS)
    to: Literal["next_deadline"] | None = None

    model_config = ConfigDict(json_schema_extra={"examples": [{"ms": 30_000}, {"to": "next_deadline"}]})


class JournalQuery(Strict):
    """A selection of events; an omitted selector matches all. `after` is the `next` of the page before; without it the
    last events are returned."""

    event: Name | None = Field(None, description='kinds of events, as in "append,answer"')
    topic: Name | None = None
    partition: Count | None = None
    broker: Count | None = None
    request: Count | None = None
    connection: Count | None = None
    api: Name | None = Field(None, description="Kafka's name of the API")
    client_id: Name | None = None
    principal: Name | None = Field(None, description='user of a client, as in "User:alice": its logins and requests')
    group_id: Name | None = None
    transactional_id: Name | None = None
    fault: Name | None = None
    error: Name | None = Field(None, description="Kafka's name of the error, or NONE")
    after: int | None = Field(None, ge=0, le=2**53)
    limit: int = Field(100, ge=1, le=1000)

    model_config = ConfigDict(strict=False)  # all of a query is text


class TimelineQuery(Strict):
    """A request: by its number in the journal, or by a record that it wrote."""

    request: Count | None = None
    topic: Name | None = None
    partition: Count | None = None
    offset: int | None = Field(None, ge=0, le=2**63 - 1)

    model_config = ConfigDict(strict=False)  # all of a query is text


class Expectation(Limits):
    """An expectation of the responses to Produce requests, partition by partition."""

    topic: Name | None = None
    partition: Id | None = None
    client_id: Name | None = None
    error: Name | None = Field(None, description="Kafka's name, or NONE; omitted: any response")
    count: int | None = Field(None, ge=0, le=2**31 - 1, description="exact number of responses; omitted: at least one")
    within_ms: int | None = Field(
        None, ge=0, le=2**31 - 1, description="longest time from handling to response, in milliseconds"
    )
    timeout_ms: int = Field(0, ge=0, le=MAX_MS, description="longest wait, in milliseconds of the broker's clock")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"topic": "orders", "error": "REQUEST_TIMED_OUT", "count": 1, "timeout_ms": 30_000}]
        }
    )


class ParkedWait(Limits):
    """A wait until at least `count` requests are parked, of this API and at this broker."""

    count: int = Field(1, ge=0, le=1_000_000)
    api: Name | None = Field(None, description='"Produce", "Fetch", "DeleteRecords"')
    broker: Id | None = None
    topic: Name | None = None
    partition: Id | None = None
    client_id: Name | None = None

    model_config = ConfigDict(json_schema_extra={"examples": [{"api": "Produce", "count": 3}]})


class GroupWait(Limits):
    """A wait until a group is in a state, and has that many members."""

    group_id: Name
    state: Name | None = Field(None, description="state as in DescribeGroups: Stable, Empty, Dead ...")
    members: int | None = Field(None, ge=0, le=1_000_000)

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"group_id": "billing", "state": "Stable", "members": 2}]}
    )


class FaultWait(Limits):
    """A wait until a fault has fired on `hits` requests, and holds `held` requests."""

    hits: int = Field(0, ge=0, le=2**31 - 1)
    held: int = Field(0, ge=0, le=2**31 - 1)

    model_config = ConfigDict(json_schema_extra={"examples": [{"hits": 1}, {"held": 3}]})


class Release(Strict):
    """The requests to release: all that are held, or the first `count`."""

    count: int | None = Field(None, ge=0, le=2**31 - 1)

    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 1}]})


class Entity(Strict):
    """The entity of a quota: a user, a client id, both, or an IP address. "<default>" applies to all entities without a
    quota of their own."""

    user: Name | None = None
    client_id: Name | None = None
    ip: Name | None = None


class Quota(Entity):
    """The quotas of an entity; omitted ones stay as they are."""

    producer_byte_rate: int | None = Field(None, ge=1, le=2**53, description="bytes a second at each broker")
    consumer_byte_rate: int | None = Field(None, ge=1, le=2**53, description="bytes a second at each broker")
    request_percentage: float | None = Field(None, gt=0, le=1e9, allow_inf_nan=False)
    controller_mutation_rate: float | None = Field(None, gt=0, le=1e9, allow_inf_nan=False)
    connection_creation_rate: int | None = Field(
        None, ge=1, le=2**31 - 1, description="connections a second from an address, at each broker"
    )

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"client_id": "loader", "producer_byte_rate": 1_000_000}]}
    )


class NewAcl(Strict):
    """An ACL. Names are Kafka's, in upper or lower case."""

    resource_type: Name = Field(description="topic, group, cluster, transactional_id, delegation_token or user")
    name: Name = Field(description="kafka-cluster for the resource type cluster")
    operation: Name = Field(description="all, read, write, describe, create, delete, alter, ...")
    principal: Name = "User:*"
    host: Name = Field("*", description="an address, a network in CIDR notation, or *")
    permission: Name = Field("allow", description="allow or deny")
    pattern: Name = Field("literal", description="literal or prefixed")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"resource_type": "topic", "name": "orders", "operation": "write", "principal": "User:alice"},
            ]
        }
    )


class AclOf(Strict):
    """A filter of ACLs; an omitted member matches all. The pattern "match" finds those that concern a resource with
    this name."""

    resource_type: Name = "any"
    name: Name | None = None
    operation: Name = "any"
    principal: Name | None = None
    host: Name | None = None
    permission: Name = "any"
    pattern: Name = "any"

    model_config = ConfigDict(json_schema_extra={"examples": [{"principal": "User:alice"}]})


class UserOf(Strict):
    """A user, for these mechanisms."""

    name: Name
    mechanisms: list[Name] = Field(
        default=["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], max_length=10, description="mechanisms that have users"
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "alice"}]})


class NewUser(UserOf):
    """A user with its password."""

    password: Name

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "alice", "password": "secret"}]})


class SessionsOf(Strict):
    """A user, to end its sessions; null for those of all users."""

    user: Name | None = None

    model_config = ConfigDict(json_schema_extra={"examples": [{"user": "alice"}]})


class NewCluster(Strict):
    """A cluster of its own in this process, on free ports. It is deleted when it has got no request for `lease_ms`."""

    brokers: int = Field(3, ge=1, le=100)
    topics: list[NewTopic] = Field(default_factory=list, max_length=100)
    clock: Literal["real", "manual", "auto"] = "real"
    followers: Name = Field("instant", description="instant, lagging:MS, throttled:BYTES_PER_S, frozen, external")
    config: dict[Name, Setting] = Field(default_factory=dict, description="settings of the brokers, by Kafka's names")
    features: dict[Name, int] = Field(default_factory=dict)
    racks: dict[BrokerId, Name] = Field(default_factory=dict, description="racks by broker id")
    listeners: list[Name] | None = Field(
        None,
        max_length=20,
        description="listeners of each broker, as PROTOCOL or NAME=PROTOCOL; one in plain text if null",
    )
    users: dict[Name, Name] | None = Field(
        None, max_length=100, description="passwords of SASL users by name; without listeners there is SASL_PLAINTEXT"
    )
    acls: list[NewAcl] | None = Field(
        None, max_length=1000, description="ACLs from the start; what none allows is refused"
    )
    defaults: Literal["fakebroker", "kafka", "test"] = "fakebroker"
    seed: int = Field(0, ge=0, le=2**53)
    life: Literal["new", "first"] = Field("new", description="first: all ids follow from the seed")
    lease_ms: int = Field(
        600_000, ge=100, le=24 * 3_600_000, description="lease, in milliseconds of the machine's clock"
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"brokers": 3, "clock": "manual", "topics": [{"name": "orders"}], "lease_ms": 60_000}]
        }
    )


class Presented(Strict):
    """The certificate that brokers present in handshakes of TLS."""

    present: Literal["valid", "expired", "not yet valid", "wrong host", "unknown issuer", "nothing"] = "valid"
    lifetime_ms: int | None = Field(None, ge=1, le=MAX_MS, description="of a valid certificate")

    model_config = ConfigDict(json_schema_extra={"examples": [{"present": "expired"}]})


class NewCertificate(Strict):
    """A certificate for a client, which brokers refuse unless it is valid."""

    common_name: str = Field(min_length=1, max_length=64)
    present: Literal["valid", "expired", "not yet valid", "unknown issuer"] = "valid"

    model_config = ConfigDict(json_schema_extra={"examples": [{"common_name": "alice"}]})


class NewToken(Strict):
    """A token for a login by OAUTHBEARER, valid from now on, on the cluster's clock. A claim of null is left out."""

    subject: str = Field(max_length=1000)
    lifetime_ms: int = Field(default=3_600_000, ge=-MAX_MS, le=MAX_MS)
    claims: dict[Name, Any] = {}
    is_signed: bool = True

    model_config = ConfigDict(json_schema_extra={"examples": [{"subject": "alice", "claims": {"aud": "kafka"}}]})


class ClientOf(Strict):
    """A client: its library, and how it authenticates."""

    library: Literal[
        "aiokafka", "confluent", "franz-go", "java", "kafka-go", "kafka-python", "kafkajs", "librdkafka", "sarama"
    ] = Field(description="aiokafka has no settings for TLS here, since it takes an SSLContext, which is no JSON")
    listener: Name | None = Field(None, description="its name or protocol; the first one if null")
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] = "PLAIN"
    user: Name | None = None
    password: Name | None = None
    common_name: str | None = Field(None, min_length=1, max_length=64, description="of a new certificate")
    token: str | None = Field(None, min_length=1, max_length=65_536, description="for the mechanism OAUTHBEARER")

    model_config = ConfigDict(json_schema_extra={"examples": [{"library": "java", "listener": "SSL"}]})


class Lease(Strict):
    """A lease from now on."""

    lease_ms: int = Field(600_000, ge=100, le=24 * 3_600_000)
