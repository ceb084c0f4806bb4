"""The requests from leaders of partitions to transaction coordinators: verify partitions, or add them.

Theory   A broker has one such request in flight to each other broker. Queries that come meanwhile go together with the
         next request, which gets its response as a whole: a query about one transaction may wait for the replication of
         another. Of two queries about the same transaction that wait, the older one fails. A coordinator that does not
         respond in request.timeout.ms is taken for gone.
Units    milliseconds.
Source   core/.../server/AddPartitionsToTxnManager.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

Answered = Callable[[Mapping[TopicPartition, ErrorCode]], None]


@final
class Question:
    """A query about one transaction. `adds`: add the partitions, with transaction version 2; otherwise verify them."""

    __slots__ = ("adds", "answered", "partitions", "producer", "transactional_id")

    def __init__(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: frozenset[TopicPartition],
        adds: bool,
        answered: Answered,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer = producer
        self.partitions = partitions
        self.adds = adds
        self.answered = answered

    def fail(self, code: ErrorCode) -> None:
        self.answered(dict.fromkeys(self.partitions, code))


class _Request:
    """A request to one broker. It is over when all of its queries have a result, or at its timeout."""

    __slots__ = ("answers", "is_over", "questions")

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions
        self.answers: dict[str, Mapping[TopicPartition, ErrorCode]] = {}
        self.is_over = False


@final
class AddPartitionsToTxnManager:
    """The manager of one broker. `ask` puts a query to a broker, which calls back once, now or later; `later` calls a
    function after a delay in ms."""

    def __init__(
        self,
        ask: Callable[[int, Question, Answered], None],
        later: Callable[[int, Callable[[], None]], None],
        request_timeout_ms: Callable[[], int],
    ) -> None:
        self._ask = ask
        self._later = later
        self._request_timeout_ms = request_timeout_ms
        self._waiting: dict[int, dict[str, Question]] = {}  # by broker, if a request to it is in flight

    def add_or_verify_transaction(self, broker_id: int, question: Question) -> None:
        """Send the query to its coordinator, now or with the next request."""
        waiting = self._waiting.get(broker_id)
        if waiting is None:
            self._send(broker_id, [question])
            return
        other = waiting.get(question.transactional_id)
        if other is not None:
            epoch, other_epoch = question.producer.producer_epoch, other.producer.producer_epoch
            if other_epoch > epoch:
                question.fail(ErrorCode.invalid_producer_epoch)
                return
            del waiting[question.transactional_id]
            # With the same epoch the producer has most likely retried.
            other.fail(ErrorCode.network_exception if other_epoch == epoch else ErrorCode.invalid_producer_epoch)
        waiting[question.transactional_id] = question

    def close(self) -> None:
        """Drop the waiting queries: the broker stops."""
        self._waiting.clear()

    def _send(self, broker_id: int, questions: Sequence[Question]) -> None:
        request = _Request(questions)
        self._waiting[broker_id] = {}
        for question in questions:
            self._put(broker_id, request, question)
        if not request.is_over:
            self._later(self._request_timeout_ms(), lambda: self._timed_out(broker_id, request))

    def _put(self, broker_id: int, request: _Request, question: Question) -> None:
        def answered(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            request.answers[question.transactional_id] = errors
            if len(request.answers) == len(request.questions):
                self._over(broker_id, request)

        self._ask(broker_id, question, answered)

    def _timed_out(self, broker_id: int, request: _Request) -> None:
        if not request.is_over:
            for question in request.questions:
                request.answers[question.transactional_id] = dict.fromkeys(
                    question.partitions, ErrorCode.network_exception
                )
            self._over(broker_id, request)

    def _over(self, broker_id: int, request: _Request) -> None:
        """Return the results, and send the queries that came meanwhile."""
        if request.is_over:
            return
        request.is_over = True
        waiting = self._waiting.pop(broker_id, None)
        if waiting is None:
            return  # closed
        if waiting:
            self._send(broker_id, list(waiting.values()))
        for question in request.questions:
            question.answered(request.answers[question.transactional_id])
