"""Which release a producer behaves like.

Theory   Two bodies of rules are there, each judged by Kafka's own classes: those of 2.0, where a batch expires in the
         queue by `request.timeout.ms`, and those of 4.3, where it expires by `delivery.timeout.ms` (KIP-91, 2.1). A
         generation from 2.1 on has the defaults of its release (producer_config.py) and the rules of 4.3.
Source   KIP-91, KIP-480 (2.4), KIP-601 (2.7), KIP-794 (3.3), KIP-580 (3.7), KIP-1030 (4.0).
Differs  What changed between 2.1 and 4.3 inside the accumulator, but for back-off and partitions, is as in 4.3.
"""

from __future__ import annotations

from functools import total_ordering
from typing import Final

from fakebroker.producer.errors import ConfigError

_LAST_MINOR: Final = {2: 8, 3: 9, 4: 4}


@total_ordering
class Generation:
    """A release by its two first numbers, as "2.0". `name` is the text."""

    __slots__ = ("_numbers", "name")

    def __init__(self, name: str) -> None:
        parts = name.split(".")
        if len(parts) != 2 or not all(part.isdecimal() and part.isascii() for part in parts):
            raise ConfigError(
                f'generation={name!r} is no release of Kafka: write its two first numbers, as "2.0" or "4.3".'
            )
        numbers = (int(parts[0]), int(parts[1]))
        if numbers[0] not in _LAST_MINOR or numbers[1] > _LAST_MINOR[numbers[0]]:
            raise ConfigError(
                f"generation={name!r} is not known: it may be 2.0 to 2.8, 3.0 to 3.9, or 4.0 to 4.{_LAST_MINOR[4]}."
            )
        self.name = f"{numbers[0]}.{numbers[1]}"
        self._numbers = numbers

    @property
    def has_delivery_timeout(self) -> bool:
        """KIP-91: a batch has one limit for all of its life."""
        return self._numbers >= (2, 1)

    @property
    def has_sticky_partitioner(self) -> bool:
        """KIP-480: records without a key stay with a partition until its batch is full."""
        return self._numbers >= (2, 4)

    @property
    def has_connection_setup_timeout(self) -> bool:
        """KIP-601: connecting takes no longer than it may."""
        return self._numbers >= (2, 7)

    @property
    def sends_as_drained(self) -> bool:
        """KAFKA-9628: partitions stand in a Produce request as they were drained, and not as a map has them."""
        return self._numbers >= (2, 8)

    @property
    def has_built_in_partitioner(self) -> bool:
        """KIP-794: they stay until so many bytes went there; slow partitions get less."""
        return self._numbers >= (3, 3)

    @property
    def has_exponential_backoff(self) -> bool:
        """KIP-580: each retry waits twice as long as the one before."""
        return self._numbers >= (3, 7)

    @property
    def has_transaction_v2(self) -> bool:
        """KIP-890: brokers add partitions to transactions, each transaction has an epoch of its own."""
        return self._numbers >= (4, 0)

    @property
    def flushes_what_was_split(self) -> bool:
        """KAFKA-19479: a flush waits for the pieces of a batch too. Before, it was over with the split."""
        return self._numbers >= (4, 2)

    @property
    def has_cluster_check(self) -> bool:
        """KIP-1242: a broker is told which one it is taken for."""
        return self._numbers >= (4, 4)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generation) and self._numbers == other._numbers

    def __lt__(self, other: Generation) -> bool:
        return self._numbers < other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __repr__(self) -> str:
        return f"Generation({self.name!r})"
