"""What brokers ask each other, and what comes back: heard once who asked does not stand still, answered at the latest
when who was asked goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import final

from fakebroker.core.transactions.add_partitions_manager import Answered
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition


@final
class Hearing:
    """Of one broker, whose process `is_paused` or not."""

    def __init__(self) -> None:
        self.is_paused = False
        self._came: list[Callable[[], None]] = []
        self._in_hand: dict[int, tuple[Iterable[TopicPartition], Answered]] = {}  # what other brokers have asked
        self._asked = 0

    def of(self, answered: Answered) -> Answered:
        """The same, heard once the broker does not stand still."""

        def hear(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            if self.is_paused:
                self._came.append(partial(answered, errors))
            else:
                answered(errors)

        return hear

    def taken_in_hand(self, partitions: Iterable[TopicPartition], answered: Answered) -> Answered:
        """What another broker asks: it is answered once, if not before then by `answer_all`."""
        self._asked += 1
        number = self._asked
        self._in_hand[number] = partitions, answered

        def tell(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            if self._in_hand.pop(number, None) is not None:
                answered(errors)

        return tell

    def answer_all(self, code: ErrorCode) -> None:
        """Whoever asked loses the connection."""
        in_hand, self._in_hand = self._in_hand, {}
        for partitions, answered in in_hand.values():
            answered(dict.fromkeys(partitions, code))

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        """It hears what came meanwhile, in order."""
        self.is_paused = False
        came, self._came = self._came, []
        for hear in came:
            hear()

    def close(self) -> None:
        """It hears nothing any more that came meanwhile."""
        self.is_paused = False
        self._came.clear()
