"""The followers in the user's hand: `kafka.followers.freeze("topic", partition=0)`.

Each call names whom it means by topic, partition and broker; what is left out means all. Without any of the three it
also holds for topics made later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakebroker.core.arguments import STRING_OR_NONE, WHOLE_NUMBER_OR_NONE, require
from fakebroker.core.replication.behaviour import EXTERNAL, FROZEN, INSTANT, Behaviour
from fakebroker.core.replication.followers import Selection

Step = tuple[int, Behaviour | None]  # when, in milliseconds from now; None undoes a freeze
Run = Callable[[Sequence[Step], Selection], None]


class Followers:
    """What the replicas do that do not lead (core/replication/follower.py); one that leads does it once it follows."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def _apply(self, behaviour: Behaviour | None, topic: str | None, partition: int | None, broker: int | None) -> None:
        self._run([(0, behaviour)], _selection(topic, partition, broker))

    def freeze(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Stop copying: acks=all on these partitions times out, until the ISR shrinks (replica.lag.time.max.ms)."""
        self._apply(FROZEN, topic, partition, broker)

    def lag(
        self, lag_ms: int, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        """Have each record `lag_ms` milliseconds after the leader."""
        self._apply(Behaviour.lagging(lag_ms), topic, partition, broker)

    def throttle(
        self, bytes_per_s: int, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        """Copy at most `bytes_per_s` bytes of record batches a second, one batch after the other."""
        self._apply(Behaviour.throttled(bytes_per_s), topic, partition, broker)

    def external(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Let somebody else play them over the wire: whoever sends Fetch with the broker's id as replica id to the
        leader. Until then they have what they have."""
        self._apply(EXTERNAL, topic, partition, broker)

    def instant(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Have each record at once; catch up first."""
        self._apply(INSTANT, topic, partition, broker)

    def resume(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Undo `freeze`: each frozen follower does again what it did before (instant, if it always was frozen)."""
        self._apply(None, topic, partition, broker)

    def script(
        self,
        steps: Sequence[tuple[int, str]],
        topic: str | None = None,
        partition: int | None = None,
        broker: int | None = None,
    ) -> None:
        """Change what they do over time: (milliseconds from now, behaviour) in rising order, as in
        `[(0, "instant"), (2_000, "frozen"), (5_000, "lagging:200"), (9_000, "resume")]`.

        A newer command or script for a follower ends what is left of this one for it; so does the end of its topic.

        Raises ValueError or TypeError for a behaviour that does not exist, or a time that is no whole number or out of
        order; then no step is done.
        """
        parsed = [(at_ms, None if text == "resume" else Behaviour.parse(text)) for at_ms, text in map(_step, steps)]
        self._run(parsed, _selection(topic, partition, broker))


def _selection(topic: str | None, partition: int | None, broker: int | None) -> Selection:
    require(STRING_OR_NONE, topic=topic)
    require(WHOLE_NUMBER_OR_NONE, partition=partition, broker=broker)
    return Selection(topic, partition, broker)


def _step(step: object) -> tuple[Any, Any]:
    if not isinstance(step, tuple | list) or len(step) != 2:
        raise TypeError(f"a step of a script is (milliseconds, behaviour), as in (2_000, 'frozen'), and not {step!r}")
    return step[0], step[1]
