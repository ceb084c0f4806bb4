"""The table of facts has every field of every message, batch, row and event, and names rules that the verdict has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pytest
from witness_mutants.wire.fields import leaves, types_of

import fakebroker_load
from fakebroker.core.journal.events import PartitionAnswer
from fakebroker.core.journal.json_lines import KINDS as EVENTS
from fakebroker.protocol.messages import request_type, response_type
from fakebroker.protocol.record_batch import BatchHeader, Record
from fakebroker_load.facts import page
from fakebroker_load.facts.table import JOURNAL, LOG, NEEDS, REFUSED, WITNESSES, fact_of, facts
from fakebroker_load.journal.lines import COLUMNS
from fakebroker_load.judging.mismatches import KINDS
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.wire import group_messages, log_messages, transaction_messages
from fakebroker_load.wire import messages as messages_of_requests
from fakebroker_load.wire.client import RequestOutcome
from fakebroker_load.wire.member_messages import FRAMES

ROOT = Path(fakebroker_load.__file__).parent
DOCS = Path(__file__).resolve().parents[3] / "docs"
# What Kafka's own producer sends beside Produce: its versions are its own business (fakebroker/producing).
BY_PRODUCER = ("InitProducerId v5", "AddOffsetsToTxn v4", "TxnOffsetCommit v5", "EndTxn v5")
ATTRIBUTES = ("compression", "timestamp_type", "is_transactional", "is_control", "delete_horizon")
SENT_BY_NOBODY = "in the log, and sent by nobody"  # what OF_THE_LOG finds
ROWS = ("a row dropped", "a row doubled")


def told(witness: str) -> Counter[tuple[str, str]]:
    return Counter((fact.thing, fact.field) for fact in facts() if fact.witness == witness)


def once(*of: tuple[str, Iterator[str] | tuple[str, ...] | list[str]]) -> Counter[tuple[str, str]]:
    return Counter((thing, field) for thing, names in of for field in names)


def messages() -> Iterator[tuple[str, type[Any]]]:
    """Return each message that the load sends or gets, by its name in the table."""
    pairs = [*FRAMES._versions.items()]
    for room in (messages_of_requests, log_messages, group_messages, transaction_messages):
        names = [name for name in vars(room) if name.endswith("_VERSION")]
        pairs += [(vars(room)[name.removesuffix("_VERSION")], vars(room)[name]) for name in names]
    for api, number in pairs:
        for kind in (request_type(api, number), response_type(api, number)):
            yield named(kind.__name__, number), kind
    for thing in BY_PRODUCER:
        name, version = thing.split(" v")
        module = re.sub("(?<=.)([A-Z])", r"_\1", name).lower()
        for side in ("request", "response"):
            camel = name + side.title()
            yield named(camel, version), getattr(import_module(f"kio.schema.{module}.v{version}.{side}"), camel)


def named(class_name: str, version: int | str) -> str:
    api, side = re.findall(r"(\w+?)(Request|Response)$", class_name)[0]
    return f"{api} v{version} {side.lower()}"


def headers() -> Iterator[tuple[str, type[Any]]]:
    for side in ("request", "response"):
        (kind,) = {
            kind.__header_schema__ for name, kind in messages() if name.startswith("Produce ") and name.endswith(side)
        }
        yield f"{side} header", kind


def test_each_field_of_each_message_is_there_once() -> None:
    of_wire = {**dict(messages()), **dict(headers())}
    assert told("wire") == once(*((thing, leaves(kind)) for thing, kind in of_wire.items()))


def test_each_property_of_what_is_read_back_is_there_once() -> None:
    header = [name for name in BatchHeader._fields if name != "attributes"]
    record = [*Record._fields, "attributes"]
    assert told("batch") == once(("batch", header), ("batch attributes", ATTRIBUTES), ("record", record))


def test_each_event_of_the_journal_and_each_of_its_fields_is_there_once() -> None:
    assert told("event") == once(*((kind, event_fields(kind)) for kind in EVENTS))


def event_fields(kind: str) -> Iterator[str]:
    """Return the fields of a kind of event, and of each partition of a response."""
    for name, hint in get_type_hints(EVENTS[kind]).items():
        inner = PartitionAnswer in types_of(hint)
        yield from (f"{name}.{field}" for field in PartitionAnswer._fields) if inner else (name,)


def columns(schema: pa.Schema) -> Iterator[str]:
    for field in schema:
        if pa.types.is_struct(field.type):
            yield from (f"{field.name}.{one.name}" for one in field.type)
        else:
            yield field.name


def test_each_column_is_there_once() -> None:
    both = list(columns(RESULT_SCHEMA))
    requests = [name for name in both if not name.startswith("read.")]
    assert told("client") == once(("requests", requests), ("readings", both))
    assert told("log") == once(("records", columns(LOG_SCHEMA)), ("partitions", columns(PART_SCHEMA)))
    assert told("journal") == once(*((kind, ["run", *names]) for kind, names in COLUMNS.items()))


def test_rows_that_are_dropped_or_doubled_are_there() -> None:
    things = {fact.thing for fact in facts() if fact.witness in ("client", "log", "journal")}
    assert {(thing, row) for thing in things for row in ROWS} <= set(told("order"))


def problems() -> set[str]:
    """Return the findings of the verdict: those of KINDS that a rule of some file or the outcome of a request gives."""
    rooms = [*(ROOT / "judging").glob("*.py"), *(ROOT / "readback").glob("*.py"), ROOT / "wire" / "messages.py"]
    sources = "".join(path.read_text() for path in rooms if path.name != "mismatches.py")
    outcomes = {str(outcome) for outcome in RequestOutcome} | {"gave up", SENT_BY_NOBODY}
    named = {one or other for one, other in re.findall(r"""'([^'\n]+)'|"([^"\n]+)\"""", sources)}
    return {problem for kind in KINDS.values() for problem in kind if problem in named | outcomes}


