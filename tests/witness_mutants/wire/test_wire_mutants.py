"""One altered message on the wire is found or listed: a sample at night, hundreds with `make wire-mutants`."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.compute as pc
import pytest
from support.few_rows import FOR_FEW_ROWS

from fakebroker.protocol.error_code import ErrorCode
from fakebroker_load.facts.table import facts
from fakebroker_load.results.folder import PARQUET
from fakebroker_load.session import spark_session
from witness_mutants.changes import ROW, Kind
from witness_mutants.listed import SURVIVOR, judgement_of
from witness_mutants.recording import load_recording
from witness_mutants.wire import batches
from witness_mutants.wire.altering import A_FRAME, HEADERS, Alteration, alter
from witness_mutants.wire.batches import NothingToChange
from witness_mutants.wire.campaign import Catalogue, alteration_of, catalogue_of, fields_of, tried_on_the_wire
from witness_mutants.wire.conditions import WIRE
from witness_mutants.wire.fields import leaves, places_of, value_at
from witness_mutants.wire.messages import Message
from witness_mutants.wire.runs import SCENARIOS, play

SEED, MUTANTS = 7, 120
ANSWER = "Produce v9 response"


@pytest.fixture(scope="module")
def catalogues(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Catalogue]:
    """Return the catalogues of two short scenarios."""
    return {name: catalogue_of(name, tmp_path_factory.mktemp("runs") / name) for name in ("plain", "wide")}


def messages(catalogues: Mapping[str, Catalogue]) -> Iterator[tuple[str, list[Message]]]:
    for catalogue in catalogues.values():
        for name, of_name in catalogue.messages.items():
            yield name, list(of_name)


def test_each_field_of_each_message_is_altered_and_nothing_beside_it(catalogues: Mapping[str, Catalogue]) -> None:
    altered: set[tuple[str, str]] = set()
    for name, of_name in messages(catalogues):
        for (thing, field), changes in fields_of(of_name).items():
            if thing != name or field in (A_FRAME, ROW):
                continue
            for change in changes:
                for message, before in zip(of_name[1:], of_name, strict=False):
                    try:
                        done = alter(message.frame(), message, before, of(name, thing, field, change))
                    except NothingToChange:
                        continue
                    (frame,) = done.frames
                    other = read(message, frame)
                    altered.add((thing, field))
                    assert differing(message, other) == [field], (thing, field, change)
                    break
    for thing, field in (("Produce v9 request", "acks"), (ANSWER, "responses.partition_responses.base_offset")):
        assert (thing, field) in altered
    assert len(altered) > 80


def differing(one: Message, other: Message) -> list[str]:
    """Return the fields of which two messages have another value."""
    return [
        field
        for field in leaves(type(one.body))
        if [value_at(one.body, place) for place in places_of(one.body, field)]
        != [value_at(other.body, place) for place in places_of(other.body, field)]
    ]


def of(name: str, thing: str, field: str, change: str) -> Alteration:
    return Alteration(name, Kind(thing, field, change), 0, "s")


def read(message: Message, frame: bytes) -> Message:
    if message.is_request:
        return Message.request(frame[4:])
    return Message.response(message.api, message.version, frame[4:])


def test_each_kind_of_change_has_its_place_in_the_table_of_facts(catalogues: Mapping[str, Catalogue]) -> None:
    for _, of_name in messages(catalogues):
        for (thing, field), changes in fields_of(of_name).items():
            for change in changes:  # raises KeyError for a field that the table does not know
                judgement_of(Kind(thing, field, change), 3, [({}, None)], lambda *_: False)


def test_what_is_unseen_is_some_kind_of_change(catalogues: Mapping[str, Catalogue]) -> None:
    known: dict[tuple[str, str], Sequence[str]] = {**batches.CHANGES, **HEADERS}
    for _, of_name in messages(catalogues):
        known.update(fields_of(of_name))
    for fact in facts():
        if fact.witness in ("wire", "batch"):
            assert fact.unseen.keys() <= WIRE.keys(), fact
            for patterns in fact.unseen.values():
                changes = known.get((fact.thing, fact.field))
                assert changes is None or all(fnmatch.filter(changes, pattern) for pattern in patterns), fact


def test_a_batch_has_the_crc_of_its_bytes_unless_the_crc_is_changed(catalogues: Mapping[str, Catalogue]) -> None:
    for name in ("Produce v9 request", "Fetch v12 response"):
        with_records = [message for message in catalogues["wide"].messages[name] if message.has_records]
        message, before = with_records[1], with_records[0]
        for (thing, field), changes in batches.CHANGES.items():
            for change in changes:
                try:
                    done = alter(message.frame(), message, before, of(name, thing, field, change))
                except NothingToChange:
                    continue
                assert message.records is not None
                other = read(message, done.frames[0]).body
                data = [value_at(other, at) for at in places_of(other, message.records)]
                valid = [batches.is_whole(part) for part in data if part]
                whole = field not in ("crc", "batch_length") and change != batches.NOT_MENDED
                assert all(valid) == whole, (thing, field, change)


def test_an_altered_response_is_what_the_load_sees(tmp_path: Path) -> None:
    kind = Kind(ANSWER, "responses.partition_responses.error_code", "another value")
    played = play("plain", Alteration(ANSWER, kind, 3, "seed"), tmp_path / "one")
    assert (played.refused, played.crash) == (None, None)
    assert played.done is not None
    rows = load_recording(tmp_path / "one").tables[PARQUET]
    own = rows.filter(pc.equal(rows["local"], played.done.peer))
    wrong = [row for row in own.to_pylist() if row["read"] is None and row["error_code"] != row["expected_error"]]
    assert len(wrong) == 1
    assert ErrorCode(wrong[0]["error_code"]).name in played.done.altered.told
    assert (wrong[0]["topic"], wrong[0]["partition"]) in played.done.altered.parts


def test_the_same_seed_draws_the_same_alterations(catalogues: Mapping[str, Catalogue]) -> None:
    catalogue = catalogues["plain"]
    drawn = [alteration_of(catalogue, SEED, number) for number in range(40)]
    assert drawn == [alteration_of(catalogue, SEED, number) for number in range(40)]
    assert len({alteration.message for alteration in drawn}) > 5


@pytest.mark.nightly  # every day: that each field is altered alone, and has its place in the table of facts
@pytest.mark.spark
def test_a_sample_is_found_or_listed(tmp_path: Path) -> None:
    with spark_session("local[2]", FOR_FEW_ROWS) as spark, ThreadPoolExecutor(1) as pool:
        runs = [catalogue_of(name, tmp_path / name) for name in SCENARIOS]
        tried = [one for some in tried_on_the_wire(spark, pool, runs, SEED, MUTANTS, tmp_path / "wire") for one in some]
    assert len(tried) > MUTANTS
    survivors = [f"{one.told}, {one.ways} ways: {one.said}" for one in tried if one.outcome == SURVIVOR]
    assert not survivors, "\n".join(survivors)
