"""`fakebroker serve`: run a cluster until a signal comes."""

from __future__ import annotations

import gc
import sys
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from fakebroker.commands.command_line import Parser, Slip, file_name, whole_number
from fakebroker.commands.specs import (
    FEATURE_FORM,
    QUOTA_FORM,
    RACK_FORM,
    TOPIC_FORM,
    parse_broker_ids,
    parse_features,
    parse_quota,
    parse_racks,
    parse_settings,
    parse_topic,
)

_PORT = 9092


def declare(parser: Parser) -> None:
    parser.add_argument(
        "--brokers",
        metavar="N",
        type=whole_number(1, 100),
        help="Number of brokers, 1 to 100; their ids are 1 to N (default: 3).",
    )
    parser.add_argument("--broker-ids", metavar="IDS", help="Ids of the brokers in place of 1 to N, as in 0,1,2.")
    parser.add_argument(
        "--rack",
        metavar=RACK_FORM,
        action="append",
        default=[],
        help="Where a broker stands, as in 1=a; may be repeated. Of the others the setting broker.rack says it.",
    )
    parser.add_argument(
        "--feature",
        metavar=FEATURE_FORM,
        action="append",
        default=[],
        help="The level of a feature from the start, as in transaction.version=1; may be repeated.",
    )
    parser.add_argument("--host", metavar="HOST", help="Address to listen on (default: 127.0.0.1).")
    parser.add_argument(
        "--port",
        metavar="P",
        type=whole_number(0, 65535),
        help=f"The n-th broker listens on P + n - 1; 0 takes free ports (default: {_PORT}).",
    )
    parser.add_argument(
        "--advertised-host", metavar="HOST", help="What clients are told to connect to (default: --host)."
    )
    parser.add_argument(
        "--advertised-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="The same of the port: of the n-th broker P + n - 1 (default: where it listens).",
    )
    parser.add_argument(
        "--topic",
        metavar=TOPIC_FORM,
        action="append",
        default=[],
        help="A topic that is there from the start, as in kafkatest:2:3,min.insync.replicas=2, or with the brokers of "
        "each partition, as in 'kafkatest=[[3,1],[1,2]],min.insync.replicas=2'; may be repeated.",
    )
    parser.add_argument(
        "--auto-create-topics", action=BooleanOptionalAction, help="Make a topic when a client asks for it (default)."
    )
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
        "--properties",
        metavar="FILE",
        type=file_name,
        help="Settings as Kafka's server.properties has them; what other options say counts before.",
    )
    parser.add_argument(
        "--defaults",
        metavar="WHOSE",
        default="fakebroker",
        help="kafka takes Kafka's defaults where ours differ: replication factor 1, no bound of memory "
        "(default: %(default)s).",
    )
    parser.add_argument(
        "--quota",
        metavar=QUOTA_FORM,
        action="append",
        default=[],
        help="What clients may use, as in client-id=loader,producer_byte_rate=1000000; may be repeated.",
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
    quotas = [parse_quota(text) for text in options.quota]
    broker_ids = None if options.broker_ids is None else parse_broker_ids(options.broker_ids)
    racks, features = parse_racks(options.rack), parse_features(options.feature)
    settings, unknown = _settings(options)
    port = options.port if options.port is not None or "listeners" in settings else _PORT
    with _lean_imports():
        from fakebroker.server.writing.log_handler import logging_to_stderr
        from fakebroker.serving import serve_until_signal
    with logging_to_stderr():
        problem = serve_until_signal(
            topics,
            quotas,
            options.ready_file,
            unknown,
            brokers=options.brokers,
            broker_ids=broker_ids,
            racks=racks,
            features=features,
            host=options.host,
            port=port,
            advertised_host=options.advertised_host,
            advertised_port=options.advertised_port,
            followers=options.followers,
            config=settings,
            defaults=options.defaults,
            seed=options.seed,
            clock=options.clock,
            journal_file=options.journal,
        )
    if problem is not None:
        raise Slip(problem)
    return 0


def _settings(options: Namespace) -> tuple[dict[str, str], list[str]]:
    """Those of the file, of --auto-create-topics, of --config, each before the ones before it; and the names in the
    file that Kafka does not know."""
    settings: dict[str, str] = {}
    unknown: list[str] = []
    if options.properties is not None:
        with _lean_imports():
            from fakebroker.commands.properties import server_settings
        settings, unknown = server_settings(options.properties)
    if options.auto_create_topics is not None:
        settings["auto.create.topics.enable"] = str(options.auto_create_topics).lower()
    return settings | parse_settings("--config", options.config), unknown


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
