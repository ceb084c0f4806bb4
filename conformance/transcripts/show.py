"""Cases and Kafka's responses as text: requests and responses, field by field."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from conformance.scenario import AwaitIsr, Case, Hear, Listen, ReadLog, ReadTransactions, Send, Settle, Step, Topic
from conformance.targets.wire import plain
from conformance.transcripts.golden import Golden, digest
from conformance.transcripts.packed import packed
from conformance.transcripts.recording import Entry, Heard
from conformance.transcripts.words import batch_words, batches_in, entry_words
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import api_name, decode_request, is_flexible

_SMALL = 8  # fields or items that stand on one line


def case_lines(case: Case, golden: Golden | None) -> Iterator[str]:
    """Yield a case step by step, with Kafka's responses if there are any."""
    yield case.name
    yield from _indented([case.why, f"box {case.box}", *map(_topic, case.topics)])
    entries = list(golden.kafka) if golden is not None else []
    if golden is None:
        yield "  there is no response of Kafka: `make conformance` records it"
    elif golden.digest != digest(case):
        yield "  CHANGED since Kafka's responses were recorded: requests are those of today, responses those of then"
    for step in case.steps:
        if isinstance(step, Settle | Listen | Hear | AwaitIsr | ReadLog | ReadTransactions) and entries:
            lines = _entry(entries.pop(0))
        else:
            lines = _step(step)
        yield from _indented(_with_names(line, case.topics) for line in lines)
    for entry in entries:  # of a case that has changed
        yield from _indented(_entry(entry))


def golden_lines(kept: Sequence[Golden]) -> Iterator[str]:
    """Yield the content of a file, without the code of its cases; for `git diff`, which can then compare two states of
    a file."""
    for golden in kept:
        yield f"{golden.case} ({golden.digest}), Kafka {golden.kafka_version}"
        for entry in golden.kafka:
            yield from _indented(_entry(entry))


def _topic(topic: Topic) -> str:
    return f"topic {topic.name}: partitions {topic.partitions}, replicas {topic.replicas}" + "".join(
        f", {name}={value}" for name, value in topic.configs.items()
    )


def _with_names(line: str, topics: Sequence[Topic]) -> str:
    for topic in topics:
        line = line.replace(str(topic.placeholder), f"(id of {topic.name})")
    return line


def _step(step: Step) -> Iterator[str]:
    if isinstance(step, Send):
        yield f"send on {step.conn}, to broker {step.broker}"
        for frame in _frames(b"".join(step.frames)):
            yield from _indented(_request(frame))
    else:
        given = ", ".join(f"{field.name} {getattr(step, field.name)}" for field in fields(step))
        yield f"{type(step).__name__}: {given}"


def _frames(data: bytes) -> Iterator[bytes]:
    """The frames in these bytes, lengths included; the last may be cut off."""
    while len(data) >= 4:
        size = max(struct.unpack_from(">i", data)[0], 0)
        yield data[: 4 + size]
        data = data[4 + size :]
    if data:
        yield data


def _request(data: bytes) -> Iterator[str]:
    """A frame in words if it can be read, and as bytes if not."""
    frame = data[4:]
    try:
        key, version = struct.unpack_from(">hh", frame)
        header = decode_request_header(frame, is_flexible(key, version))
        body = plain(decode_request(key, version, frame, header.body_offset))
    except (ProtocolError, struct.error) as problem:
        yield f"{len(data)} bytes that cannot be read ({problem}): {packed(data)}"
        return
    yield f"{api_name(key)} v{version} #{header.correlation_id} from {header.client_id!r}, {len(data)} bytes"
    yield from _indented(_fields(_with_batches(body)))


def _with_batches(body: Any) -> Any:
    """The body of a request with the records in it as batches, where they are whole."""
    for topic in body.get("topic_data", ()):
        for part in topic["partition_data"]:
            data = bytes.fromhex(part["records"] or "")
            batches = batches_in(data)
            if batches and sum(map(len, batches)) == len(data):
                part["records"] = [batch_words(batch) for batch in batches]
    return body


def _entry(entry: Entry) -> Iterator[str]:
    said = entry_words(entry)
    if not isinstance(entry, Heard):
        (kind, where), *rest = said.items()
        yield f"{kind} {where}"
        yield from _indented(_fields(dict(rest)))
        return
    yield f"{entry.step} on {entry.conn}: {len(entry.answers)} responses, then {entry.end}"
    for answer in said["answers"]:
        yield f"  {answer['to']} #{answer['correlation_id']}"
        yield from _indented(_fields(answer["says"]), 2)


def _fields(value: Any) -> Iterator[str]:
    """A small value on one line; else field under field, item under item. What is small depends on its shape and not
    on its width, so that another value on a line changes that line only."""
    if _is_small(value):
        yield _inline(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if _is_small(inner):
                yield f"{name}: {_inline(inner)}"
            else:
                yield f"{name}:"
                yield from _indented(_fields(inner))
    else:
        for inner in value:
            first, *more = _fields(inner)
            yield f"- {first}"
            yield from _indented(more)


def _is_small(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) <= _SMALL and all(map(_is_small, value.values())) and not any(map(_has_dicts, value.values()))
    return not isinstance(value, list) or (len(value) <= _SMALL and not _has_dicts(value))


def _has_dicts(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_dicts, value)))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_inline(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return "null" if value is None else str(value) or '""'


def _indented(lines: Iterable[str], by: int = 1) -> Iterator[str]:
    return ("  " * by + line for line in lines)
