"""Transactions of very many partitions, and very many that are late at once."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import httpx
import pytest
from support import doses
from support.messages import decode_response
from support.requests import request
from support.under_attack import ATTEMPTS, STALL_LIMIT_MS, UnderAttack, hold, prepare
from support.watchdog import LIMIT_S, join, wait_until

PARTITIONS = 9_990
COMMIT, FIND, INIT, ADD, END, MARKERS, TXN_COMMIT, LIST = 8, 10, 22, 24, 26, 27, 28, 66
COORDINATOR = [request(FIND, 2, {"key": "big", "key_type": 1})] * 2  # the first one makes __transaction_state
ONE_PARTITION = ("--config", "transaction.state.log.num.partitions=1")
BIG = f"big:{PARTITIONS}:1"
LATE = doses.count(1_500, 2_000)  # 1,500 in one turn are a stall beyond the limit
OFFSETS_STALL_MS = 40.0  # some 15 on a machine that does nothing else


def init(transactional_id: str, timeout_s: int = 600) -> bytes:
    """Producer ids are given out in order, from 0 on."""
    values = {
        "transactional_id": transactional_id,
        "transaction_timeout": timedelta(seconds=timeout_s),
        "producer_id": -1,
        "producer_epoch": -1,
    }
    return request(INIT, 4, values)


def add(transactional_id: str, producer_id: int, topic: str, partitions: range) -> bytes:
    values = {
        "transactional_id": transactional_id,
        "producer_id": producer_id,
        "producer_epoch": 0,
        "topics": [{"name": topic, "partitions": partitions}],
    }
    return request(ADD, 3, {f"v3_and_below_{name}": value for name, value in values.items()})


def end(transactional_id: str, producer_id: int) -> bytes:
    producer = {"producer_id": producer_id, "producer_epoch": 0}
    return request(END, 3, {"transactional_id": transactional_id, "committed": True} | producer)


@pytest.mark.parametrize("ends", doses.nightly_after(1, [end("big", 0), init("big")]))
def test_a_transaction_of_very_many_partitions(ends: bytes) -> None:
    fill = [*COORDINATOR, init("big"), add("big", 0, "big", range(PARTITIONS))]
    hold(ends, BIG, memory_mib=96, fill=fill, once=True, arguments=ONE_PARTITION)


def commit(transactional_id: str = "") -> bytes:
    """Return a commit of an offset for each partition, in a transaction of the first producer if an id is given."""
    offset = {"committed_offset": 7, "committed_leader_epoch": -1, "committed_metadata": ""}
    partitions = [{"partition_index": index} | offset for index in range(PARTITIONS)]
    values = {"group_id": "g", "member_id": "", "topics": [{"name": "big", "partitions": partitions}]}
    if not transactional_id:
        return request(COMMIT, 8, values | {"generation_id_or_member_epoch": -1, "group_instance_id": None})
    producer = {"transactional_id": transactional_id, "producer_id": 0, "producer_epoch": 0}
    return request(TXN_COMMIT, 5, values | producer | {"generation_id": -1, "group_instance_id": None})


def test_offsets_of_very_many_partitions() -> None:
    fill = [request(FIND, 2, {"key": "g", "key_type": 0})] * 2
    hold(commit(), BIG, memory_mib=96, fill=fill, arguments=ONE_PARTITION, stall_ms=OFFSETS_STALL_MS)


@pytest.mark.parametrize("ends", ["commits", "goes on"])
def test_offsets_of_very_many_partitions_in_a_transaction(ends: str) -> None:
    fill = [*COORDINATOR, *[request(FIND, 2, {"key": "g", "key_type": 0})] * 2, init("big")]
    if ends == "commits":
        data, fill = end("big", 0), [*fill, commit("big")]
    else:
        data = commit("big")
    arguments = (*ONE_PARTITION, "--config", "offsets.topic.num.partitions=1")
    hold(data, BIG, memory_mib=96, fill=fill, once=True, arguments=arguments, stall_ms=OFFSETS_STALL_MS)


def test_additions_of_very_many_partitions() -> None:
    attacks = add("big", 0, "big", range(PARTITIONS))
    hold(attacks, BIG, memory_mib=96, fill=[*COORDINATOR, init("big")], arguments=ONE_PARTITION)


def test_markers_in_very_many_partitions() -> None:
    marker = {
        "producer_id": 5,
        "producer_epoch": 0,
        "transaction_result": True,
        "coordinator_epoch": 0,
        "topics": [{"name": "big", "partition_indexes": range(PARTITIONS)}],
    }
    hold(request(MARKERS, 1, {"markers": [marker]}), BIG, memory_mib=96, once=True)


def test_very_many_that_are_late_at_once() -> None:
    """All of them are aborted in the tick that finds them, next to a quiet client."""
    fill = [*COORDINATOR, *(init(f"late-{number}", timeout_s=60) for number in range(LATE))]
    fill += [add(f"late-{number}", number, "t", range(1)) for number in range(LATE)]
    stalls: list[float] = []
    limit_ms = STALL_LIMIT_MS
    while not stalls or stalls[-1] > limit_ms:
        assert len(stalls) < ATTEMPTS, f"stalls of {stalls} ms; {limit_ms:.0f} ms are allowed"
        with UnderAttack("t:1:1", arguments=[*ONE_PARTITION, "--clock", "manual"]) as broker:
            prepare(broker, "", fill, unanswered=False)
            assert len(transactions_in(broker, "Ongoing")) == LATE
            broker.watch(0.05)
            broker.stalls.clear()
            advance = threading.Thread(target=advance_by_minutes, args=[broker, 2])
            advance.start()

            def are_all_aborted(broker: UnderAttack = broker) -> bool:
                broker.watch(0.2)
                return len(transactions_in(broker, "CompleteAbort")) == LATE

            wait_until(are_all_aborted, "the abort of each transaction")
            join(advance)
            stalls.append(max(broker.stalls))
            limit_ms = STALL_LIMIT_MS * broker.slowness.factor()


def advance_by_minutes(broker: UnderAttack, minutes: int) -> None:
    url = f"{broker.facts['control_url']}/v1/clock/advance"
    httpx.post(url, json={"ms": minutes * 60_000}, timeout=LIMIT_S, trust_env=False, verify=False).raise_for_status()


def transactions_in(broker: UnderAttack, state: str) -> list[Any]:
    filters = {"state_filters": [state], "producer_id_filters": [], "duration_filter": -1}
    with broker.client() as client:
        return list(decode_response(LIST, 1, client.ask(request(LIST, 1, filters)))[1].transaction_states)
