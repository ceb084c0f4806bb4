"""One record sent by a stock client with the settings of `client_settings`, or the error of a refused client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiokafka
import aiokafka.abc
import confluent_kafka
import kafka as kafka_python
from kafka.net.sasl.oauth import AbstractTokenProvider

from support.watchdog import LIMIT_S, run, wait_until

TOPIC, VALUE = "orders", b"value"
ATTEMPT_MS = 200  # for which a client that is to be refused tries to connect, before it is started anew

Sends = Callable[[dict[str, Any], str | None, int], None]


def by_confluent(settings: dict[str, Any], token: str | None, patience_ms: int) -> None:
    failed: list[Any] = []
    delivered: list[Any] = []
    if token is not None:
        settings["oauth_cb"] = lambda _: (token, 4e9)
    producer = confluent_kafka.Producer(settings | {"message.timeout.ms": patience_ms, "error_cb": failed.append})
    producer.produce(TOPIC, VALUE, on_delivery=lambda error, _: (failed if error else delivered).append(error))

    def has_ended() -> bool:
        producer.poll(0.1)
        return bool(failed or delivered)

    wait_until(has_ended, "the record to be delivered or refused")
    producer.purge()
    producer.flush(LIMIT_S)
    if not delivered:
        raise ConnectionError(" ".join(map(str, failed)))


class OfKafkaPython(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token


def by_kafka_python(settings: dict[str, Any], token: str | None, patience_ms: int) -> None:
    if token is not None:
        settings["sasl_oauth_token_provider"] = OfKafkaPython(token)
    patience = {"max_block_ms": patience_ms, "bootstrap_timeout_ms": patience_ms}
    producer = kafka_python.KafkaProducer(**settings, **patience)
    try:
        producer.send(TOPIC, VALUE).get(60)
    finally:
        producer.close(5)


class OfAiokafka(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


def by_aiokafka(settings: dict[str, Any], token: str | None, patience_ms: int) -> None:
    async def send() -> None:
        given = {} if token is None else {"sasl_oauth_token_provider": OfAiokafka(token)}
        producer = aiokafka.AIOKafkaProducer(**settings, **given)
        try:
            await producer.start()
            await producer.send_and_wait(TOPIC, VALUE)
        finally:
            await producer.stop()

    run(send(), "the record of aiokafka")


CLIENTS: dict[str, Sends] = {
    "confluent": by_confluent,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
}


def send(library: str, settings: dict[str, Any], token: str | None = None) -> None:
    """Send one record, and wait for it for as long as the watchdog does."""
    CLIENTS[library](dict(settings), token, int(LIMIT_S * 1_000))


def refused(
    library: str, settings: dict[str, Any], seen: Callable[[], object], what: str, token: str | None = None
) -> str:
    """Try to send until the broker has seen what was to be seen, and return the text of the client's last error.

    One attempt is short, and on a busy machine may end before it is refused: then there is a further one.
    """
    errors: list[str] = []

    def attempted() -> object:
        try:
            CLIENTS[library](dict(settings), token, ATTEMPT_MS)
        except Exception as error:  # each library has its own
            errors.append(f"{type(error).__name__}: {error}")
        else:
            raise AssertionError(f"{library} was not refused: {what}")
        return seen()

    wait_until(attempted, what)
    return errors[-1]
