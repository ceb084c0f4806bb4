"""The followers in the user's hand: `kafka.followers.freeze("topic", partition=0)`.

Each call names whom it means by topic, partition and broker; what is left out means all. Without any of the three it
also holds for topics made later.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.behaviour import FROZEN, INSTANT, Behaviour

Apply = Callable[[Behaviour | None, str | None, int | None, int | None], None]


class Followers:
    """What the replicas do that do not lead (core/follower.py)."""

    def __init__(self, apply: Apply) -> None:
        self._apply = apply

    def freeze(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Stop copying: acks=all on these partitions times out, until the ISR shrinks (replica.lag.time.max.ms)."""
        self._apply(FROZEN, topic, partition, broker)

    def lag(
        self, lag_ms: int, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        """Have each record `lag_ms` milliseconds after the leader."""
        self._apply(Behaviour.lagging(lag_ms), topic, partition, broker)

    def instant(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Have each record at once; catch up first."""
        self._apply(INSTANT, topic, partition, broker)

    def resume(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Undo `freeze`: each frozen follower does again what it did before (instant, if it always was frozen)."""
        self._apply(None, topic, partition, broker)