def phrases() -> str:
    """Return how each sentence about a whole group begins."""
    console, verdict = (ROOT / "console.py").read_text(), (ROOT / "verdict.py").read_text()
    of_verdict = verdict[: verdict.index("class Reason")]
    return (ROOT / "judging" / "groups.py").read_text() + console[console.index("def complaints") :] + of_verdict


@pytest.mark.parametrize("rule", sorted({fact.rule for fact in facts() if fact.rule is not None}))
def test_each_rule_is_one_of_the_verdict(rule: str) -> None:
    assert rule == REFUSED or rule in problems() or re.search(rf'f?"[^"\n]*{re.escape(rule)}', phrases())


def test_each_problem_of_the_verdict_is_the_rule_of_a_fact_or_named_by_one() -> None:
    said = "\n".join(f"{fact.rule}\n{fact.reason}" for fact in facts())
    unused = [problem for kind in KINDS.values() for problem in kind if problem not in said]
    assert unused == []


def test_what_is_not_judged_has_a_reason_and_each_is_a_sentence() -> None:
    for fact in facts():
        assert fact.witness in WITNESSES
        assert fact.needs in NEEDS
        assert fact.rule or fact.reason, fact
        assert not fact.reason or re.fullmatch(r"[A-Z`].*\.", fact.reason), fact
        assert not fact.unseen or (fact.rule and fact.reason and fact.witness != "event"), fact


def test_a_fact_is_found() -> None:
    fact = fact_of("log", "records", "offset")
    assert (fact.rule, fact.needs) == ("told another offset", LOG)
    assert fact_of("journal", "answer", "error_code").needs == JOURNAL
    with pytest.raises(KeyError):
        fact_of("log", "records", "nothing")


def test_the_page_is_as_the_table_is() -> None:
    """The command `python -m fakebroker_load.facts.page` prints the page."""
    assert (DOCS / "facts.md").read_text() == page.as_markdown()
