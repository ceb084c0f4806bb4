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

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fakebroker.core.config import client_metrics_config, group_validation
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.broker_loggers import BrokerLoggers
from fakebroker.core.config.config_def import LIST, to_text
from fakebroker.core.config.config_resource import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    Alteration,
    ConfigResource,
    OpType,
    refuse_other_node,
)
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.topics import MAX_RECORDS_PER_USER_OP
from fakebroker.core.errors import ConfigError
from fakebroker.protocol import topic_name
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_CHANGES_OF_A_SLICE: Final = 16  # some 10 us each
_MIN_ISR: Final = "min.insync.replicas"
_MAX_VALUE: Final = 2**15 - 1  # characters

# A change of a resource: its present settings -> its new settings. Raises KafkaError.
Change = Callable[[Mapping[str, str]], dict[str, str]]


class ConfigurationControl:
    """One request to alter settings, at its broker."""

    def __init__(self, controller: Controller, broker_id: int, loggers: BrokerLoggers, validate_only: bool) -> None:
        self._controller = controller
        self._broker_id = broker_id
        self._loggers = loggers
        self._validate_only = validate_only

    def incremental_alter_configs(
        self, changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]]
    ) -> Slices[list[KafkaError | None]]:
        """Alter some settings of each resource. Return the error of each, in order; None where all is well."""
        results, left = yield from self._preprocess(changes, is_incremental=True)
        if any(not OpType.SET <= each.operation <= OpType.SUBTRACT for index in left for each in changes[index][1]):
            unknown = KafkaError(ErrorCode.unknown_server_error, "")
            return [unknown if index in left else result for index, result in enumerate(results)]
        asked: dict[int, Change] = {
            index: lambda texts, at=index: _after(texts, *changes[at])  # type: ignore[misc]
            for index in left
        }
        return (yield from self._alter(changes, results, asked))

    def alter_configs(
        self, changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]]
    ) -> Slices[list[KafkaError | None]]:
        """Replace all settings of each resource: those that are not given are removed."""
        results, left = yield from self._preprocess(changes, is_incremental=False)
        asked: dict[int, Change] = {
            index: lambda texts, at=index: {each.name: each.value or "" for each in changes[at][1]}  # type: ignore[misc]
            for index in left
        }
        return (yield from self._alter(changes, results, asked))

    def _preprocess(
        self, changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]], is_incremental: bool
    ) -> Slices[tuple[list[KafkaError | None], set[int]]]:
        """Run the broker's checks. Return the error of each, and the indexes left for the controller."""
        seen: dict[ConfigResource, int] = {}
        for resource, _ in changes:
            seen[resource] = seen.get(resource, 0) + 1
        results: list[KafkaError | None] = []
        left: set[int] = set()
        for index, (resource, asked) in enumerate(changes):
            try:
                if seen[resource] > 1:
                    raise _bad("Each resource must appear at most once.")
                _refuse_malformed(asked)
                if resource.kind == BROKER_LOGGER and is_incremental:
                    self._loggers.alter(resource.name, self._broker_id, asked, self._validate_only)
                else:
                    self._check_at_broker(resource, asked, is_incremental)
                    left.add(index)
                results.append(None)
            except KafkaError as error:
                results.append(error.with_traceback(None))
            if index % _CHANGES_OF_A_SLICE == 0:
                yield
        return results, left

    def _check_at_broker(self, resource: ConfigResource, asked: Sequence[Alteration], is_incremental: bool) -> None:
        if resource.kind == BROKER:
            if resource.name:
                refuse_other_node(resource.name, self._broker_id)
            configs, broker_id = self._controller.broker_configs, _broker_id(resource)
            if is_incremental:
                texts = _prepared(configs.texts(broker_id), asked)
            else:
                texts = {each.name: each.value or "" for each in asked}
            configs.validate(texts, broker_id, self._broker_id)
        elif resource.kind not in (TOPIC, CLIENT_METRICS, GROUP):
            raise _bad(f"Unknown resource type {resource.kind}")

    def _alter(
        self,
        changes: Sequence[tuple[ConfigResource, Sequence[Alteration]]],
        results: list[KafkaError | None],
        asked: Mapping[int, Change],
    ) -> Slices[list[KafkaError | None]]:
        """Apply the changes at the controller. All are validated before any is applied."""
        records = 0
        for number, (index, change) in enumerate(asked.items()):
            resource = changes[index][0]
            try:
                before = self._texts(resource)
                after = self._checked(resource, change(before))
                records += len(changes[index][1]) if resource.kind == BROKER else len(before.items() ^ after.items())
            except KafkaError as error:
                results[index] = error.with_traceback(None)
            if number % _CHANGES_OF_A_SLICE == 0:
                yield
        if records > MAX_RECORDS_PER_USER_OP:
            too_many = KafkaError(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
            return [too_many if index in asked else result for index, result in enumerate(results)]
        for number, (index, change) in enumerate(asked.items()):
            if results[index] is None and not self._validate_only:
                resource = changes[index][0]
                try:  # validated again: the state may have changed between slices
                    self._set(resource, self._checked(resource, change(self._texts(resource))))
                except KafkaError as error:
                    results[index] = error.with_traceback(None)
            if number % _CHANGES_OF_A_SLICE == 0:
                yield
        return results

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
        if any(len(text) > _MAX_VALUE for text in texts.values()):
            raise ConfigError(
                f"The configuration value cannot be added because it exceeds the maximum value size of {_MAX_VALUE} "
                "bytes."
            )
        if kind == TOPIC:
            if not name:
                raise _bad("Default topic resources are not allowed.")
            topic_name.validate(name)
            TopicConfig.of(texts, self._controller.config.topic_defaults)
            if self._controller.metadata.topic(name) is None:
                raise KafkaError(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
        elif kind == BROKER:
            self._refuse_min_isr(name, texts)
        elif kind == GROUP:
            if not name:
                raise _bad("Default group resources are not allowed.")
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

    def _set(self, resource: ConfigResource, texts: dict[str, str]) -> None:
        controller, (kind, name) = self._controller, resource
        if kind == TOPIC:
            topic = controller.metadata.topic(name)
            assert topic is not None
            if topic.configs != texts:
                controller.set_topic_configs(topic, texts)
        elif kind == BROKER:
            controller.broker_configs.set(texts, _broker_id(resource))
        elif kind == GROUP:
            controller.group_configs.set(name, texts)
        else:
            controller.client_metrics.set(name, texts)


def _refuse_malformed(asked: Sequence[Alteration]) -> None:
    if len({each.name for each in asked}) < len(asked):
        raise _bad("Error due to duplicate config keys")
    nulls = [each.name for each in asked if each.value is None and each.operation != OpType.DELETE]
    if nulls:
        raise _bad(f"Null value not supported for : {', '.join(nulls)}")


def _after(texts: Mapping[str, str], resource: ConfigResource, asked: Sequence[Alteration]) -> dict[str, str]:
    """Return the settings of a resource after the changes, as the controller computes them."""
    after = dict(texts)
    for name, operation, value in asked:
        if operation == OpType.DELETE:
            after.pop(name, None)
        elif operation == OpType.SET:
            after[name] = value or ""
        else:
            default = _default_list(resource, name)
            if default is None:
                raise ConfigError(f"Can't {OpType(operation).name} to key {name} because its type is not LIST.")
            items = [item for item in after.get(name, default).split(",") if item]
            after[name] = ",".join(_changed(items, operation, value or ""))
    return after


def _changed(items: list[str], operation: int, value: str) -> list[str]:
    for item in value.split(","):
        if operation == OpType.APPEND:
            if item not in items:
                items.append(item)
        elif item in items:
            items.remove(item)
    return items


def _default_list(resource: ConfigResource, name: str) -> str | None:
    """Return the default of a list setting as text; None if it is no list. The controller has no lists of groups and
    subscriptions."""
    table = {TOPIC: TopicConfig, BROKER: BrokerConfig}.get(resource.kind)
    key = None if table is None else table.SETTINGS.get(name)
    return to_text(key.default) if key is not None and key.type is LIST else None


def _prepared(texts: Mapping[str, str], asked: Sequence[Alteration]) -> dict[str, str]:
    """Return the settings of a broker after the changes, as the broker computes them (prepareIncrementalConfigs of
    ConfigAdminManager)."""
    if unknown := [each.operation for each in asked if not _is_known(each)]:
        raise _bad(f"Unknown operations type {unknown[0]}")
    for name, operation, _ in asked:
        if operation in (OpType.APPEND, OpType.SUBTRACT):
            if name not in BrokerConfig.SETTINGS:
                raise ConfigError(f"Unknown config name: {name}")
            if BrokerConfig.SETTINGS[name].type is not LIST:
                what = "append" if operation == OpType.APPEND else "subtract"
                raise ConfigError(f"Config value {what} is not allowed for config key: {name}")
    return _after(texts, ConfigResource(BROKER, ""), asked)


def _is_known(each: Alteration) -> bool:
    return OpType.SET <= each.operation <= OpType.SUBTRACT


def _broker_id(resource: ConfigResource) -> int | None:
    """Return the id of the broker; None for all of them. The name is valid here."""
    return int(resource.name) if resource.name else None


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_request, message)
