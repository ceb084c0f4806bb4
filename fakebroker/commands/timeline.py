"""`fakebroker timeline`: show what happened to one record, or one request, at both ends, in columns or as a picture."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fakebroker.commands.command_line import Parser, Slip
from fakebroker.server.made.option_texts import file_name, whole_number

if TYPE_CHECKING:
    from fakebroker.testing.producing.timeline import Timelines, TimelineStep

_WAYS = ("record", "key", "offset", "correlation_id")
_OFFSET_FORM = "TOPIC-PARTITION@OFFSET"
_Event = TypeVar("_Event")


def declare(parser: Parser) -> None:
    parser.usage = f"{parser.prog} PRODUCER_JOURNAL BROKER_JOURNAL [OPTIONS]"
    parser.add_argument(
        "producers", metavar="PRODUCER_JOURNAL", type=file_name, help="Journal of one or more producers."
    )
    parser.add_argument(
        "brokers", metavar="BROKER_JOURNAL", type=file_name, help="Journal of the brokers, from serve --journal."
    )
    parser.add_argument(
        "--record", metavar="N", type=whole_number(1), help="Show the record with this number; the first one sent is 1."
    )
    parser.add_argument("--key", metavar="KEY", help="Show the record with this key, as text.")
    parser.add_argument("--offset", metavar=_OFFSET_FORM, type=_place, help="Show the record at this place in the log.")
    parser.add_argument(
        "--correlation-id", metavar="N", type=whole_number(0), help="Show the request with this correlation id."
    )
    parser.add_argument("--producer", metavar="NAME", help="Name of the producer, if the journal has several.")
    parser.add_argument("--json", action="store_true", help="Print one line of JSON for each step.")
    parser.add_argument(
        "--svg", metavar="FILE", type=file_name, help="Write a picture to FILE: of all records if none is chosen."
    )
    parser.add_argument(
        "--wall", action="store_true", help="Compare by wall time: the journals come from two machines."
    )


def run(options: Namespace) -> int:
    from fakebroker.core.journal.journal import from_lines as brokers_from_lines
    from fakebroker.producer.journal.events import from_lines as producers_from_lines
    from fakebroker.testing.producing.picture import picture
    from fakebroker.testing.producing.timeline import Timelines

    ways = [way for way in _WAYS if getattr(options, way) is not None]
    if len(ways) > 1 or not (ways or options.svg is not None):
        names = " or ".join("--" + way.replace("_", "-") for way in _WAYS)
        raise Slip(f"choose what to show by {names}" + (", by one of them" if ways else ""))
    if options.producer is not None and options.offset is not None:
        raise Slip("--offset finds the producer by itself: leave out --producer")
    if options.svg is not None and options.json:
        raise Slip("--svg and --json are two kinds of output: choose one")
    if options.producer is not None and not ways:
        raise Slip("--producer needs a record or request: choose one, or leave out --producer")
    producer_events = list(_read(options.producers, producers_from_lines))
    heard = list(_read(options.brokers, brokers_from_lines))
    try:
        timelines = Timelines(producer_events, heard, options.wall)
        steps = _steps(timelines, options)
    except ValueError as error:
        raise Slip(str(error)) from None
    for name, shift_ms in timelines.shifts.items():
        is_behind = "behind" if shift_ms > 0 else "ahead of"
        said = f"the wall clock of {name} is {abs(shift_ms):,} ms or more {is_behind} that of the brokers"
        print(f"{said}: its times are shown with {shift_ms:+,} ms", file=sys.stderr)
    if options.svg is not None:
        _write(options.svg, picture(steps))
        return 0
    sys.stdout.writelines(_lines_of_json(steps) if options.json else _table(steps))
    return 0


def _steps(timelines: Timelines, options: Namespace) -> list[TimelineStep]:
    if options.record is not None:
        return timelines.of_record(options.record, options.producer)
    if options.key is not None:
        return timelines.of_key(options.key, options.producer)
    if options.offset is not None:
        return timelines.of_offset(*options.offset)
    if options.correlation_id is not None:
        return timelines.of_request(options.correlation_id, options.producer)
    return timelines.of_run()


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Slip(f"{path}: {error.strerror}") from None


def _place(text: str) -> tuple[str, int, int]:
    """Read the value of --offset; a topic may have dashes in its name."""
    where, _, offset = text.rpartition("@")
    topic, _, partition = where.rpartition("-")
    if not topic or not (partition.isdecimal() and offset.isdecimal()):
        raise ValueError(f"{text!r} is not {_OFFSET_FORM}, as in orders-0@17")
    return topic, int(partition), int(offset)


def _read(path: Path, from_lines: Callable[[Iterable[str]], Iterator[_Event]]) -> Iterator[_Event]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from from_lines(lines)
    except OSError as error:
        raise Slip(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Slip(f"{path}: {error}") from None


def _lines_of_json(steps: Sequence[TimelineStep]) -> Iterator[str]:
    from fakebroker.core.journal.json_lines import to_json as broker_json
    from fakebroker.producer.journal.events import ProducerEvent
    from fakebroker.producer.journal.events import to_json as producer_json

    for step in steps:
        event = step.event
        event_json = producer_json(event) if isinstance(event, ProducerEvent) else broker_json(event)
        values = {**step._asdict(), "event": json.loads(event_json)}
        yield json.dumps(values, separators=(",", ":")) + "\n"


def _table(steps: Sequence[TimelineStep]) -> Iterator[str]:
    """Yield the table's lines: milliseconds since the first step, the side, the request, the event. A time is written
    where it changes."""
    rows = [("ms", "where", "request", "")]
    before: int | None = None
    for step in steps:
        time = "" if step.elapsed_ms == before else f"{step.elapsed_ms:,}"
        before = step.elapsed_ms
        rows.append((time, step.where, "" if step.correlation_id is None else str(step.correlation_id), step.text))
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for time, where, request, text in rows:
        yield f"{time:>{widths[0]}}  {where:<{widths[1]}}  {request:>{widths[2]}}  {text}".rstrip() + "\n"
