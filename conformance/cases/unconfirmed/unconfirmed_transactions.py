"""Writes of a transaction coordinator that its replicas do not have: the request gets an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.consumer_group_frames import join
from conformance.group_frames import join_group
from conformance.group_steps import RANGE, nth_static
from conformance.offset_frames import offset_fetch
from conformance.scenario import (
    AwaitCoordinator,
    AwaitIsr,
    AwaitTransaction,
    Case,
    Freeze,
    MoveLeader,
    Pause,
    Send,
    Settle,
    Step,
    Thaw,
)
from conformance.shared_steps import warm
from conformance.transactions.frames import (
    FIRST,
    add_offsets,
    add_partitions,
    describe_transactions,
    init_transactions,
    txn_offset_commit,
)
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Steps, Txn, ask, both, numbered

_LOG, _OFFSETS = "__transaction_state", "__consumer_offsets"
_FOLLOWED_MS = 250  # until the follower that does fetch has what was sent


def _coordinated(txn: Txn, broker: int = 1) -> tuple[Step, ...]:
    """A broker coordinates all transactions."""
    return AwaitTransaction(txn.id), MoveLeader(_LOG, broker), AwaitTransaction(txn.id)


def _four(txn: Txn, timeout_ms: int) -> tuple[Step, ...]:
    """Initialise three of four transactional ids, the first with an open transaction. The others' writes must be
    replicated within `timeout_ms`, their transaction.timeout.ms."""
    second, third = f"{txn.id}-second", f"{txn.id}-third"
    return (
        *_coordinated(txn),
        *warm(txn.topic),
        *ask(init_transactions(txn.id, timeout_ms=8_000)),
        *ask(*(init_transactions(name, timeout_ms=timeout_ms) for name in (second, third))),
        *ask(txn.add(0)),
    )


def _waiting(txn: Txn, timeout_ms: int) -> tuple[Step, ...]:
    """Each on a connection of its own, since each waits."""
    third = f"{txn.id}-third"
    added = add_partitions(f"{txn.id}-second", {txn.topic: (0,)}, producer_id=producer(2))
    return (
        Send(numbered([txn.end(version=4)]), "b"),
        Send(numbered([added]), "c"),
        Send(numbered([add_offsets(third, "unconfirmed-group", producer_id=producer(3))]), "d"),
        Send(numbered([init_transactions(f"{txn.id}-fourth", timeout_ms=timeout_ms)]), "e"),
    )


def _others(txn: Txn) -> bytes:
    """Describe the second and the third id, not the fourth: its producer id was never returned."""
    return describe_transactions(*(f"{txn.id}-{name}" for name in ("second", "third")))


def _moves(txn: Txn) -> Sequence[Step]:
    """The coordinator moves while writes wait."""
    return (
        *_four(txn, 60_000),
        Freeze(3),
        *_waiting(txn, 60_000),
        Pause(_FOLLOWED_MS),
        MoveLeader(_LOG, 2),
        *(Settle(conn) for conn in "bcde"),
        Thaw(3),
        AwaitTransaction(txn.id, "CompleteCommit", broker=2),
        *ask(describe_transactions(txn.id), _others(txn), conn="f", broker=2),
        *_coordinated(txn),
    )


def _members(txn: Txn) -> Sequence[Step]:
    """Commit in a transaction as members of groups, old and new, and as clients that only claim to be members."""
    old, new = f"{txn.id}-classic", f"{txn.id}-consumers"
    one = [(txn.topic, 0, 5)]

    def commit(group: str, member_id: str, generation: int, instance_id: str | None = None) -> bytes:
        version = 5 if txn.is_v2 else 4
        return txn_offset_commit(
            txn.id, group, one, version=version, member_id=member_id, generation=generation, instance_id=instance_id
        )

    mine = nth_static(1, "one")
    return (
        AwaitCoordinator(old),
        *txn.begin(),
        *ask(join_group(old, protocols=RANGE, instance_id="one"), join(new, "m", txn.topic)),
        *(() if txn.is_v2 else ask(add_offsets(txn.id, old), add_offsets(txn.id, new))),
        *ask(commit(old, "another", 1, "one"), commit(old, mine, 1, "two"), commit(old, mine, 7, "one")),
        *ask(commit(old, mine, 1, "one"), commit(old, "another", 1)),
        *ask(
            commit(new, "m", 0), commit(new, "m", 1), commit(new, "m", 9), commit(new, "n", 1), commit(new, "m", 1, "i")
        ),
        *ask(describe_transactions(txn.id)),
    )


def _ending(txn: Txn) -> Sequence[Step]:
    """Add and commit offsets while the markers of the transaction's end cannot be written."""
    group = f"{txn.id}-group"
    return (
        AwaitCoordinator(group),
        MoveLeader("__consumer_offsets", 1),
        AwaitCoordinator(group),
        *_coordinated(txn),
        *warm(txn.topic),
        *txn.begin(),
        *txn.written(b"a"),
        Freeze(2),
        Freeze(3),
        Send(numbered([txn.end()]), "b"),
        Pause(200),
        *ask(
            add_offsets(txn.id, group, producer_id=FIRST),
            txn_offset_commit(txn.id, group, [(txn.topic, 0, 5)], version=5 if txn.is_v2 else 4),
        ),
        Thaw(2),
        Thaw(3),
        Settle("b"),
        txn.done(),
        *ask(describe_transactions(txn.id)),
    )


