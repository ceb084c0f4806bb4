"""Which release a producer behaves like.

Theory   Two bodies of rules are there, each judged by Kafka's own classes: those of 2.0, where a batch expires in the
         queue by `request.timeout.ms`, and those of 4.3, where it expires by `delivery.timeout.ms` (KIP-91, 2.1). A
         generation from 2.1 on has the defaults of its release (producer_config.py) and the rules of 4.3.
Source   KIP-91, KIP-480 (2.4), KIP-601 (2.7), KIP-794 (3.3), KAFKA-14317 (3.5), KIP-580 (3.7), KIP-1030 (4.0).
Differs  What changed between 2.1 and 4.3 inside the accumulator, but for back-off and partitions, is as in 4.3. So is
         what an idempotent producer does in doubt: from 2.1 to 2.4 Kafka's gives its producer id up (2.1.0 does),
         ours raises its epoch (KIP-360, 2.5).
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.producer.errors import ConfigError

_LAST_MINOR: Final = {2: 8, 3: 9, 4: 4}


@final
class Generation:
    """A release by its two first numbers, as "2.0". `name` is the text."""

    __slots__ = (
        "_numbers", "flushes_what_was_split", "has_built_in_partitioner", "has_cluster_check",
        "has_connection_setup_timeout", "has_delivery_timeout", "has_exponential_backoff", "has_sticky_partitioner",
        "has_transaction_v2", "name", "names_exhausted_memory", "sends_as_drained", "tells_own_time_outs",
        "waits_for_partitions",
    )  # fmt: skip

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
        # KIP-91: a batch has one limit for all of its life.
        self.has_delivery_timeout = numbers >= (2, 1)
        # A partition that the topic has not is waited for, as a topic is. Before, `send` throws (2.1.0; not 2.2.2).
        self.waits_for_partitions = numbers >= (2, 2)
        # KIP-480: records without a key stay with a partition until its batch is full.
        self.has_sticky_partitioner = numbers >= (2, 4)
        # KAFKA-3720: BufferExhaustedException. Before, a TimeoutException as any other.
        self.names_exhausted_memory = numbers >= (2, 6)
        # KIP-601: connecting takes no longer than it may.
        self.has_connection_setup_timeout = numbers >= (2, 7)
        # KAFKA-9628: partitions stand in a Produce request as they were drained, and not as a map has them.
        self.sends_as_drained = numbers >= (2, 8)
        # KIP-794: they stay until so many bytes went there; slow partitions get less.
        self.has_built_in_partitioner = numbers >= (3, 3)
        # KAFKA-14317: a request that the client itself gave up is REQUEST_TIMED_OUT, and not a lost connection.
        self.tells_own_time_outs = numbers >= (3, 5)
        # KIP-580: each retry waits twice as long as the one before.
        self.has_exponential_backoff = numbers >= (3, 7)
        # KIP-890: brokers add partitions to transactions, each transaction has an epoch of its own.
        self.has_transaction_v2 = numbers >= (4, 0)
        # KAFKA-19479: a flush waits for the pieces of a batch too. Before, it was over with the split.
        self.flushes_what_was_split = numbers >= (4, 2)
        # KIP-1242: a broker is told which one it is taken for.
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
