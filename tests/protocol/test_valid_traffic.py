"""Valid requests are the same bytes in the load, the simulation, the benchmarks and the cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from uuid import UUID

import pytest

from benchmarks.drivers import frames as of_benchmarks
from conformance import frames as of_cases
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.testing import wire
from fakebroker.testing.groups import frames as of_groups
from fakebroker.testing.transactions import frames as of_transactions
from fakebroker_load.wire.group_messages import encode_offset_fetch
from fakebroker_load.wire.log_messages import encode_end_offset, encode_fetch
from fakebroker_load.wire.messages import encode_metadata, encode_produce

TIME_MS = 1_700_000_000_000
ID = UUID(int=7)
PLACES = [("b", 3), ("a", 1), ("b", 0)]
PRODUCER = of_transactions.ProducerIdentity("tx", 5, 2, 2)


def of_load(size: int) -> bytes:
    batch = encode_batch([Record(None, b"v" * size)], base_timestamp_ms=TIME_MS)
    return encode_produce(correlation_id=7, acks=-1, timeout_ms=500, topics=[("orders", [(3, batch)])])


def of_simulation(transactional_id: str = "") -> bytes:
    places = [(("t", 0), wire.batch(b"v", 3, TIME_MS)), (("t", 1), wire.batch(b"", 1, TIME_MS, 7, 1, 5, 0x10))]
    return wire.produce(9, 1, 4_000, [*places, (("u", 0), wire.batch(b"x" * 200, 200, TIME_MS))], transactional_id)


def of_case(version: int) -> bytes:
    topics: dict[str | UUID, dict[int, bytes | None]] = {"t": {0: of_cases.batch(b"a", b"b"), 4: None}, "u": {}}
    return of_cases.produce_many(topics, version, transactional_id="tx")


SENT: dict[str, tuple[Callable[[], bytes], str]] = {
    "load, empty": (lambda: of_load(0), "3cfe85e41c3a38ad"),
    "load, 100 bytes": (lambda: of_load(100), "712a7e9974ec0563"),
    "load, 100 kB": (lambda: of_load(100_000), "47dcc4ef77ee1d9f"),
    "simulation": (of_simulation, "df603e6f052715c0"),
    "simulation, transactional": (lambda: of_simulation("tx"), "663ee124af368427"),
    "simulation, no records": (lambda: wire.batch(b"", 0, TIME_MS), "2c7a2934933d5245"),
    "simulation, transactions": (
        lambda: of_transactions.produce(4, PRODUCER, ("t", 1), (b"a", b"b"), 3, TIME_MS, 500),
        "6e625b11045ee86d",
    ),
    "benchmark": (
        lambda: of_benchmarks.produce_frame("t" * 130, 2, of_benchmarks.record_batch(1_000, 3), -1),
        "f6e19f768803710f",
    ),
    "benchmark, idempotent": (lambda: of_benchmarks.record_batch(10, 2, sequence=4), "222d1369b85c17f7"),
    "benchmark, 1 MiB": (lambda: of_benchmarks.record_batch(1 << 20), "45591476a14d9bad"),
    **{
        f"case, v{version}": (partial(of_case, version), digest)
        for version, digest in enumerate(
            (
                "cdc1d2cfbc4e91d6",
                "4898093904451dc4",
                "096dede5318add27",
                "5f4e4fd6c323976f",
                "f5dfe86745a6696d",
                "b12a4d848faee3ca",
                "1047dd84b24cf29c",
                "f8c1b1801e7a93bb",
                "f60ac4d5a4d495da",
                "bdf0a5f429e4774b",
            ),
            3,
        )
    },
    "member, join": (lambda: of_groups.join(2, "g", "m", 1000, 2000, b"s"), "1b52432eafbf9d03"),
    "member, sync": (lambda: of_groups.sync(3, "g", "m", 4, {"m": PLACES}), "080b6f7af054bd03"),
    "member, leave": (lambda: of_groups.leave(5, "g", "m"), "47115d7f79708ca5"),
    "member, commit": (
        lambda: of_groups.commit(6, "g", "m", 3, {("b", 1): 5, ("a", 2): 7, ("b", 3): 9}),
        "d3f0bc0b55f7c066",
    ),
    "member, new protocol": (
        lambda: of_groups.consumer_heartbeat(7, "g", "m", 3, 500, "t", {UUID(int=4): [1, 2]}),
        "38d630af47321650",
    ),
    "transactions, init": (lambda: of_transactions.init(2, PRODUCER, 900), "462b8f11c4a013ab"),
    "transactions, partitions": (lambda: of_transactions.add_partitions(3, PRODUCER, PLACES), "48aad8b06e0712b1"),
    "transactions, offsets": (
        lambda: of_transactions.commit_offsets(5, PRODUCER, "g", {("b", 1): 5, ("a", 2): 7}),
        "2c69a8feef21f932",
    ),
    "transactions, end": (lambda: of_transactions.end(6, PRODUCER, True), "0302b6120bb406ed"),
    "transactions, fetch": (lambda: wire.fetch(7, "t", 1, 99, 5, True, 4096), "42c636edc2b24ed4"),
    "load, metadata": (lambda: encode_metadata(3, ["a", "b"]), "0e7a79059ce92a13"),
    "load, fetch": (lambda: encode_fetch(1, "t", 2, 3, 4, True), "9594a275faacf93c"),
    "load, end offset": (lambda: encode_end_offset(1, "t", 2, 3), "b53ebf2f04f72e55"),
    "load, committed offset": (lambda: encode_offset_fetch(2, "g", "t", 1), "07bd550422f4ff94"),
    "case, v13": (
        lambda: of_cases.produce(ID, of_cases.batch(codec=1), version=13, client_id=None),
        "737a976d06dfedc5",
    ),
}


@pytest.mark.parametrize("name", SENT)
def test_its_bytes(name: str) -> None:
    made, expected = SENT[name]
    assert blake2b(made(), digest_size=8).hexdigest() == expected
