"""Changes of settings of topics, brokers, groups and subscriptions: first the broker's checks, then the controller's.

Theory   The broker first checks each resource by itself, sets levels of loggers, and checks settings of brokers. A
         resource that it refuses goes no further. The controller computes the new settings of the others, validates
         them, and checks that the resources exist. A refused resource keeps all its settings, and does not affect the
         others.
Source   core/.../server/ConfigAdminManager.scala preprocess, prepareIncrementalConfigs; ControllerApis.scala;
         metadata/.../controller/ConfigurationControlManager.java; ControllerConfigurationValidator.scala @ 4.0, and the
         responses of a running 4.4.
Differs  No policies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from fakebroker.core.config import client_metrics_config, group_validation
from fakebroker.core.config.broker_loggers import BrokerLoggers
from fakebroker.core.config.config_resource import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    Alteration,
    ConfigResource,
    refuse_other_node,
)
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.controller.alterations import (
    are_all_known,
    bad_request,
    differences,
    prepared,
    refuse_malformed,
    texts_after,
    texts_of,
)
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.topics import MAX_RECORDS_PER_USER_OP
from fakebroker.core.errors import ConfigError
from fakebroker.core.security.acl_binding import CLUSTER_NAME, ResourceType
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol import topic_name
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish

_CHANGES_OF_A_SLICE: Final = 16  # some 10 us each
_COUNTED_OF_A_SLICE: Final = 512
_MIN_ISR: Final = "min.insync.replicas"
_MAX_VALUE: Final = 2**15 - 1  # characters

# True if the client may alter the settings of a resource of this type and name.
IsAuthorized = Callable[[ResourceType, str], bool]

# The change of a resource: its index in the request, its present settings -> its new settings. Raises KafkaError.
Change = Callable[[int, Mapping[str, str]], Slices[dict[str, str]]]


class ConfigurationControl:
    """One request to alter settings, at its broker."""

    def __init__(
        self,
        controller: Controller,
        broker_id: int,
        loggers: BrokerLoggers,
        validate_only: bool,
        is_authorized: IsAuthorized,
    ) -> None:
        self._controller = controller
        self._broker_id = broker_id
        self._loggers = loggers
        self._validate_only = validate_only
        self._is_authorized = is_authorized

    def incremental_alter_configs(
        self, changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]]
    ) -> Slices[list[KafkaError | None]]:
        """Alter some settings of each resource. Return the error of each, in order; None where all is well."""
        results, left = yield from self._preprocess(changes, is_incremental=True)
        if not (yield from are_all_known(alteration for index in left for alteration in changes[index][1])):
            unknown = KafkaError(ErrorCode.unknown_server_error, "")
            return [unknown if index in left else result for index, result in enumerate(results)]
        return (
            yield from self._alter(changes, results, left, lambda index, texts: texts_after(texts, *changes[index]))
        )

    def alter_configs(
        self, changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]]
    ) -> Slices[list[KafkaError | None]]:
        """Replace all settings of each resource: those that are not given are removed."""
        results, left = yield from self._preprocess(changes, is_incremental=False)
        return (yield from self._alter(changes, results, left, lambda index, texts: texts_of(changes[index][1])))

    def _preprocess(
        self, changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]], is_incremental: bool
    ) -> Slices[tuple[list[KafkaError | None], set[int]]]:
        """Run the broker's checks. Return the error of each, and the indexes left for the controller."""
        seen: dict[ConfigResource, int] = {}
        for number, (resource, _) in enumerate(changes, 1):
            seen[resource] = seen.get(resource, 0) + 1
            if number % _COUNTED_OF_A_SLICE == 0:
                yield
        results: list[KafkaError | None] = []
        left: set[int] = set()
        for index, (resource, alterations) in enumerate(changes):
            try:
                if seen[resource] > 1:
                    raise bad_request("Each resource must appear at most once.")
                yield from refuse_malformed(alterations)
                if resource.kind == BROKER_LOGGER and is_incremental:
                    self._refuse_unauthorized(resource)
                    self._loggers.alter(resource.name, self._broker_id, alterations, self._validate_only)
                else:
                    yield from self._check_at_broker(resource, alterations, is_incremental)
                    left.add(index)
                results.append(None)
            except KafkaError as error:
                results.append(error.with_traceback(None))
            if index % _CHANGES_OF_A_SLICE == 0:
                yield
        return results, left

    def _check_at_broker(
        self, resource: ConfigResource, alterations: Sequence[Alteration], is_incremental: bool
    ) -> Slices[None]:
        if resource.kind == BROKER:
            self._refuse_unauthorized(resource)
            if resource.name:
                refuse_other_node(resource.name, self._broker_id)
            configs, broker_id = self._controller.broker_configs, _broker_id(resource)
            if is_incremental:
                texts = yield from prepared(configs.texts(broker_id), alterations)
            else:
                texts = yield from texts_of(alterations)
            configs.validate(texts, broker_id, self._broker_id)
        elif resource.kind not in (TOPIC, CLIENT_METRICS, GROUP):
            raise bad_request(f"Unknown resource type {resource.kind}")

    def _alter(
        self,
        changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]],
        results: list[KafkaError | None],
        left: Collection[int],
        change: Change,
    ) -> Slices[list[KafkaError | None]]:
        """Apply the changes at the controller. All are validated before any is applied."""
        records = 0
        for number, index in enumerate(left):
            resource = changes[index][0]
            try:
                self._refuse_unauthorized(resource, at_controller=True)
                before = self._texts(resource)
                after = self._checked(resource, (yield from change(index, before)))
                is_broker = resource.kind == BROKER
                records += len(changes[index][1]) if is_broker else (yield from differences(before, after))
            except KafkaError as error:
                results[index] = error.with_traceback(None)
            if number % _CHANGES_OF_A_SLICE == 0:
                yield
        if records > MAX_RECORDS_PER_USER_OP:
            too_many = KafkaError(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
            return [too_many if index in left else result for index, result in enumerate(results)]
        for number, index in enumerate(left):
            if results[index] is None and not self._validate_only:
                resource = changes[index][0]
                try:  # validated again: the state may have changed between slices
                    checked = self._checked(resource, finish(change(index, self._texts(resource))))
                    yield from self._set(resource, checked)
                except KafkaError as error:
                    results[index] = error.with_traceback(None)
            if number % _CHANGES_OF_A_SLICE == 0:
                yield
        return results

    def _refuse_unauthorized(self, resource: ConfigResource, at_controller: bool = False) -> None:
        """Raise KafkaError if the client may not alter the resource. Those of brokers belong to the cluster. Only the
        controller's error has a text."""
        if resource.kind == TOPIC:
            is_authorized = self._is_authorized(ResourceType.TOPIC, resource.name)
        elif resource.kind == GROUP:
            is_authorized = self._is_authorized(ResourceType.GROUP, resource.name)
        else:
            is_authorized = self._is_authorized(ResourceType.CLUSTER, CLUSTER_NAME)
        if not is_authorized:
            code = unauthorized(resource.kind)
            raise KafkaError(code, ERROR_TEXTS[code] if at_controller else "")

    def _texts(self, resource: ConfigResource) -> Mapping[str, str]:
        """Return the settings of a resource; none, if it does not exist."""
        controller, (kind, name) = self._controller, resource
        if kind == TOPIC:
            topic = controller.metadata.topic(name)
            return {} if topic is None else topic.configs
        if kind == BROKER:
            return controller.broker_configs.texts(_broker_id(resource))
        return controller.group_configs.own(name) if kind == GROUP else controller.client_metrics.own(name)

    def _checked(self, resource: ConfigResource, texts: dict[str, str]) -> dict[str, str]:
        """Validate the settings (ControllerConfigurationValidator.validate), and check that the resource exists."""
        kind, name = resource
        if max(map(len, texts.values()), default=0) > _MAX_VALUE:
            raise ConfigError(
                f"The configuration value cannot be added because it exceeds the maximum value size of {_MAX_VALUE} "
                "bytes."
            )
        if kind == TOPIC:
            if not name:
                raise bad_request("Default topic resources are not allowed.")
            topic_name.validate(name)
            TopicConfig.of(texts, self._controller.config.topic_defaults)
            if self._controller.metadata.topic(name) is None:
                raise KafkaError(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
        elif kind == BROKER:
            self._refuse_min_isr(name, texts)
        elif kind == GROUP:
            if not name:
                raise bad_request("Default group resources are not allowed.")
            group_validation.validate(texts, self._controller.config)
        elif kind == CLIENT_METRICS:
            client_metrics_config.validate(name, texts)
        return texts

    def _refuse_min_isr(self, name: str, texts: Mapping[str, str]) -> None:
        """Refuse a minimum ISR for a single broker. The eligible leaders depend on it (KIP-966), so it is one for
        all."""
        controller = self._controller
        before = controller.broker_configs.texts(int(name) if name else None)
        if not controller.registry.has_elr() or before.get(_MIN_ISR) == texts.get(_MIN_ISR):
            return
        if name:
            raise ConfigError(f"Broker-level {_MIN_ISR} cannot be altered while ELR is enabled.")
        if _MIN_ISR not in texts:
            raise ConfigError(f"Cluster-level {_MIN_ISR} cannot be removed while ELR is enabled.")

    def _set(self, resource: ConfigResource, texts: dict[str, str]) -> Slices[None]:
        controller, (kind, name) = self._controller, resource
        if kind == TOPIC:
            topic = controller.metadata.topic(name)
            assert topic is not None
            if topic.configs != texts:
                yield from controller.set_topic_configs_in_slices(topic, texts)
        elif kind == BROKER:
            yield from controller.broker_configs.set_in_slices(texts, _broker_id(resource))
        elif kind == GROUP:
            controller.group_configs.set(name, texts)
        else:
            controller.client_metrics.set(name, texts)


def unauthorized(kind: int) -> ErrorCode:
    """Return the error of a client without a permission for the settings of such a resource."""
    if kind == TOPIC:
        return ErrorCode.topic_authorization_failed
    return ErrorCode.group_authorization_failed if kind == GROUP else ErrorCode.cluster_authorization_failed


def _broker_id(resource: ConfigResource) -> int | None:
    """Return the id of the broker; None for all of them. The name is valid here."""
    return int(resource.name) if resource.name else None
