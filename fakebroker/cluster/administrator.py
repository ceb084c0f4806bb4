"""Changes that a user makes to topics, partitions, followers, settings, sessions and ACLs of a cluster.

Theory   Each change is a door of the cluster: it brings the time, and the caller performs the effects afterwards.
Units    milliseconds (`Now`).
Source   The role of Kafka's AdminClient, without a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from fakebroker.cluster.members import Members
from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import NewTopic, Topic
from fakebroker.core.replication.behaviour import Behaviour, Selection
from fakebroker.core.security.acl_binding import AclBinding, AclBindingFilter
from fakebroker.core.security.acl_control import AclControl, check, matching
from fakebroker.core.security.standard_authorizer import StandardAuthorizer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.topic_partition import TopicPartition

_ACLS_OF_A_SLICE: Final = 200


@final
class Administrator:
    """The changes of one cluster. A change that may unblock requests has them handled."""

    def __init__(
        self, members: Members, expire_sessions: Callable[[str | None], int], handle_requests: Callable[[], None]
    ) -> None:
        self._members = members
        self._controller = members.controller
        self._expire_sessions = expire_sessions
        self._handle_requests = handle_requests

    def create_topic(self, new: NewTopic, now: Now, validate_only: bool = False) -> Topic:
        """Create a topic. Raises KafkaError with the error code of CreateTopics."""
        return finish(self.create_topic_in_slices(new, now, validate_only))

    def create_topic_in_slices(self, new: NewTopic, now: Now, validate_only: bool = False) -> Slices[Topic]:
        self._members.enter(now)
        [result] = yield from self._controller.create_topics_in_slices(
            [new], self._members.clock.read_now, validate_only
        )
        if isinstance(result, KafkaError):
            raise result
        return result

    def compact(self, topic: str, now: Now) -> int:
        """Compact a topic at once. Return how many partitions were cleaned. Raises KafkaError."""
        return finish(self.compact_in_slices(topic, now))

    def compact_in_slices(self, topic: str, now: Now) -> Slices[int]:
        self._members.enter(now)
        return self._members.log_cleaner.compact(self._controller.existing(topic).partitions, now)

    def alter_topic_configs(self, name: str, changes: Mapping[str, str | None], now: Now) -> None:
        """Set some settings of a topic, or reset them to their defaults with None. If it raises KafkaError, nothing is
        changed."""
        finish(self.alter_topic_configs_in_slices(name, changes, now))

    def alter_topic_configs_in_slices(self, name: str, changes: Mapping[str, str | None], now: Now) -> Slices[None]:
        self._members.enter(now)
        yield from self._controller.alter_topic_configs_in_slices(name, changes)

    def delete_topic(self, name: str, now: Now) -> None:
        """Delete a topic. Requests parked for it get UNKNOWN_TOPIC_OR_PARTITION. Raises KafkaError."""
        finish(self.delete_topic_in_slices(name, now))

    def delete_topic_in_slices(self, name: str, now: Now) -> Slices[None]:
        self._members.enter(now)
        yield from self._controller.delete_topic_in_slices(name)
        self._handle_requests()

    def move_leader(self, topic: str, partition: int, broker_id: int, now: Now) -> None:
        """Make an in-sync replica the leader. Requests parked at the old leader get NOT_LEADER_OR_FOLLOWER. Raises
        KafkaError if the replica may not lead."""
        self._members.enter(now)
        self._controller.move_leader(TopicPartition(topic, partition), broker_id, now)
        self._handle_requests()

    def reassign(self, topic: str, partition: int, broker_ids: Sequence[int] | None, now: Now) -> None:
        """Reassign a partition to other replicas, or cancel its reassignment (None). Raises KafkaError."""
        self._members.enter(now)
        self._controller.reassignments.alter(topic, partition, broker_ids, now)
        self._handle_requests()

    def set_followers(
        self,
        behaviour: Behaviour | None,
        now: Now,
        topic: str | None = None,
        partition: int | None = None,
        broker_id: int | None = None,
    ) -> None:
        """Change the behaviour of followers: all, or those of a topic, partition or broker. None undoes a freeze.

        Without topic, partition and broker it also applies to topics made later. A leader adopts the behaviour once it
        follows. Raises KafkaError if no follower is selected.
        """
        self._members.enter(now)
        self._members.followers.set_behaviour(behaviour, Selection(topic, partition, broker_id), now)
        self._handle_requests()

    def script_followers(self, steps: Sequence[tuple[Any, Behaviour | None]], selection: Selection, now: Now) -> None:
        """Change the behaviour of followers over time: (milliseconds from now, behaviour), in order."""
        finish(self.script_followers_in_slices(steps, selection, now))

    def script_followers_in_slices(
        self, steps: Sequence[tuple[Any, Behaviour | None]], selection: Selection, now: Now
    ) -> Slices[None]:
        self._members.enter(now)
        yield from self._members.followers.script_in_slices(steps, selection, now)
        self._handle_requests()

    def alter_broker_configs(self, changes: Mapping[str, str | None], now: Now) -> None:
        """Set some settings of all brokers, or reset them to their value at the start with None. Raises KafkaError."""
        finish(self.alter_broker_configs_in_slices(changes, now))

    def alter_broker_configs_in_slices(self, changes: Mapping[str, str | None], now: Now) -> Slices[None]:
        self._members.enter(now)
        yield from self._members.broker_configs.alter_in_slices(changes)
        self._handle_requests()

    def expire_sessions(self, user: str | None, now: Now) -> int:
        """End the sessions of SASL of a user, or of all, now. Return how many there were."""
        self._members.enter(now)
        return self._expire_sessions(user)

    # ACLs. Each raises KafkaError without an authorizer.

    def create_acl(self, binding: AclBinding) -> None:
        """Create an ACL; it applies from the next request on. Raise KafkaError if Kafka would refuse it."""
        control = AclControl(self._authorizer)
        check(binding)
        [error] = finish(control.create_acls([binding]))
        if error is not None:
            raise error

    def delete_acls(self, wanted: AclBindingFilter) -> Sequence[AclBinding]:
        """Delete the ACLs that match, and return them."""
        return finish(self.delete_acls_in_slices(wanted))

    def delete_acls_in_slices(self, wanted: AclBindingFilter) -> Slices[Sequence[AclBinding]]:
        bindings = yield from self.acls_in_slices(wanted)
        for number, binding in enumerate(bindings, 1):
            self._authorizer.remove(binding)
            if number % _ACLS_OF_A_SLICE == 0:
                yield
        return bindings

    def acls(self, wanted: AclBindingFilter) -> Sequence[AclBinding]:
        """Return the ACLs that match, the oldest first."""
        return finish(self.acls_in_slices(wanted))

    def acls_in_slices(self, wanted: AclBindingFilter) -> Slices[Sequence[AclBinding]]:
        return (yield from matching(self._authorizer, wanted))

    @property
    def _authorizer(self) -> StandardAuthorizer:
        if self._controller.authorizer is None:
            raise KafkaError(ErrorCode.security_disabled, "No Authorizer is configured.")
        return self._controller.authorizer
