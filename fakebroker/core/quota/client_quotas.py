"""The client quotas of all brokers: Kafka's controller keeps them and hands them to each broker.

Theory   A quota is set for an entity: a user, a client id, a user with a client id, or an address. A name of None is
         the default for those without a quota of their own.
Source   metadata/.../controller/ClientQuotaControlManager.java alterClientQuotas, validateEntity,
         validateQuotaKeyValue; metadata/.../image/ClientQuotasImage.java describe; server-common/.../config/
         QuotaConfigs.java @ 4.0, and the responses of a running 4.4.
Differs  Names of hosts are not looked up: an address is an IP address, or `localhost`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import KafkaError
from fakebroker.core.quota.controller_mutation import CONTROLLER_MUTATION_RATE, ControllerMutationQuotaManager
from fakebroker.core.quota.quota import (
    CONSUMER_BYTE_RATE,
    DEFAULT,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaEntity,
    QuotaManagers,
)
from fakebroker.core.quota.quotas_image import CLIENT_ID, IP, USER, ClientQuotaEntity, ClientQuotasImage, Entry
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices

_ENTITIES_OF_A_SLICE: Final = 32
_MANY: Final = 1_000  # kinds of an entity
_ENTRIES_OF_A_SLICE: Final = 500
_OF_BROKERS: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
# The largest value of quotas that are whole numbers.
_OF_CLIENTS: Final[Mapping[str, int | None]] = {
    PRODUCER_BYTE_RATE: 2**63 - 1,
    CONSUMER_BYTE_RATE: 2**63 - 1,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"  # connections per second and broker
_OF_ADDRESSES: Final[Mapping[str, int | None]] = {CONNECTION_CREATION_RATE: 2**31 - 1}

EXACT: Final = 0
OF_DEFAULT: Final = 1
ANY: Final = 2


class Filter(NamedTuple):
    """A filter of entities by one kind: with this name, with the default, or any. `how` is any number that a request
    has."""

    kind: str
    how: int
    name: str | None


class ClientQuotas:
    """The client quotas. Each broker enforces the same quotas on its own clients' use; the quota of created and deleted
    partitions is one for the cluster."""

    def __init__(self, brokers: Callable[[], Iterable[QuotaManagers]], config: BrokerConfig) -> None:
        self._brokers = brokers
        self.controller_mutation = ControllerMutationQuotaManager(config)
        self.image = ClientQuotasImage()
        self.on_ip_rate: Callable[[str | None, float | None], None] | None = None  # the admission of connections

    def alter(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        """Set the named quotas of a user, client id or address, or remove them (None). None alone removes all of its
        quotas. All or nothing: raise KafkaError if one is invalid."""
        if entity == (None, None, None):
            raise _bad("Invalid empty client quota entity: name a user or a client id, or an address")
        named = {USER: entity.user, CLIENT_ID: entity.client_id, IP: entity.ip}
        of = ClientQuotaEntity.of(
            (kind, None if name == DEFAULT else name) for kind, name in named.items() if name is not None
        )
        if alterations is None:
            alterations = dict.fromkeys(self.image.of(of))
        self._alter(of, alterations, False)
        self.image.publish()

    def alter_all(
        self,
        alterations: Sequence[tuple[ClientQuotaEntity, Sequence[tuple[str, float | None]]]],
        validate_only: bool,
    ) -> Slices[dict[ClientQuotaEntity, KafkaError | None]]:
        """Alter the quotas of several entities, each on its own, and return the error of each. If an entity occurs
        twice, the first alteration counts and the second gives an error."""
        results: dict[ClientQuotaEntity, KafkaError | None] = {}
        for number, (entity, changes) in enumerate(alterations, 1):
            if number % _ENTITIES_OF_A_SLICE == 0:
                yield
            if len(entity.entries) > _MANY:
                yield  # its hash is made of all of them, time and again
            values = dict(changes)
            if entity in results or len(values) < len(changes):
                results[entity] = _bad(f"Ignoring duplicate entity {entity}")
                continue
            try:
                results[entity] = None
                self._alter(entity, values, validate_only)
            except KafkaError as error:
                if len(entity.entries) > _MANY:
                    yield
                results[entity] = error.with_traceback(None)
        self.image.publish()
        return results

    def _alter(self, entity: ClientQuotaEntity, alterations: Mapping[str, float | None], validate_only: bool) -> None:
        known = _validate_entity(entity)
        for key, value in alterations.items():
            if value is not None:
                _validate(known, key, value)
        if validate_only:
            return
        before = self.image.of(entity)
        self.image.change(entity, alterations)
        for key, value in alterations.items():
            if value is None and key not in before:
                continue
            if key == CONTROLLER_MUTATION_RATE:
                self.controller_mutation.update_quota(*_bound(entity, value))
            if key == CONNECTION_CREATION_RATE and self.on_ip_rate is not None:
                self.on_ip_rate(dict(entity.entries)[IP], value)
            for broker in self._brokers():
                _tell(broker, entity, key, value)

    def tell(self, broker: QuotaManagers) -> None:
        """Set all quotas on a broker that starts."""
        for entry in self.image:
            for key, value in entry.quotas.items():
                _tell(broker, entry.entity, key, value)

    def describe(self, filters: Iterable[Filter], strict: bool) -> Slices[list[Entry]]:
        """Return the entities that have all these kinds, and no others if `strict`, in Kafka's order. Raise
        KafkaError."""
        wanted: dict[str, Filter] = {}
        for component in filters:
            _check_filter(component, wanted)
            wanted[component.kind] = component
        if IP in wanted and len(wanted) > 1:
            raise _bad(
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            )
        exact = {component.kind: component.name for component in wanted.values() if component.how != ANY}
        entries = []
        for number, entry in enumerate((yield from self.image.found(exact, wanted)), 1):
            named = dict(entry.entity.entries)
            if _matches(named, wanted.values()) and not (strict and len(named) != len(wanted)):
                entries.append(entry)
            if number % _ENTRIES_OF_A_SLICE == 0:
                yield
        return entries


def _matches(named: Mapping[str, str | None], filters: Iterable[Filter]) -> bool:
    return all(
        component.kind in named and (component.how == ANY or named[component.kind] == component.name)
        for component in filters
    )


def _check_filter(component: Filter, before: Mapping[str, Filter]) -> None:
    if not component.kind:
        raise _bad("Invalid empty entity type.")
    if component.kind in before:
        raise _bad(f"Entity type {component.kind} cannot appear more than once in the filter.")
    if component.kind not in (USER, CLIENT_ID, IP):
        raise KafkaError(ErrorCode.unsupported_version, f"Unsupported entity type {component.kind}")
    if component.how == EXACT:
        if component.name is None:
            raise _bad("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    elif component.how not in (OF_DEFAULT, ANY):
        raise _bad(f"Unknown match type {component.how}")
    elif component.name is not None:
        how = "MATCH_TYPE_DEFAULT" if component.how == OF_DEFAULT else "MATCH_TYPE_SPECIFIED"
        raise _bad(f"Request specified {how}, but also specified a match string.")


def _tell(broker: QuotaManagers, entity: ClientQuotaEntity, key: str, value: float | None) -> None:
    if key in _OF_BROKERS:
        broker.update_quota(key, *_bound(entity, value))


def _bound(entity: ClientQuotaEntity, value: float | None) -> tuple[QuotaEntity, float | None]:
    named = {kind: DEFAULT if name is None else name for kind, name in entity.entries}
    return QuotaEntity(named.get(USER), named.get(CLIENT_ID)), None if value is None else float(value)


def _validate_entity(entity: ClientQuotaEntity) -> Mapping[str, int | None]:
    """Return the quotas that the entity can have. Raise KafkaError for an invalid entity."""
    if not entity.entries:
        raise _bad("Invalid empty client quota entity")
    for kind, name in entity.entries:
        if kind not in (USER, CLIENT_ID, IP):
            raise _bad(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _bad(f"Empty {kind} not supported")
    named = dict(entity.entries)
    if IP not in named:
        return _OF_CLIENTS
    if len(named) > 1:
        raise _bad("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    address = named[IP]
    try:
        if address not in (None, "localhost"):
            ip_address(address or "")
    except ValueError:
        raise _bad(f"{address} is not a valid IP or resolvable host.") from None
    return _OF_ADDRESSES


def _validate(known: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in known:
        raise _bad(f"Invalid configuration key {key}")
    if not math.isfinite(value):
        raise _bad(f"Quota {key} must be a finite number")
    if not value > 0:
        raise _bad(f"Quota {key} must be greater than 0")
    largest = known[key]
    if largest is not None:
        if value > float(largest):  # for a LONG that is 2^63
            kind = "a LONG" if largest > 2**31 else "an INT"
            raise _bad(f"Proposed value for {key} is too large for {kind}.")
        if abs(value % 1.0) > 1e-6:
            raise _bad(f"{key} cannot be a fractional value.")


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_request, message)
