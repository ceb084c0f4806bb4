"""What an operation of a coordinator has come to: the records it writes, and what is answered once they are safe.

Theory   An operation reads the state, changes nothing, and says which records it wants written. The runtime appends
         them to the log, replays them to the state at once, and gives the answer when the high watermark has passed
         them. If they cannot be appended, nothing has happened. If they are not committed, the state goes back to what
         it was.
         What is not in any record (who waits for a JoinGroup, timers) is changed by the operation itself; it is told by
         `on_complete` what became of the records, so that it can take that back.
Source   coordinator-common/.../common/runtime/CoordinatorResult.java @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.protocol.errors import KafkaError

T = TypeVar("T")

OnComplete = Callable[[KafkaError | None], None]


@final
class CoordinatorResult(Generic[T]):
    """`response` is given to who asked when the records are committed; at once if there are none and nothing before
    them is uncommitted.

    on_complete     Kafka's appendFuture: called when the records are committed, or with the error for which they are
                    not, before who asked is told. If the operation itself raised, there is none.
    replay_records  False if the operation has changed the state already (classic groups), so that the records are only
                    written
    is_atomic       False if the records may be spread over several batches, where one cannot hold them
    """

    __slots__ = ("is_atomic", "on_complete", "records", "replay_records", "response")

    def __init__(
        self,
        records: Sequence[CoordinatorRecord],
        response: T,
        on_complete: OnComplete | None = None,
        replay_records: bool = True,
        is_atomic: bool = True,
    ) -> None:
        self.records = records
        self.response = response
        self.on_complete = on_complete
        self.replay_records = replay_records
        self.is_atomic = is_atomic
