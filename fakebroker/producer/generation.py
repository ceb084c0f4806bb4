"""The Kafka release that a producer behaves like.

Theory   There are two sets of rules, each verified against Kafka's own classes. In 2.0 a batch expires in the queue by
         `request.timeout.ms`. In 4.3 it expires by `delivery.timeout.ms` (KIP-91, 2.1). A generation from 2.1 on has
         the defaults of its release (producer_config.py) and the rules of 4.3.
Source   KIP-91, KIP-480 (2.4), KIP-601 (2.7), KIP-794 (3.3), KAFKA-14317 (3.5), KIP-580 (3.7), KIP-1030 (4.0).
Differs  Changes inside the accumulator between 2.1 and 4.3 follow 4.3, except for back-off and partitioning. So does an
         idempotent producer with unresolved sequences. From 2.1 to 2.4 Kafka's producer then gives up its producer id
         (2.1.0 does). Ours bumps its epoch (KIP-360, 2.5).
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.producer.errors import ProducerConfigError

_LAST_MINOR: Final = {2: 8, 3: 9, 4: 4}


@final
class Generation:
    """A release, named by its first two numbers, such as "2.0". `name` is this text."""

    __slots__ = (
        "_numbers", "flushes_what_was_split", "has_built_in_partitioner", "has_cluster_check",
        "has_connection_setup_timeout", "has_delivery_timeout", "has_exponential_backoff", "has_sticky_partitioner",
        "has_transaction_v2", "name", "names_exhausted_memory", "sends_as_drained", "tells_own_time_outs",
        "waits_for_partitions",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        parts = name.split(".")
        if len(parts) != 2 or not all(part.isdecimal() and part.isascii() for part in parts):
            raise ProducerConfigError(
                f'generation={name!r} is no release of Kafka: write its two first numbers, as "2.0" or "4.3".'
            )
        numbers = (int(parts[0]), int(parts[1]))
        if numbers[0] not in _LAST_MINOR or numbers[1] > _LAST_MINOR[numbers[0]]:
            raise ProducerConfigError(
                f"generation={name!r} is not known: it may be 2.0 to 2.8, 3.0 to 3.9, or 4.0 to 4.{_LAST_MINOR[4]}."
            )
        self.name = f"{numbers[0]}.{numbers[1]}"
        self._numbers = numbers
        # KIP-91: one timeout covers the whole life of a batch.
        self.has_delivery_timeout = numbers >= (2, 1)
        # A partition that the topic does not have is awaited like an unknown topic. Before, `send` throws (seen in
        # 2.1.0; not in 2.2.2).
        self.waits_for_partitions = numbers >= (2, 2)
        # KIP-480: records without a key stay with one partition until its batch is full.
        self.has_sticky_partitioner = numbers >= (2, 4)
        # KAFKA-3720: BufferExhaustedException. Earlier releases throw a plain TimeoutException.
        self.names_exhausted_memory = numbers >= (2, 6)
        # KIP-601: setting up a connection has a timeout.
        self.has_connection_setup_timeout = numbers >= (2, 7)
        # KAFKA-9628: a Produce request lists partitions in drain order. Before, the order was that of a HashMap.
        self.sends_as_drained = numbers >= (2, 8)
        # KIP-794: records stay with a partition until enough bytes went there; slow partitions get fewer.
        self.has_built_in_partitioner = numbers >= (3, 3)
        # KAFKA-14317: a request that the client timed out gets REQUEST_TIMED_OUT. Before, it got NETWORK_EXCEPTION.
        self.tells_own_time_outs = numbers >= (3, 5)
        # KIP-580: the delay before each retry is twice the previous one.
        self.has_exponential_backoff = numbers >= (3, 7)
        # KIP-890: brokers add partitions to transactions, and each transaction has its own epoch.
        self.has_transaction_v2 = numbers >= (4, 0)
        # KAFKA-19479: a flush also waits for the pieces of a split batch. Before, it ended with the split.
        self.flushes_what_was_split = numbers >= (4, 2)
        # KIP-1242: the client sends the cluster id and broker id that it expects.
        self.has_cluster_check = numbers >= (4, 4)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generation) and self._numbers == other._numbers

    def __lt__(self, other: Generation) -> bool:
        return self._numbers < other._numbers

    def __le__(self, other: Generation) -> bool:
        return self._numbers <= other._numbers

    def __gt__(self, other: Generation) -> bool:
        return self._numbers > other._numbers

    def __ge__(self, other: Generation) -> bool:
        return self._numbers >= other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __repr__(self) -> str:
        return f"Generation({self.name!r})"
