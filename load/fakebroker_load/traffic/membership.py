"""One life in a classic group, as a client: join, get partitions, send heartbeats, commit, leave.

Theory   All requests use one connection to the coordinator. The leader assigns the partitions, by Kafka's range
         assignor. A member is eager: on a rebalance it gives back all its partitions and rejoins.
Units    *_ms is milliseconds.
Errors   ConnectionError, ProtocolError (an error that a member cannot handle), WireError: the life is over.
Source   clients/.../consumer/internals/AbstractCoordinator.java, ConsumerCoordinator.java @ 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import ProtocolError
from fakebroker_load.scenario.reads import ReaderOptions
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.client import Exchange
from fakebroker_load.wire.group_messages import (
    decode_find_coordinator,
    decode_offset_fetch,
    encode_find_coordinator,
    encode_offset_fetch,
)
from fakebroker_load.wire.member_messages import (
    BEAT,
    COMMIT,
    FRAMES,
    JOIN,
    LEAVE,
    SYNC,
    assigned,
    deal,
    subscription_to,
)

REBALANCE_MS = 10_000
NONE, REBALANCING = int(ErrorCode.none), int(ErrorCode.rebalance_in_progress)
UNKNOWN_MEMBER, ILLEGAL_GENERATION = int(ErrorCode.unknown_member_id), int(ErrorCode.illegal_generation)
MUST_REJOIN = (REBALANCING, UNKNOWN_MEMBER, ILLEGAL_GENERATION)
_MEMBER_ID_REQUIRED = int(ErrorCode.member_id_required)


class JoinResult(NamedTuple):
    exchange: Exchange  # the JoinGroup that returned the generation
    partitions: Sequence[int]


class Membership:
    """A membership. `member_id` and `generation` are those of the coordinator's last response."""

    def __init__(self, group_id: str, topic: str, reading: ReaderOptions) -> None:
        self.group_id = group_id
        self.member_id = ""
        self.generation = -1
        self._topic = topic
        self._reading = reading
        self._coordinator: Caller | None = None

    async def find_coordinator(self) -> None:
        """Ask the known brokers for the coordinator, and connect to it."""
        complaint: Exception = ConnectionError("no broker answers")
        for place in self._reading.places:
            try:
                broker = await Caller.of(*place)
                try:
                    _, answer = await broker.ask(lambda number: encode_find_coordinator(number, self.group_id))
                finally:
                    await broker.close()
                self._coordinator = await Caller.of(*decode_find_coordinator(answer))
            except (OSError, ProtocolError) as error:
                complaint = error
            else:
                return
        raise complaint

    async def join(self) -> JoinResult:
        """Join until it is a member of a generation, and knows its partitions there."""
        subscription, session_ms = subscription_to(self._topic), self._reading.session_ms
        while True:
            exchange, answer = await self._ask(
                JOIN,
                lambda number: FRAMES.join(
                    number, self.group_id, self.member_id, session_ms, REBALANCE_MS, subscription
                ),
                REBALANCE_MS + session_ms,
            )
            error = int(answer.error_code)
            if error == _MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
                continue
            if self._must_rejoin("JoinGroup", error):
                continue
            self.member_id, self.generation = str(answer.member_id), int(answer.generation_id)
            shares: Mapping[str, bytes] = {}
            if answer.leader == self.member_id:
                members = [(member.member_id, bytes(member.metadata)) for member in answer.members]
                shares = deal(members, self._topic, len(self._reading.parts))
            _, answer = await self._ask(
                SYNC,
                lambda number, shares=shares: FRAMES.sync(  # type: ignore[misc]
                    number, self.group_id, self.member_id, self.generation, shares
                ),
                REBALANCE_MS + session_ms,
            )
            if not self._must_rejoin("SyncGroup", int(answer.error_code)):
                return JoinResult(exchange, assigned(bytes(answer.assignment), self._topic))

    def _must_rejoin(self, what: str, error: int) -> bool:
        if error == UNKNOWN_MEMBER:
            self.member_id, self.generation = "", -1
        if error not in (NONE, *MUST_REJOIN):
            raise ProtocolError(f"{what}: {kafka_name(error)}")
        return error != NONE

    async def heartbeat(self) -> int:
        """Send a heartbeat. Return its error code."""
        _, answer = await self._ask(
            BEAT, lambda number: FRAMES.heartbeat(number, self.group_id, self.member_id, self.generation)
        )
        return int(answer.error_code)

    async def commit(
        self, offsets: Mapping[int, int], member_id: str, generation: int
    ) -> tuple[Exchange, dict[int, int]]:
        """Commit offsets as that member of that generation. Return the error code of each partition. Raises
        ProtocolError for a response about others."""
        places = {(self._topic, index): offset for index, offset in offsets.items()}
        exchange, answer = await self._ask(
            COMMIT, lambda number: FRAMES.commit(number, self.group_id, member_id, generation, places)
        )
        errors = {
            (str(topic.name), int(part.partition_index)): int(part.error_code)
            for topic in answer.topics
            for part in topic.partitions
        }
        if errors.keys() != places.keys():
            raise ProtocolError("OffsetCommit: the answer is about other partitions than the request")
        return exchange, {index: error for (_, index), error in errors.items()}

    async def committed(self, partition: int) -> tuple[Exchange, int]:
        """Return the committed offset; -1 if there is none."""
        assert self._coordinator is not None
        exchange, answer = await self._coordinator.ask(
            lambda number: encode_offset_fetch(number, self.group_id, self._topic, partition)
        )
        return exchange, decode_offset_fetch(answer)

    async def leave(self) -> Exchange:
        exchange, _ = await self._ask(LEAVE, lambda number: FRAMES.leave(number, self.group_id, self.member_id))
        return exchange

    async def _ask(self, api: int, encode: Callable[[int], bytes], wait_ms: int = 0) -> tuple[Exchange, Any]:
        assert self._coordinator is not None
        exchange, answer = await self._coordinator.ask(encode, wait_ms)
        return exchange, FRAMES.answered(api, answer)

    async def close(self) -> None:
        """Close the socket, without a LeaveGroup."""
        if self._coordinator is not None:
            await self._coordinator.close()