def _offsets(txn: Txn, *meanwhile: Step) -> Sequence[Step]:
    """Commit offsets in a transaction while the write is not replicated, do some steps meanwhile, then end it."""
    group = f"{txn.id}-group"
    return (
        AwaitCoordinator(group),
        AwaitIsr(_OFFSETS, (1, 2, 3)),
        MoveLeader(_OFFSETS, 1),
        AwaitCoordinator(group),
        *_coordinated(txn),
        *txn.begin(),
        *ask(add_offsets(txn.id, group)),
        Freeze(3),
        Send(numbered([txn_offset_commit(txn.id, group, [(txn.topic, 0, 5)], version=4)]), "b"),
        Pause(_FOLLOWED_MS),
        *meanwhile,
        Settle("b"),
        Thaw(3),
        AwaitCoordinator(group),
        *ask(txn.end()),
        AwaitTransaction(txn.id, "CompleteCommit"),
    )


def _offsets_late(txn: Txn) -> Sequence[Step]:
    return (*_offsets(txn), *ask(offset_fetch({f"{txn.id}-group": None})))


def _offsets_move(txn: Txn) -> Sequence[Step]:
    return (
        *_offsets(txn, MoveLeader(_OFFSETS, 2)),
        *ask(offset_fetch({f"{txn.id}-group": None}), conn="c", broker=2),
        AwaitIsr(_OFFSETS, (1, 2, 3)),
        MoveLeader(_OFFSETS, 1),
        AwaitCoordinator("warm"),
    )


def _made(what: str, why: str, steps: Steps, versions: tuple[int, ...], **values: Any) -> list[Case]:
    """Return the cases, each in a group of its own."""
    cases = both(f"unconfirmed-{what}", why, steps, versions=versions, **values)
    return [replace(case, name=f"transactions-unconfirmed/{what}-{case.box}") for case in cases]


_THREE: dict[str, Any] = {"box": "transactions-three", "replicas": 3}
CASES: list[Case] = [
    *_made("moves", "the coordinator moves while writes are parked: NOT_COORDINATOR", _moves, (1,), **_THREE),
    *_made("ending", "offsets while the end of a transaction is parked", _ending, (1, 2), **_THREE),
    *_made("offsets-late", "offsets of a transaction that are not replicated in time", _offsets_late, (1,), **_THREE),
    *_made("offsets-move", "the group's coordinator moves while offsets are parked", _offsets_move, (1,), **_THREE),
    *_made("members", "which members may commit in a transaction", _members, (1, 2)),
]
