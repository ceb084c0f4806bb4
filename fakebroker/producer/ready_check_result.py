"""What an accumulator has for the sender at a time.

Units    milliseconds.
Source   clients/.../producer/internals/RecordAccumulator.java ReadyCheckResult of 2.0 and 4.3.
Speed    a class of its own, no named tuple, which Python would make: there are three for each batch
"""

from __future__ import annotations

from typing import final

from timingwheel.mypyc import mypyc_attr


@mypyc_attr(acyclic=True)
@final
class ReadyCheckResult:
    """The nodes that have something to send, after how long to ask again if nothing happens, and the topics of which a
    partition with records has no leader."""

    __slots__ = ("next_ready_check_delay_ms", "ready_nodes", "unknown_leader_topics")

    def __init__(self, ready_nodes: list[int], delay_ms: int, unknown_leader_topics: set[str]) -> None:
        self.ready_nodes = ready_nodes
        self.next_ready_check_delay_ms = delay_ms
        self.unknown_leader_topics = unknown_leader_topics
