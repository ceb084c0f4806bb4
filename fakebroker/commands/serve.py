"""`fakebroker serve`: run a cluster until a signal arrives."""

from __future__ import annotations

import gc
import os
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from fakebroker.commands.command_line import Parser, Slip, file_name, whole_number
from fakebroker.server.made.option_texts import (
    FEATURE_FORM,
    QUOTA_FORM,
    RACK_FORM,
    TOPIC_FORM,
    parse_broker_ids,
    parse_feature,
    parse_quota,
    parse_rack,
    parse_setting,
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
        help="Number of brokers, 1 to 100. Their ids are 1 to N (default: 3).",
    )
    parser.add_argument(
        "--broker-ids",
        metavar="IDS",
        type=parse_broker_ids,
        help="Broker ids, instead of 1 to N. Example: 0,1,2.",
    )
    parser.add_argument(
        "--rack",
        metavar=RACK_FORM,
        type=parse_rack,
        action="append",
        default=[],
        help="Rack of a broker. Example: 1=a. May be repeated. The default is the setting broker.rack.",
    )
    parser.add_argument(
        "--feature",
        metavar=FEATURE_FORM,
        type=parse_feature,
        action="append",
        default=[],
        help="Level of a feature from the start. Example: transaction.version=1. May be repeated.",
    )
    parser.add_argument("--host", metavar="HOST", help="Address to listen on (default: 127.0.0.1).")
    parser.add_argument(
        "--port",
        metavar="P",
        type=whole_number(0, 65535),
        help=f"The n-th broker listens on P + n - 1. 0 takes free ports (default: {_PORT}).",
    )
    parser.add_argument(
        "--advertised-host",
        metavar="HOST",
        help="Host name in metadata, to which clients connect. dialled: the address that each client used "
        "(default: --host).",
    )
    parser.add_argument(
        "--advertised-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="Port in metadata: P + n - 1 for the n-th broker (default: the port that it listens on).",
    )
    parser.add_argument(
        "--topic",
        metavar=TOPIC_FORM,
        type=parse_topic,
        action="append",
        default=[],
        help="Topic to create at the start. Example: kafkatest:2:3,min.insync.replicas=2. With the replicas of each "
        "partition: 'kafkatest=[[3,1],[1,2]],min.insync.replicas=2'. May be repeated.",
    )
    parser.add_argument(
        "--auto-create-topics", action=BooleanOptionalAction, help="Create a topic when a client requests it (default)."
    )
    parser.add_argument(
        "--followers",
        metavar="BEHAVIOUR",
        help="Behaviour of the followers: instant, lagging:MS (milliseconds), throttled:BYTES_PER_S, frozen, "
        "or external (default: instant).",
    )
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE",
        type=parse_setting,
        action="append",
        default=[],
        help="Broker setting, by its name in Kafka. Example: replica.lag.time.max.ms=60000. May be repeated.",
    )
    parser.add_argument(
        "--properties",
        metavar="FILE",
        type=file_name,
        help="Settings as in Kafka's server.properties. Other options take precedence.",
    )
    parser.add_argument(
        "--defaults",
        metavar="WHOSE",
        help="Set of defaults. test: shorter waits for tests. kafka: Kafka's where ours differ, such as replication "
        "factor 1 and no memory limit (default: fakebroker).",
    )
    parser.add_argument(
        "--quota",
        metavar=QUOTA_FORM,
        type=parse_quota,
        action="append",
        default=[],
        help="Client quota. Example: client-id=loader,producer_byte_rate=1000000. May be repeated.",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number(),
        help="Seed of the schedule and, in a first life, of all ids (default: 0).",
    )
    parser.add_argument(
        "--life",
        metavar="LIFE",
        help="new: ids differ from those of earlier clusters at the same address. first: ids follow from the seed "
        "and are the same in each run (default: new).",
    )
    parser.add_argument(
        "--schedule",
        metavar="SCHEDULE",
        help="Order of events that Kafka leaves open, such as requests that arrive together: first-come, or "
        "random, drawn by the seed (default: first-come).",
    )
    parser.add_argument(
        "--clock",
        metavar="CLOCK",
        help="real. auto: skips the time that parked requests wait while all clients are quiet. manual: advances only "
        "when the HTTP control says so (default: real).",
    )
    parser.add_argument(
        "--scenario",
        metavar="FILE",
        type=file_name,
        help="Cluster and its contents as YAML. Other options take precedence.",
    )
    parser.add_argument(
        "--fault",
        metavar="FAULT",
        action="append",
        default=[],
        help="Fault from the start, as JSON or YAML. Examples: '{when: {api: Produce}, do: disconnect}', "
        "'{preset: slow_disk, broker: 1, ms: 40}'. May be repeated.",
    )
    parser.add_argument(
        "--journal", metavar="FILE", type=file_name, help="File to which each event is written as a line of JSON."
    )
    parser.add_argument(
        "--control-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="Port of the HTTP control. 0 takes a free port (default: 9644 if it is free; a free port with --port 0).",
    )
    parser.add_argument("--no-control", action="store_true", help="Serve no HTTP control.")
    parser.add_argument(
        "--control-host",
        metavar="HOST",
        help="Address of the HTTP control (default: 127.0.0.1). Any other address requires a token.",
    )
    parser.add_argument(
        "--control-token",
        metavar="TOKEN",
        help=f"Bearer token that each request to the HTTP control needs (default: the environment's {_TOKEN}).",
    )
    parser.add_argument(
        "--toxiproxy-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="Port of toxiproxy's API, on 127.0.0.1. Its proxies kafka1, kafka2, ... take the ports of the brokers and "
        "forward to them.",
    )
    parser.add_argument(
        "--ready-file",
        metavar="FILE",
        type=file_name,
        help="File for the addresses as JSON, written when every broker accepts connections.",
    )
    parser.add_argument(
        "--exit-with-parent",
        action="store_true",
        help="End when stdin closes. Start it with a pipe, and it ends with its parent, even if that is killed.",
    )


def run(options: Namespace) -> int:
    settings, unknown = _settings(options)
    asked = _control(options)
    arguments = {
        "brokers": options.brokers,
        "broker_ids": options.broker_ids,
        "racks": dict(options.rack),
        "features": dict(options.feature),
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
            options.topic,
            options.quota,
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
    return settings | dict(options.config), unknown


@contextmanager
def _lean_imports() -> Iterator[None]:
    """Disable garbage collection during imports: modules leave no garbage, and looking for it takes a tenth of the
    start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
