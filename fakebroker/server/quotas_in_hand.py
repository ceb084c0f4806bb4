"""Client quotas, for the user of a cluster: `kafka.quotas.set(client_id="loader", producer_byte_rate=1_000_000)`.

A quota belongs to a user, a client id, or both, or to an IP address. `DEFAULT` in place of a name applies to all
entities without a quota of their own. Without authentication every client is the user "ANONYMOUS". Each broker enforces
its quotas separately (core/quota/quota.py defines which clients share a quota, and how long a client is muted).
"""

from __future__ import annotations

from collections.abc import Mapping

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
from fakebroker.server.driver import Reach


class Quotas:
    """The client quotas of a cluster."""

    DEFAULT = DEFAULT

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

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
        """Set some quotas; the others stay as they are. They apply from the next request on.

        producer_byte_rate        bytes of Produce requests per second and broker
        consumer_byte_rate        bytes of Fetch responses per second and broker; the excess is withheld
        request_percentage        handling time, in percent of one thread; each request counts as
                                  fakebroker.request.handler.time.us (100) microseconds;
        controller_mutation_rate  partitions that are made and deleted, per second, of the whole cluster;
        connection_creation_rate  connections from an address, `ip`, per second and broker; a connection above the rate
                                  is not read, and closed within a second

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
        self._alter(_entity(user, client_id, ip), alterations)

    def remove(self, *, user: str | None = None, client_id: str | None = None, ip: str | None = None) -> None:
        """Remove all quotas of this entity; the next less specific quotas then apply to it."""
        self._alter(_entity(user, client_id, ip), None)

    def _alter(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        self._reach(lambda driver: driver.cluster.members.client_quotas.alter(entity, alterations))


def _entity(user: str | None, client_id: str | None, ip: str | None) -> QuotaEntity:
    require(STRING_OR_NONE, user=user, client_id=client_id, ip=ip)
    return QuotaEntity(user, client_id, ip)
