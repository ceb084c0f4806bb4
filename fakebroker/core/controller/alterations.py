"""The alterations of one resource, of which a request may have very many: each look at them is in slices.

Source   metadata/.../controller/ConfigurationControlManager.java incrementalAlterConfigResource; core/.../server/
         ConfigAdminManager.scala preprocess, prepareIncrementalConfigs @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.config_def import LIST, to_text
from fakebroker.core.config.config_resource import BROKER, TOPIC, Alteration, ConfigResource, OpType
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import ConfigError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_ALTERATIONS_OF_A_SLICE: Final = 256


def _each(alterations: Iterable[Alteration], look: Callable[[Alteration], None]) -> Slices[None]:
    """Look at each alteration of a resource, of which there may be very many."""
    for number, alteration in enumerate(alterations, 1):
        look(alteration)
        if number % _ALTERATIONS_OF_A_SLICE == 0:
            yield


def are_all_known(alterations: Iterable[Alteration]) -> Slices[bool]:
    for number, alteration in enumerate(alterations, 1):
        if not _is_known(alteration):
            return False
        if number % _ALTERATIONS_OF_A_SLICE == 0:
            yield
    return True


def texts_of(alterations: Iterable[Alteration]) -> Slices[dict[str, str]]:
    texts: dict[str, str] = {}
    yield from _each(alterations, lambda alteration: texts.update({alteration.name: alteration.value or ""}))
    return texts


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Slices[int]:
    """Return how many entries are in one of them only."""
    count = 0
    for some, others in ((before, after), (after, before)):
        for number, (name, text) in enumerate(list(some.items()), 1):
            count += others.get(name) != text
            if number % _ALTERATIONS_OF_A_SLICE == 0:
                yield
    return count


def refuse_malformed(alterations: Sequence[Alteration]) -> Slices[None]:
    names: set[str] = set()
    nulls: list[str] = []

    def look(alteration: Alteration) -> None:
        names.add(alteration.name)
        if alteration.value is None and alteration.operation != OpType.DELETE:
            nulls.append(alteration.name)

    yield from _each(alterations, look)
    if len(names) < len(alterations):
        raise bad_request("Error due to duplicate config keys")
    if nulls:
        raise bad_request(f"Null value not supported for : {', '.join(nulls)}")


def texts_after(
    texts: Mapping[str, str], resource: ConfigResource, alterations: Sequence[Alteration]
) -> Slices[dict[str, str]]:
    """Return the settings of a resource after the changes, as the controller computes them."""
    after = dict(texts)
    for number, (name, operation, value) in enumerate(alterations, 1):
        if number % _ALTERATIONS_OF_A_SLICE == 0:
            yield
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


def prepared(texts: Mapping[str, str], alterations: Sequence[Alteration]) -> Slices[dict[str, str]]:
    """Return the settings of a broker after the changes, as the broker computes them (prepareIncrementalConfigs of
    ConfigAdminManager)."""
    if not (yield from are_all_known(alterations)):
        unknown = next(alteration.operation for alteration in alterations if not _is_known(alteration))
        raise bad_request(f"Unknown operations type {unknown}")
    for number, (name, operation, _) in enumerate(alterations, 1):
        if number % _ALTERATIONS_OF_A_SLICE == 0:
            yield
        if operation in (OpType.APPEND, OpType.SUBTRACT):
            if name not in BrokerConfig.SETTINGS:
                raise ConfigError(f"Unknown config name: {name}")
            if BrokerConfig.SETTINGS[name].type is not LIST:
                what = "append" if operation == OpType.APPEND else "subtract"
                raise ConfigError(f"Config value {what} is not allowed for config key: {name}")
    return (yield from texts_after(texts, ConfigResource(BROKER, ""), alterations))


def _is_known(alteration: Alteration) -> bool:
    return OpType.SET <= alteration.operation <= OpType.SUBTRACT


def bad_request(message: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_request, message)
