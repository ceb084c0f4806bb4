"""Parked requests, groups and transactions."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path
from pydantic import BaseModel

from fakebroker.control.bodies import GroupWait, ParkedWait
from fakebroker.control.cluster_observer import Waits
from fakebroker.control.errors import given
from fakebroker.control.groups import GroupLine, GroupNow, find_group, list_groups
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import HostedCluster
from fakebroker.core.errors import KafkaError
from fakebroker.core.groups.classic.states import ClassicGroupState
from fakebroker.core.groups.consumer.state.group import ConsumerGroupState
from fakebroker.core.transactions.states import TransactionState
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices
from fakebroker.spelling import known_name

router = APIRouter(route_class=Route)

_PARKED: Final = ("Produce", "Fetch", "DeleteRecords")
_STATES: Final = tuple(dict.fromkeys(state.value for state in (*ClassicGroupState, *ConsumerGroupState)))
_IS_SHOWN = 1000
_LOOKED_AT = 512  # parked requests in a slice


class WaitingRequest(BaseModel):
    """A parked request. `partitions` are those of a Produce; `left_ms` is the time until it expires."""

    request: int
    connection: int
    broker: int
    api: str
    correlation_id: int
    client_id: str | None
    principal: str
    partitions: list[tuple[str, int]]
    waited_ms: int
    left_ms: int


class PurgatorySize(BaseModel):
    """The number of operations in each purgatory of one broker."""

    broker: int
    produce: int
    fetch: int
    delete_records: int


class PurgatoryNow(BaseModel):
    """`waiting` are the first 1,000 of `count`. Requests that were parked before the control observed the cluster are
    only in `sizes`."""

    count: int
    waiting: list[WaitingRequest]
    sizes: list[PurgatorySize]


class PurgatoryWaited(PurgatoryNow):
    """`matches` is false if a limit was reached first. `waiting` are the selected requests."""

    matches: bool


class GroupList(BaseModel):
    groups: list[GroupLine]


class GroupWaited(BaseModel):
    """`matches` is false if a limit was reached first; then `reason` describes the group."""

    matches: bool
    reason: str | None
    group: GroupNow | None


class TransactionNow(BaseModel):
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    pending_state: str | None
    timeout_ms: int
    start_wall_ms: int
    partitions: list[tuple[str, int]]


class TransactionList(BaseModel):
    transactions: list[TransactionNow]


@router.get("/purgatory", tags=["waiting"])
async def get_purgatory(here: Here) -> PurgatoryNow:
    """The parked requests: acks=all waits for replication, a Fetch for records."""
    return purgatory_now(here)


@router.post("/purgatory/wait", tags=["waiting"])
async def wait_for_parked(here: Here, body: ParkedWait) -> PurgatoryWaited:
    """Wait until at least `count` requests are parked, for example before you stop a broker or advance the clock."""
    with given():
        api = None if body.api is None else known_name(body.api, _PARKED, "purgatory of")
        if body.broker is not None:
            here.core.lives.state_of(body.broker)

    def matching() -> Slices[list[Waits]]:
        meant: list[Waits] = []
        for number, waits in enumerate(list(here.told.waits.values()), 1):
            if api in (None, waits.api) and _is_meant(waits, body):
                meant.append(waits)
            if number % _LOOKED_AT == 0:
                yield
        return meant

    def look() -> Slices[list[Waits] | None]:
        there = yield from matching()
        return there if len(there) >= body.count else None

    there = await here.waiting.until(look, body.timeout_ms, body.timeout_wall_ms)
    shown = await here.work.do(matching()) if there is None else there
    return PurgatoryWaited(matches=there is not None, **_purgatory(here, shown).model_dump())


def _is_meant(waits: Waits, body: ParkedWait) -> bool:
    return (
        body.broker in (None, waits.broker)
        and body.client_id in (None, waits.client_id)
        and (body.topic is None or any(topic == body.topic for topic, _ in waits.partitions))
        and (body.partition is None or any(partition == body.partition for _, partition in waits.partitions))
    )


def purgatory_now(here: HostedCluster) -> PurgatoryNow:
    """Return all parked requests."""
    return _purgatory(here, list(here.told.waits.values()))


def waiting_request(here: HostedCluster, waits: Waits) -> WaitingRequest:
    """Return the parked request as of now."""
    now_ms = here.driver.clock.reached().mono_ms
    if waits.api == "Fetch":  # a skip does not shorten its wait
        now_ms -= here.core.skipped_ms - waits.skipped_ms
    return WaitingRequest(
        request=waits.request,
        connection=waits.connection,
        broker=waits.broker,
        api=waits.api,
        correlation_id=waits.correlation_id,
        client_id=waits.client_id,
        principal=waits.principal,
        partitions=list(waits.partitions),
        waited_ms=max(now_ms - waits.since_mono_ms, 0),
        left_ms=max(waits.deadline_mono_ms - now_ms, 0),
    )


def _purgatory(here: HostedCluster, waiting: list[Waits]) -> PurgatoryNow:
    brokers = here.core.brokers
    return PurgatoryNow(
        count=len(waiting),
        waiting=[waiting_request(here, waits) for waits in waiting[:_IS_SHOWN]],
        sizes=[
            PurgatorySize(
                broker=broker_id,
                produce=broker.replicas.produce_purgatory.num_delayed(),
                fetch=broker.replicas.fetch_purgatory.num_delayed(),
                delete_records=broker.replicas.deletion.purgatory.num_delayed(),
            )
            for broker_id, broker in brokers.items()
        ],
    )


@router.get("/groups", tags=["groups"])
async def get_groups(here: Here) -> GroupList:
    """All groups, of both protocols."""
    return GroupList(groups=list_groups(here.core))


@router.post("/groups/wait", tags=["groups"])
async def wait_for_group(here: Here, body: GroupWait) -> GroupWaited:
    """Wait until a group is in a state, and has that many members."""
    if body.state is not None:
        with given():
            known_name(body.state, _STATES, "group state")

    def look() -> Slices[GroupNow | None]:
        yield
        group = find_group(here.core, body.group_id)
        return group if group is not None and _is_so(group, body) else None

    matching_group = await here.waiting.until(look, body.timeout_ms, body.timeout_wall_ms)
    if matching_group is not None:
        return GroupWaited(matches=True, reason=None, group=matching_group)
    group = find_group(here.core, body.group_id)
    if group is None:
        return GroupWaited(matches=False, reason=f"there is no group {body.group_id!r}", group=None)
    reason = f"it is {group.state}, with {len(group.members)} members"
    return GroupWaited(matches=_is_so(group, body), reason=reason, group=group)


def _is_so(group: GroupNow, body: GroupWait) -> bool:
    is_in_state = body.state is None or group.state.lower() == body.state.lower()
    return is_in_state and body.members in (None, len(group.members))


@router.get("/groups/{group_id:path}", tags=["groups"])
async def get_group(here: Here, group_id: Annotated[str, Path(max_length=1000)]) -> GroupNow:
    """A group: its state, its members, its committed offsets."""
    group = find_group(here.core, group_id)
    if group is None:
        raise KafkaError(ErrorCode.group_id_not_found, f"there is no group {group_id!r}")
    return group


@router.get("/transactions", tags=["transactions"])
async def get_transactions(here: Here) -> TransactionList:
    """All known transactional ids, with the state of their transactions."""
    transactions = [
        TransactionNow(
            transactional_id=entry.transaction.transactional_id,
            coordinator=broker_id,
            producer_id=entry.transaction.now.producer_id,
            producer_epoch=entry.transaction.now.producer_epoch,
            state=entry.transaction.now.state.value,
            pending_state=_name(entry.transaction.pending_state),
            timeout_ms=entry.transaction.now.timeout_ms,
            start_wall_ms=entry.transaction.now.start_ms,
            partitions=sorted((one.topic, one.partition) for one in entry.transaction.now.partitions),
        )
        for broker_id, broker in here.core.brokers.items()
        for entry in broker.transactions.states.all()
    ]
    return TransactionList(transactions=transactions)


def _name(state: TransactionState | None) -> str | None:
    return None if state is None else state.value
