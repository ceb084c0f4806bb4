"""The client quotas in the user's hand: `kafka.quotas.set(client_id="loader", producer_byte_rate=1_000_000)`.

A quota is for a user, a client id, or both, or for an address; `DEFAULT` in place of a name is for everybody who has
none of his own.
Until there is authentication every client is the user "ANONYMOUS". Each broker allows each client that much
(core/quota/quota.py says who shares what and how long a client is muted).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakebroker.core.arguments import NUMBER_OR_NONE, STRING_OR_NONE, require
from fakebroker.core.quota.client_quotas import CONNECTION_CREATION_RATE
from fakebroker.core.quota.controller_mutation import CONTROLLER_MUTATION_RATE
from fakebroker.core.quota.quota import (
    CONSUMER_BYTE_RATE,
    DEFAULT,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaEntity,
)

# None removes all quotas of the entity.
Apply = Callable[[QuotaEntity, Mapping[str, float | None] | None], None]


class Quotas:
    """What clients may use."""

    DEFAULT = DEFAULT

    def __init__(self, apply: Apply) -> None:
        self._apply = apply

    def set(
        self,
        *,
        user: str | None = None,
        client_id: str | None = None,
        ip: str | None = None,
        producer_byte_rate: int | None = None,
        consumer_byte_rate: int | None = None,
        request_percentage: float | None = None,
        controller_mutation_rate: float | None = None,
        connection_creation_rate: int | None = None,
    ) -> None:
        """Set some quotas; those that are not named stay as they are. Takes effect with the next request.

        producer_byte_rate        bytes of Produce requests per second and broker
        consumer_byte_rate        the same of answers to Fetch; what is too much is withheld
        request_percentage        handling time, in percent of one thread; a request counts the microseconds of the
                                  setting fakebroker.request.handler.time.us (100)
        controller_mutation_rate  partitions that are made and deleted, per second, of the whole cluster
        connection_creation_rate  connections from an address, `ip`, per second and broker; who connects too often is
                                  left unread, and closed within a second

        Raises KafkaError (INVALID_REQUEST) for a bad value, or if neither user, client id nor ip is given.
        """
        given = {
            PRODUCER_BYTE_RATE: producer_byte_rate,
            CONSUMER_BYTE_RATE: consumer_byte_rate,
            REQUEST_PERCENTAGE: request_percentage,
            CONTROLLER_MUTATION_RATE: controller_mutation_rate,
            CONNECTION_CREATION_RATE: connection_creation_rate,
        }
        require(NUMBER_OR_NONE, **given)
        alterations = {key: value for key, value in given.items() if value is not None}
        if not alterations:
            raise ValueError(f"no quota is given: set one of {', '.join(given)}")
        self._apply(_entity(user, client_id, ip), alterations)

    def remove(self, *, user: str | None = None, client_id: str | None = None, ip: str | None = None) -> None:
        """Remove all quotas of this entity; others that are less particular hold for it then."""
        self._apply(_entity(user, client_id, ip), None)


def _entity(user: str | None, client_id: str | None, ip: str | None) -> QuotaEntity:
    require(STRING_OR_NONE, user=user, client_id=client_id, ip=ip)
    return QuotaEntity(user, client_id, ip)
