"""The followers, for the user of a cluster: `kafka.followers.freeze("topic", partition=0)`.

Each call selects replicas by topic, partition and broker; an omitted selector matches all. A call without any selector
also applies to topics made later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakebroker.core.arguments import STRING_OR_NONE, WHOLE_NUMBER_OR_NONE, require
from fakebroker.core.replication.behaviour import EXTERNAL, FROZEN, INSTANT, Behaviour, Selection

Step = tuple[int, Behaviour | None]  # milliseconds from now, and the behaviour; None undoes a freeze
Run = Callable[[Sequence[Step], Selection], None]


class FollowerBehaviours:
    """Behaviours of the replicas that do not lead (core/replication/follower.py). A leader adopts its behaviour once it
    follows."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def _apply(self, behaviour: Behaviour | None, topic: str | None, partition: int | None, broker: int | None) -> None:
        self._run([(0, behaviour)], _selection(topic, partition, broker))

    def freeze(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Stop copying. Requests with acks=all to these partitions time out until the ISR shrinks
        (replica.lag.time.max.ms)."""
        self._apply(FROZEN, topic, partition, broker)

    def lag(
        self, lag_ms: int, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        """Copy each record `lag_ms` milliseconds after the leader appended it."""
        self._apply(Behaviour.lagging(lag_ms), topic, partition, broker)

    def throttle(
        self, bytes_per_s: int, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        """Copy at most `bytes_per_s` bytes of record batches a second, one batch after the other."""
        self._apply(Behaviour.throttled(bytes_per_s), topic, partition, broker)

    def external(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Leave fetching to an external follower, which sends Fetch with the broker's id as replica id to the leader.
        Without one, the replicas keep what they have."""
        self._apply(EXTERNAL, topic, partition, broker)

    def instant(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Copy each record at once, after catching up."""
        self._apply(INSTANT, topic, partition, broker)

    def resume(self, topic: str | None = None, partition: int | None = None, broker: int | None = None) -> None:
        """Undo `freeze`: each frozen follower returns to its previous behaviour (instant, if it was frozen from the
        start)."""
        self._apply(None, topic, partition, broker)

    def script(
        self,
        steps: Sequence[tuple[int, str]],
        topic: str | None = None,
        partition: int | None = None,
        broker: int | None = None,
    ) -> None:
        """Change the behaviour over time. Steps are (milliseconds from now, behaviour) in rising order, as in `[(0,
        "instant"), (2_000, "frozen"), (5_000, "lagging:200"), (9_000, "resume")]`.

        A newer command or script for a follower cancels the remaining steps for it. So does the deletion of its topic.

        Raises ValueError or TypeError for an unknown behaviour, or a time that is no whole number or not rising; then
        no step is done.
        """
        parsed = [(at_ms, None if text == "resume" else Behaviour.parse(text)) for at_ms, text in map(_step, steps)]
        self._run(parsed, _selection(topic, partition, broker))


def _selection(topic: str | None, partition: int | None, broker: int | None) -> Selection:
    require(STRING_OR_NONE, topic=topic)
    require(WHOLE_NUMBER_OR_NONE, partition=partition, broker=broker)
    return Selection(topic, partition, broker)


def _step(step: object) -> tuple[Any, Any]:
    if not isinstance(step, tuple | list) or len(step) != 2:
        raise TypeError(f"a step of a script must be (milliseconds, behaviour), as in (2_000, 'frozen'), not {step!r}")
    return step[0], step[1]
