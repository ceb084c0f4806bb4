"""The transaction of a raw connection: begun before its first request, ended after the last response.

Theory   Each step is a request to the coordinator: InitProducerId, AddPartitionsToTxn, EndTxn. A coordinator may be
         unknown, loading, or busy with the transaction before. So a step that fails is tried again until it is done,
         or the time is over.
Errors   ConnectionError, ProtocolError: the step was not done in time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from fakebroker.protocol.errors import ProtocolError
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.group_messages import TRANSACTION, decode_find_coordinator, encode_find_coordinator
from fakebroker_load.wire.messages import decode_init_producer_id, encode_init_producer_id
from fakebroker_load.wire.transaction_messages import (
    TransactionalIdentity,
    check_add_partitions,
    check_end,
    encode_add_partitions,
    encode_end,
)

WITHIN_S = 10.0
RETRY_S = 0.05
T = TypeVar("T")


class RawTransaction:
    """One transaction. `bootstrap` is any broker, `parts` are its partitions, topic by topic."""

    def __init__(self, name: str, bootstrap: tuple[str, int], parts: Sequence[tuple[str, int]]) -> None:
        self.name = name
        self._bootstrap = bootstrap
        self._parts = parts
        self._producer = TransactionalIdentity(name, -1, -1)

    async def begin(self) -> TransactionalIdentity:
        """Begin it, with a new producer."""
        self._producer = await self._tried(self._init)
        await self._tried(self._add_partitions)
        return self._producer

    async def end(self, is_commit: bool) -> None:
        """Commit or abort it."""

        async def end(coordinator: Caller) -> None:
            _, answer = await coordinator.ask(lambda number: encode_end(number, self._producer, is_commit))
            check_end(answer)

        await self._tried(end)

    async def _init(self, coordinator: Caller) -> TransactionalIdentity:
        _, answer = await coordinator.ask(lambda number: encode_init_producer_id(number, self.name))
        return TransactionalIdentity(self.name, *decode_init_producer_id(answer))

    async def _add_partitions(self, coordinator: Caller) -> None:
        _, answer = await coordinator.ask(lambda number: encode_add_partitions(number, self._producer, self._parts))
        check_add_partitions(answer)

    async def _tried(self, step: Callable[[Caller], Awaitable[T]]) -> T:
        deadline = time.monotonic() + WITHIN_S
        while True:
            try:
                return await self._at_coordinator(step)
            except (ConnectionError, ProtocolError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(RETRY_S)

    async def _at_coordinator(self, step: Callable[[Caller], Awaitable[T]]) -> T:
        first = await Caller.of(*self._bootstrap)
        try:
            _, answer = await first.ask(lambda number: encode_find_coordinator(number, self.name, TRANSACTION))
        finally:
            await first.close()
        coordinator = await Caller.of(*decode_find_coordinator(answer))
        try:
            return await step(coordinator)
        finally:
            await coordinator.close()
