"""The quotas that are set, for all brokers: what Kafka's controller keeps and hands to each of them.

Source   metadata/.../controller/ClientQuotaControlManager.java alterClientQuotas, validateEntity,
         validateQuotaKeyValue; server-common/.../config/QuotaConfigs.java @ 4.0.
Differs  Not served: consumer_byte_rate, controller_mutation_rate, and connection_creation_rate for addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fakebroker.core.errors import KafkaError
from fakebroker.core.quota.quota import PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE, QuotaEntity, QuotaManagers
from fakebroker.protocol.error_code import ErrorCode

_KEYS = (PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE)
_INTEGRAL = (PRODUCER_BYTE_RATE,)


class ClientQuotas:
    """Each broker enforces the same quotas, each by what it has seen itself."""

    def __init__(self, brokers: Callable[[], Iterable[QuotaManagers]]) -> None:
        self._brokers = brokers
        self.entities: dict[QuotaEntity, dict[str, float]] = {}

    def alter(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        """Set the named quotas of an entity, or remove them (None); None alone removes all that the entity has. All or
        nothing: raises KafkaError if one is bad."""
        if entity == (None, None):
            raise KafkaError(ErrorCode.invalid_request, "Invalid empty client quota entity: name a user or a client id")
        if alterations is None:
            alterations = dict.fromkeys(self.entities.get(entity, ()))
        for key, value in alterations.items():
            _validate(key, value)
        quotas = self.entities.setdefault(entity, {})
        for key, value in alterations.items():
            if value is None:
                if quotas.pop(key, None) is None:
                    continue
            else:
                quotas[key] = value
            for broker in self._brokers():
                broker.update_quota(key, entity, None if value is None else float(value))
        if not quotas:
            del self.entities[entity]

    def tell(self, broker: QuotaManagers) -> None:
        """Set all quotas that hold on a broker that starts."""
        for entity, quotas in self.entities.items():
            for key, value in quotas.items():
                broker.update_quota(key, entity, float(value))


def _validate(key: str, value: float | None) -> None:
    if key not in _KEYS:
        raise KafkaError(ErrorCode.invalid_request, f"Invalid configuration key {key}; known: {', '.join(_KEYS)}")
    if value is None:
        return
    if not value > 0:
        raise KafkaError(ErrorCode.invalid_request, f"Quota {key} must be greater than 0")
    if key in _INTEGRAL and value > 2**63 - 1:
        raise KafkaError(ErrorCode.invalid_request, f"Proposed value for {key} is too large for a LONG.")
    if key in _INTEGRAL and abs(value % 1.0) > 1e-6:
        raise KafkaError(ErrorCode.invalid_request, f"{key} cannot be a fractional value.")
