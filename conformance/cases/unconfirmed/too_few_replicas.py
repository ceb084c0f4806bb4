"""The log of transactions with too few replicas in sync: nothing is written, and the coordinator is not available."""

from __future__ import annotations

from conformance.config_frames import DELETE, SET, TOPIC, incremental
from conformance.group_steps import ask
from conformance.scenario import (
    AwaitIsr,
    AwaitTransaction,
    Case,
    CatchUp,
    MoveLeader,
    Pause,
    StartBroker,
    Step,
    StopBroker,
    Topic,
)
from conformance.transactions.frames import (
    FIRST,
    add_offsets,
    add_partitions,
    describe_transactions,
    end_txn,
    init_transactions,
)

_OFFSETS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"
_WATERMARK_MS = 1_200  # followers learn of the watermark by the answer to their next fetch, 500 ms later at most
_MIN_ISR = "min.insync.replicas"


def _each(*frames: bytes) -> tuple[Step, ...]:
    return tuple(step for frame in frames for step in ask(frame))


def _while_two_of_three(topic: str, *steps: Step) -> tuple[Step, ...]:
    """A replica of a topic that needs all three is gone."""
    return (
        *ask(incremental((TOPIC, topic, [(_MIN_ISR, SET, "3")]))),
        CatchUp(),
        StopBroker(3),
        AwaitIsr(topic, (1, 2)),
        *steps,
        *ask(incremental((TOPIC, topic, [(_MIN_ISR, DELETE, None)]))),
        CatchUp(),
        StartBroker(3),
        AwaitIsr(topic, (1, 2, 3)),
        Pause(_WATERMARK_MS),
    )


def _transactions() -> Case:
    topic = Topic("too-few-transactions")
    name = "too-few"
    return Case(
        "transactions-unconfirmed/too-few-replicas",
        "writes of a transaction below min.insync.replicas: COORDINATOR_NOT_AVAILABLE, and nothing changes",
        (
            AwaitTransaction(name),
            MoveLeader(_TRANSACTIONS, 1),
            AwaitTransaction(name),
            *ask(init_transactions(name)),
            *ask(add_partitions(name, {topic.name: (0,)})),
            *_while_two_of_three(
                _TRANSACTIONS,
                *_each(
                    add_offsets(name, "g"),
                    describe_transactions(name),
                    end_txn(name, version=4),
                    describe_transactions(name),
                    init_transactions(name),
                    describe_transactions(name),
                    init_transactions("too-few-other"),
                ),
            ),
            *_each(
                describe_transactions(name),
                add_partitions(name, {topic.name: (0,)}, producer_id=FIRST),
                end_txn(name, version=4),
            ),
        ),
        (topic,),
        "transactions-three-1",
    )


CASES: list[Case] = [_transactions()]
