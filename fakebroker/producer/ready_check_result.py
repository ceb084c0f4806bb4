"""The result of RecordAccumulator.ready.

Units    milliseconds.
Source   clients/.../producer/internals/RecordAccumulator.java ReadyCheckResult of 2.0 and 4.3.
Speed    a class instead of a NamedTuple, which Python would create: there are three for each batch
"""

from __future__ import annotations

from typing import final

from timingwheel.mypyc import mypyc_attr


@mypyc_attr(acyclic=True)
@final
class ReadyCheckResult:
    """The nodes with batches to send, the delay until the next check, and the topics of which a partition with records
    has no leader."""

    __slots__ = ("next_ready_check_delay_ms", "ready_nodes", "unknown_leader_topics")

    def __init__(self, ready_nodes: list[int], delay_ms: int, unknown_leader_topics: set[str]) -> None:
        self.ready_nodes = ready_nodes
        self.next_ready_check_delay_ms = delay_ms
        self.unknown_leader_topics = unknown_leader_topics
