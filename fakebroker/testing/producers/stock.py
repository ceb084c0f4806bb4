"""Stock producers with recorded calls: confluent-kafka, kafka-python and aiokafka.

    history = ProducerHistory()
    producer = recorded(Producer({...}), history)         # pass this to the code under test, instead of the producer
    ...
    findings = history.check(kafka.journal)

Theory   The wrapper behaves like the producer. It reports each record before it is sent, and the result of its callback
         or future. An error is definite if `produce` or `send` itself raised it, as nothing was sent. A later error is
         that of the last of perhaps many attempts, so the record is possibly written. The exception is kafka-python
         with `retries=0`, which tries once. librdkafka retries even with `retries=0`, if it assumes that nothing was
         written, and aiokafka always does. With acks=0 there are no offsets and no acknowledgements.
Limit    The wrapper sees keys and values before any serializer, so they must be bytes. With confluent-kafka they may be
         text, which is sent as UTF-8. The delivery callback of confluent-kafka's configuration is not called; those of
         `produce` are. Batches that are built by hand (`send_batch`, `produce_batch`) are not recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.testing.producers.calls import ProducerCall
from fakebroker.testing.producers.judge import ProducerHistory

_MANY: Final = 2  # an unknown number of tries
_NOT_TOLD: Final = "acks=0"
_CODES: Final = frozenset(int(code) for code in ErrorCode)


def recorded(producer: Any, history: ProducerHistory, client: str = "") -> Any:
    """Return a producer that reports its records and outcomes to the history, under this client name or a generated
    one. Raises TypeError if it is none of the three."""
    for base in type(producer).__mro__:
        wrapper = _WRAPPERS.get(base.__module__.partition(".")[0], {}).get(base.__name__)
        if wrapper is not None:
            history.producers += 1
            return wrapper(producer, history, client or f"producer {history.producers}")
    raise TypeError(
        f"a {type(producer).__module__}.{type(producer).__name__} cannot be recorded; confluent_kafka.Producer, "
        "kafka.KafkaProducer and aiokafka.AIOKafkaProducer can: for others call ProducerHistory.invokes yourself"
    )


class _RecordedProducer:
    def __init__(self, producer: Any, history: ProducerHistory, client: str) -> None:
        self._producer = producer
        self._history = history
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def _invokes(self, topic: str, value: object, key: object, headers: Any) -> ProducerCall:
        pairs = headers.items() if isinstance(headers, dict) else headers or ()
        said = [(str(name), _bytes(data)) for name, data in pairs]
        return self._history.invokes(self._client, topic, _bytes(value), _bytes(key), said)


class _Confluent(_RecordedProducer):
    def __len__(self) -> int:
        return len(self._producer)

    def __enter__(self) -> _Confluent:
        self._producer.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._producer.__exit__(*error)

    def produce(
        self,
        topic: str,
        value: bytes | str | None = None,
        key: bytes | str | None = None,
        partition: int = -1,
        callback: Callable[[Any, Any], object] | None = None,
        on_delivery: Callable[[Any, Any], object] | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        call, theirs = self._invokes(topic, value, key, headers), on_delivery or callback

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                call.failed(error.name(), _MANY)
            else:
                _acknowledged(call, message.partition(), message.offset())
            if theirs is not None:
                theirs(error, message)

        with _SendCall(call):
            self._producer.produce(
                topic, value, key, partition, on_delivery=delivered, timestamp=timestamp, headers=headers or []
            )


class _KafkaPython(_RecordedProducer):
    def __enter__(self) -> _KafkaPython:
        self._producer.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._producer.__exit__(*error)

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        headers: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Any:
        call = self._invokes(topic, value, key, headers)
        tries = 1 if self._producer.config.get("retries") == 0 else _MANY
        with _SendCall(call):
            future = self._producer.send(topic, value, key, headers, partition, timestamp_ms)
        if self._producer.config.get("acks") == 0:
            call.unknown(_NOT_TOLD)  # the offset of the future is made up
            return future
        future.add_callback(lambda metadata: _acknowledged(call, metadata.partition, metadata.offset))
        future.add_errback(lambda error: call.failed(_name(error), tries))
        return future


class _Aiokafka(_RecordedProducer):
    async def __aenter__(self) -> _Aiokafka:
        await self._producer.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._producer.stop()

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Any = None,
    ) -> asyncio.Future[Any]:
        call = self._invokes(topic, value, key, headers)
        with _SendCall(call):
            future: asyncio.Future[Any] = await self._producer.send(topic, value, key, partition, timestamp_ms, headers)

        def finished(done: asyncio.Future[Any]) -> None:
            if done.cancelled():
                call.unknown("cancelled")
                return
            error = done.exception()
            if error is not None:
                call.failed(_name(error), _MANY)
            elif done.result() is None:
                call.unknown(_NOT_TOLD)
            else:
                _acknowledged(call, done.result().partition, done.result().offset)

        future.add_done_callback(finished)
        return future

    async def send_and_wait(self, topic: str, *arguments: Any, **named: Any) -> Any:
        return await (await self.send(topic, *arguments, **named))


class _SendCall:
    """A call to the client: an exception means that nothing was sent; after a cancellation the outcome is unknown."""

    def __init__(self, call: ProducerCall) -> None:
        self._call = call

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, Exception):
            self._call.refused(_name(error))
        elif error is not None:
            self._call.unknown(_name(error))


def _acknowledged(call: ProducerCall, partition: int, offset: int | None) -> None:
    if offset is None or offset < 0:
        call.unknown(_NOT_TOLD)
    else:
        call.ok(partition, offset)


def _name(error: BaseException) -> str:
    """Return Kafka's name of an error code, otherwise the name of the class."""
    code = getattr(error, "errno", None)
    return kafka_name(code) if code in _CODES else type(error).__name__


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a recorded producer takes bytes or text as they are sent, and no {type(value).__name__}")


_Wrappers = dict[str, dict[str, Callable[[Any, ProducerHistory, str], _RecordedProducer]]]
_WRAPPERS: Final[_Wrappers] = {
    "cimpl": {"Producer": _Confluent},
    "kafka": {"KafkaProducer": _KafkaPython},
    "aiokafka": {"AIOKafkaProducer": _Aiokafka},
}
