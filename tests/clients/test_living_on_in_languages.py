"""Clients of other languages that outlive a cluster, as those of Python in test_living_on.py."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.client_programs import PROGRAMS, program
from support.log_reader import read_log, read_values
from support.taken_address import BEFORE, OTHERS, WAYS, Address
from support.watchdog import LIMIT_S, wait_until

from conformance.clients.members import Member
from conformance.clients.plan import Job, Record
from conformance.clients.process import ClientProcess

pytestmark = [pytest.mark.clients, pytest.mark.languages, pytest.mark.slow]

AFTER = [b"after-0", b"after-1", b"after-2", b"after-3"]
FEW = 10  # refused Produce requests: a stuck client has hundreds


@pytest.fixture
def address() -> Iterator[Address]:
    address_ = Address()
    yield address_
    address_.close()


in_each_way = pytest.mark.parametrize("change", WAYS.values(), ids=list(WAYS))
of_both_kinds = pytest.mark.parametrize("is_idempotent", [False, True], ids=["plain", "idempotent"])


@in_each_way
@of_both_kinds
@pytest.mark.parametrize("client", ["kafka-clients", "sarama", "kafkajs", "krafka"])
def test_what_a_producer_that_lives_on_is_acknowledged_is_there(
    address: Address, change: Callable[[Address], None], client: str, is_idempotent: bool
) -> None:
    results = sent_around(address, change, client, is_idempotent)

    offsets = range(len(OTHERS), len(OTHERS) + len(AFTER))
    assert results == [{"partition": 0, "offset": offset} for offset in offsets]
    assert read_values(address.kafka, "a") == OTHERS + AFTER
    assert set(read_values(address.kafka, "b")) == {b"of b"}
    assert len(address.refused()) <= FEW


@in_each_way
@of_both_kinds
def test_franz_go_is_told_that_it_is_another_topic(
    address: Address, change: Callable[[Address], None], is_idempotent: bool
) -> None:
    """franz-go adopts no new id of a topic until it is told to forget the topic, with Apache Kafka too."""
    assert sent_around(address, change, "franz-go", is_idempotent) == [{"error": "UNKNOWN_TOPIC_ID"}] * len(AFTER)
    assert read_values(address.kafka, "a") == OTHERS


@in_each_way
@pytest.mark.parametrize("client", ["sarama", "kafkajs", "franz-go"])
def test_a_transaction_that_lives_on_is_not_committed_and_the_next_one_is(
    address: Address, change: Callable[[Address], None], client: str
) -> None:
    def change_for_all(address: Address) -> None:
        change(address)
        address.ask_for_transactions()

    *sent, committed = sent_around(address, change_for_all, client, True, transactional_id="tx")
    assert committed.get("error"), committed
    assert not any(result.get("offset") == 0 for result in sent), "an offset of the other life"
    assert read_values(address.kafka, "a")[: len(OTHERS)] == OTHERS
    *_, committed = sent_around(address, lambda address: None, client, True, transactional_id="tx")
    assert "error" not in committed

    values = [value for _, value in read_log(address.kafka, "a")]
    assert values[-1 - len(BEFORE + AFTER) : -1] == BEFORE + AFTER  # the last is the marker of the transaction


def sent_around(
    address: Address, change: Callable[[Address], None], client: str, is_idempotent: bool, **values: Any
) -> list[dict[str, Any]]:
    """Return the results of the records that a producer sends after the change."""
    command, folder = program(PROGRAMS[client])
    records = tuple(Record(0, b"key", value) for value in BEFORE + AFTER)
    job = Job("a", idempotent=is_idempotent, pause_before=len(BEFORE), records=records, **values)
    plan = {"bootstrap": address.kafka.bootstrap_servers, "jobs": [job.described("a")]}
    with ClientProcess(command, folder, plan, LIMIT_S) as process:
        process.await_pause()
        change(address)
        process.go_on()
        results: list[dict[str, Any]] = process.report()["jobs"][0]["results"]
    return results[len(BEFORE) :]


@in_each_way
def test_a_transaction_of_java_that_lives_on_fails_and_the_next_producer_works(
    address: Address, change: Callable[[Address], None]
) -> None:
    """The application has to recover by a new producer: InvalidPidMappingException is an
    ApplicationRecoverableException."""
    begin, flush, pause = [{"do": "init"}, {"do": "begin"}], {"do": "flush"}, {"do": "pause"}
    with transacting(address, [*begin, sending(b"half"), flush, pause, sending(b"the other half"), flush]) as process:
        process.await_pause()
        change(address)
        address.ask_for_transactions()
        process.go_on()
        assert process.hear()["results"] == [["a", 0, 0], ["InvalidPidMappingException"]]
    with transacting(address, [*begin, sending(b"whole"), {"do": "commit"}]) as process:
        assert process.hear()["results"] == [["a", 0, len(OTHERS)]]

    values = [value for _, value in read_log(address.kafka, "a")]
    assert values[:-1] == [*OTHERS, b"whole"]  # the last is the marker of the transaction


def transacting(address: Address, steps: list[dict[str, Any]]) -> ClientProcess:
    command, folder = program(PROGRAMS["kafka-clients"])
    producing = {"settings": {"transactional.id": "tx"}, "steps": steps}
    return ClientProcess(
        command, folder, {"bootstrap": address.kafka.bootstrap_servers, "producing": producing}, LIMIT_S
    )


def sending(value: bytes) -> dict[str, Any]:
    text = b64encode(value).decode()
    return {"do": "send", "topic": "a", "partition": 0, "timestamp_ms": 1, "key": None, "value": text, "headers": []}


# A process that never had the cluster id tells kafka-clients 4.4 REBOOTSTRAP_REQUIRED, as Kafka does. The consumer then
# waits for its connection to the coordinator, which it does not close, and sends no heartbeat.
# A member of franz-go adopts no other id of a topic, as its producer, and reads nothing: it is left out.
MEMBERS = [
    *((Address.reset, client, "classic") for client in ("kafka-clients", "sarama", "kafkajs")),
    (Address.reset, "kafka-clients", "consumer"),
    (Address.start_again, "kafka-clients", "classic"),
    (Address.start_again, "kafka-clients", "consumer"),
    (Address.taken_by_another, "kafkajs", "classic"),
]


@pytest.mark.parametrize(("change", "client", "protocol"), MEMBERS)
def test_a_member_that_lives_on_reads_the_new_topic_from_its_start(
    address: Address, change: Callable[[Address], None], client: str, protocol: str
) -> None:
    command, folder = program(PROGRAMS[client])
    settings: dict[str, Any] = {"group": "g", "topic": "a", "protocol": protocol, "assignor": "range", "instance": None}
    settings |= {"reset": "earliest", "session_ms": 6_000, "heartbeat_ms": 300}
    plan = {"bootstrap": address.kafka.bootstrap_servers, "member": settings}
    address.send("a", BEFORE)
    with Member(ClientProcess(command, folder, plan, LIMIT_S)) as member:
        await_values(member, BEFORE)
        change(address)
        await_values(member, OTHERS)
        wait_until(address.has_member, "the member that comes back")
        address.send("a", [b"last"])
        await_values(member, [b"last"])

    assert {value for _, _, value in member.read} == {value_.decode() for value_ in [*BEFORE, *OTHERS, b"last"]}


def await_values(member: Member, values: list[bytes]) -> None:
    def are_there() -> bool:
        member.check()
        return {value for _, _, value in member.read} >= {expected.decode() for expected in values}

    wait_until(are_there, f"{values}")
