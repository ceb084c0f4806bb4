"""`fakebroker serve`: run a cluster until a signal comes."""

from __future__ import annotations

import gc
import re
import sys
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fakebroker.commands.command_line import Parser, Slip, file_name, whole_number

_TOPIC_FORM = "NAME[:PARTITIONS[:REPLICATION]][,config=value...]"


class TopicSpec(NamedTuple):
    """What `--topic` says; -1 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


def parse_topic(text: str) -> TopicSpec:
    """Read NAME[:PARTITIONS[:REPLICATION]][,config=value...]; raises Slip."""
    head, *settings = text.split(",")
    match = re.fullmatch(r"(?P<name>[^:]+)(?::(?P<partitions>\d+)(?::(?P<replication>\d+))?)?", head)
    if match is None:
        raise Slip(f"--topic {text!r} is not {_TOPIC_FORM}, as in kafkatest:2:3,min.insync.replicas=2")
    return TopicSpec(
        match["name"],
        int(match["partitions"] or -1),
        int(match["replication"] or -1),
        parse_settings("--topic", settings),
    )


def parse_settings(option: str, settings: list[str]) -> dict[str, str]:
    """Read `name=value` items; raises Slip."""
    values = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise Slip(f"{option} has {setting!r} where a setting name=value belongs, as in min.insync.replicas=2")
        values[name.strip()] = value.strip()
    return values


def declare(parser: Parser) -> None:
    parser.add_argument(
        "--brokers",
        metavar="N",
        type=whole_number(1, 100),
        default=3,
        help="Number of brokers, 1 to 100; their ids are 1 to N (default: %(default)s).",
    )
    parser.add_argument(
        "--host", metavar="HOST", default="127.0.0.1", help="Address to listen on (default: %(default)s)."
    )
    parser.add_argument(
        "--port",
        metavar="P",
        type=whole_number(0, 65535),
        default=9092,
        help="Broker i listens on P + i - 1; 0 takes free ports (default: %(default)s).",
    )
    parser.add_argument(
        "--advertised-host", metavar="HOST", help="What clients are told to connect to (default: --host)."
    )
    parser.add_argument(
        "--topic",
        metavar=_TOPIC_FORM,
        action="append",
        default=[],
        help="A topic that is there from the start, as in kafkatest:2:3,min.insync.replicas=2; may be repeated.",
    )
    parser.add_argument(
        "--auto-create-topics", action=BooleanOptionalAction, help="Make a topic when a client asks for it (default)."
    )
    parser.set_defaults(auto_create_topics=True)  # given above, Python 3.11 and 3.12 would add it to the help
    parser.add_argument(
        "--followers",
        metavar="BEHAVIOUR",
        default="instant",
        help="What followers do: instant, lagging:MS (milliseconds), throttled:BYTES_PER_S, frozen, or external "
        "(default: %(default)s).",
    )
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="A broker setting by Kafka's name, as in replica.lag.time.max.ms=60000; may be repeated.",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number(),
        default=0,
        help="Of topic ids and cluster id (default: %(default)s).",
    )
    parser.add_argument(
        "--clock",
        metavar="CLOCK",
        default="real",
        help="real; or auto, which skips the time that a request waits for while the clients are quiet "
        "(default: %(default)s).",
    )
    parser.add_argument(
        "--journal", metavar="FILE", type=file_name, help="Write what happens to a file, a line of JSON for each event."
    )
    parser.add_argument(
        "--ready-file",
        metavar="FILE",
        type=file_name,
        help="JSON with the addresses, put there when every broker accepts.",
    )


def run(options: Namespace) -> int:
    if options.clock == "manual":
        raise Slip(
            "--clock manual needs somebody who moves it: take FakeCluster(clock='manual') in Python, or --clock auto"
        )
    topics = [parse_topic(text) for text in options.topic]
    settings = parse_settings("--config", options.config)
    settings.setdefault("auto.create.topics.enable", str(options.auto_create_topics).lower())
    with _lean_imports():
        from fakebroker.server.writing.log_handler import logging_to_stderr
        from fakebroker.serving import serve_until_signal
    with logging_to_stderr():
        problem = serve_until_signal(
            topics,
            options.ready_file,
            brokers=options.brokers,
            host=options.host,
            port=options.port,
            advertised_host=options.advertised_host,
            followers=options.followers,
            config=settings,
            seed=options.seed,
            clock=options.clock,
            journal_file=options.journal,
        )
    if problem is not None:
        raise Slip(problem)
    return 0


@contextmanager
def _lean_imports() -> Iterator[None]:
    """For the imports of a process that does nothing but serve; a library leaves these things to whoever imports it.

    Where hypothesis is installed, kio imports it to register how to draw its types, which takes two thirds as long as
    all the rest of the start. Collecting garbage takes a tenth, and modules that are imported leave none.
    """
    keep_out = "hypothesis" not in sys.modules
    if keep_out:
        sys.modules["hypothesis"] = None  # type: ignore[assignment]  # to import it fails, as if it was not installed
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if keep_out:
            del sys.modules["hypothesis"]
