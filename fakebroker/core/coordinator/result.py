"""The result of a coordinator's operation: the records to write, and the response after their commit.

Theory   An operation reads the state, changes nothing, and returns the records to write. The runtime appends them to
         the log and replays them to the state. It sends the response when the high watermark has passed them. If they
         cannot be appended, nothing has happened. If they are not committed, the state is reverted.
         State that is in no record, such as timers and JoinGroups that wait, is changed by the operation itself.
         `on_complete` tells it the outcome of the write, so that it can undo the change.
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
    """The records and the response of an operation. The response is sent when the records are committed; without
    records, when earlier ones are.

    on_complete     Kafka's appendFuture: called before the response, when the records are committed, or with the
                    error for which they are not. It is missing if the operation itself raised.
    replay_records  False if the operation has changed the state already (classic groups), so that the records are only
                    written
    is_atomic       False if the records may be split into several batches when they exceed one
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
