"""Requests between brokers: a paused broker gets its responses when it is resumed, and a broker that stops fails the
requests that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import final

from fakebroker.core.transactions.add_partitions_manager import Answered
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition


@final
class InterBrokerRequests:
    """The requests of one broker, which may be paused."""

    def __init__(self) -> None:
        self.is_paused = False
        self._came: list[Callable[[], None]] = []
        self._in_hand: dict[int, tuple[Iterable[TopicPartition], Answered]] = {}  # requests of other brokers
        self._asked = 0

    def of(self, answered: Answered) -> Answered:
        """Return `answered`, delayed while the broker is paused."""

        def hear(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            if self.is_paused:
                self._came.append(partial(answered, errors))
            else:
                answered(errors)

        return hear

    def taken_in_hand(self, partitions: Iterable[TopicPartition], answered: Answered) -> Answered:
        """Register a request of another broker. Return its callback, which works once, and only before `answer_all`."""
        self._asked += 1
        number = self._asked
        self._in_hand[number] = partitions, answered

        def tell(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            if self._in_hand.pop(number, None) is not None:
                answered(errors)

        return tell

    def answer_all(self, code: ErrorCode) -> None:
        """Fail all registered requests: the other brokers lose the connection."""
        in_hand, self._in_hand = self._in_hand, {}
        for partitions, answered in in_hand.values():
            answered(dict.fromkeys(partitions, code))

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        """Deliver the responses that came meanwhile, in order."""
        self.is_paused = False
        came, self._came = self._came, []
        for hear in came:
            hear()

    def close(self) -> None:
        """Drop the responses that came meanwhile."""
        self.is_paused = False
        self._came.clear()
