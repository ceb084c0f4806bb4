"""`fakebroker serve`: run a cluster until a signal arrives."""

from __future__ import annotations

import gc
import os
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
_LOOPBACK = "127.0.0.1"
_TOKEN = "FAKEBROKER_CONTROL_TOKEN"


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
        "--advertised-host",
        metavar="HOST",
        help="What clients are told to connect to; dialled: the address that each has come by (default: --host).",
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
        help="What followers do: instant, lagging:MS (milliseconds), throttled:BYTES_PER_S, frozen, or external "
        "(default: instant).",
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
        help="test takes defaults with which tests wait less; kafka takes Kafka's where ours differ: "
        "replication factor 1, no bound of memory (default: fakebroker).",
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
        help="Of the schedule, and of all ids in the first life (default: 0).",
    )
    parser.add_argument(
        "--life",
        metavar="LIFE",
        help="new: no id that an earlier cluster at the same address had; first: ids follow from the seed and are the "
        "same in each run (default: new).",
    )
    parser.add_argument(
        "--schedule",
        metavar="SCHEDULE",
        help="first-come; or random: what could happen in any order happens in one that the seed draws "
        "(default: first-come).",
    )
    parser.add_argument(
        "--clock",
        metavar="CLOCK",
        help="real; auto, which skips the time that a request waits for while the clients are quiet; or manual, which "
        "goes when the control says so (default: real).",
    )
    parser.add_argument(
        "--scenario",
        metavar="FILE",
        type=file_name,
        help="A cluster and what is in it from the start, as YAML; what other options say counts before.",
    )
    parser.add_argument(
        "--fault",
        metavar="FAULT",
        action="append",
        default=[],
        help="A fault that is there from the start, in JSON or YAML, as in '{when: {api: Produce}, do: disconnect}' or "
        "'{preset: slow_disk, broker: 1, ms: 40}'; may be repeated.",
    )
    parser.add_argument(
        "--journal", metavar="FILE", type=file_name, help="Write what happens to a file, a line of JSON for each event."
    )
    parser.add_argument(
        "--control-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="Port of the HTTP control; 0 takes a free one (default: 9644, if it is free; a free one with --port 0).",
    )
    parser.add_argument("--no-control", action="store_true", help="Serve no HTTP control.")
    parser.add_argument(
        "--control-host", metavar="HOST", help="Address of the HTTP control (default: 127.0.0.1); others need a token."
    )
    parser.add_argument(
        "--control-token",
        metavar="TOKEN",
        help=f"What each request to the HTTP control brings as bearer token (default: {_TOKEN} of the environment).",
    )
    parser.add_argument(
        "--toxiproxy-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="Port of the API of toxiproxy, on 127.0.0.1; its proxies kafka1, kafka2 ... stand before the brokers, on "
        "the ports that these would have.",
    )
    parser.add_argument(
        "--ready-file",
        metavar="FILE",
        type=file_name,
        help="JSON with the addresses, put there when every broker accepts.",
    )
    parser.add_argument(
        "--exit-with-parent",
        action="store_true",
        help="End when stdin, a pipe from the program that started this, ends: also when that program is killed.",
    )


def run(options: Namespace) -> int:
    topics = [parse_topic(text) for text in options.topic]
    quotas = [parse_quota(text) for text in options.quota]
    broker_ids = None if options.broker_ids is None else parse_broker_ids(options.broker_ids)
    racks, features = parse_racks(options.rack), parse_features(options.feature)
    settings, unknown = _settings(options)
    asked = _control(options)
    arguments = {
        "brokers": options.brokers,
        "broker_ids": broker_ids,
        "racks": racks,
        "features": features,
        "host": options.host,
        "port": options.port,
        "advertised_host": options.advertised_host,
        "advertised_port": options.advertised_port,
        "followers": options.followers,
        "config": settings,
        "defaults": options.defaults,
        "seed": options.seed,
        "life": options.life,
        "schedule": options.schedule,
        "clock": options.clock,
        "journal_file": options.journal,
    }
    given = {name: value for name, value in arguments.items() if value not in (None, {})}
    if options.scenario is None and "listeners" not in settings:
        given.setdefault("port", _PORT)
    with _lean_imports():
        from fakebroker.server.writing.log_handler import logging_to_stderr
        from fakebroker.serving import ControlSpec, ToxiproxySpec, serve_until_signal

        faults = []
        if options.fault:
            from fakebroker.commands.faults import parse_fault

            faults = [parse_fault(text) for text in options.fault]
    toxiproxy = None
    if options.toxiproxy_port is not None:
        _refuse_with_toxiproxy(options)
        first_port = given.get("port", 0)
        toxiproxy = ToxiproxySpec(options.toxiproxy_port, options.host or _LOOPBACK, first_port)
        given |= {"port": 0, "advertised_port": first_port}  # the proxies' ports, which clients know
    control = None if asked is None else ControlSpec(*asked)
    with logging_to_stderr():
        problem = serve_until_signal(
            topics,
            quotas,
            options.ready_file,
            unknown,
            options.scenario,
            control,
            toxiproxy,
            faults,
            options.exit_with_parent,
            **given,
        )
    if problem is not None:
        raise Slip(problem)
    return 0


def _control(options: Namespace) -> tuple[bool, int | None, str, str | None] | None:
    """Return whether the control was requested explicitly, its port, host and token; None if there is to be none."""
    port, host, token = options.control_port, options.control_host, options.control_token
    is_wanted = (port, host, token) != (None, None, None)
    if options.no_control:
        if is_wanted:
            raise Slip("--no-control and options of the control: take one of both")
        return None
    token = token or os.environ.get(_TOKEN) or None
    host = host or _LOOPBACK
    if token is None and not _is_loopback(host):
        raise Slip(
            f"--control-host {host} lets others in: it needs --control-token TOKEN, or the token in the environment as "
            f"{_TOKEN}"
        )
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise Slip("a token is of printable ASCII characters without spaces")
    return is_wanted, port, host, token


def _refuse_with_toxiproxy(options: Namespace) -> None:
    """Refuse options that conflict with toxiproxy's addresses."""
    if options.advertised_port is not None or options.advertised_host == "dialled":
        raise Slip(
            "--toxiproxy-port says itself which ports are advertised: leave out --advertised-port, and 'dialled'"
        )


def _is_loopback(host: str) -> bool:
    return host in (_LOOPBACK, "localhost", "::1") or host.startswith("127.")


def _settings(options: Namespace) -> tuple[dict[str, str], list[str]]:
    """Return the settings of the file, of --auto-create-topics and of --config, later ones first, and the names in the
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
    """Disable garbage collection during imports: modules leave no garbage, and looking for it takes a tenth of the
    start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
