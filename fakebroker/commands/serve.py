"""`fakebroker serve`: run a cluster until a signal arrives."""

from __future__ import annotations

import gc
import os
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fakebroker.commands.command_line import Parser, Slip
from fakebroker.server.made.option_texts import (
    HIDDEN,
    QUOTA_FORM,
    TOPIC_FORM,
    file_name,
    parse_quota,
    parse_topic,
    whole_number,
)
from fakebroker.server.made.spec import PORT_OF_SERVE, flag_of
from fakebroker.server.made.spec import options as options_of_a_cluster

_LOOPBACK = "127.0.0.1"
_TOKEN = "FAKEBROKER_CONTROL_TOKEN"


def declare(parser: Parser) -> None:
    for name, option in options_of_a_cluster():
        if option.help:
            how: dict[str, Any] = {"action": "append", "default": []} if option.is_repeated else {}
            parser.add_argument(flag_of(name), metavar=option.metavar, type=option.parse, help=option.help, **how)
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
        "--properties",
        metavar="FILE",
        type=file_name,
        help="Settings as in Kafka's server.properties. Other options take precedence.",
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
        "--control-port",
        metavar="P",
        type=whole_number(0, 65535),
        help="Port of the HTTP control; with this option the journal is kept from the start, not from its first call. "
        "0 takes a free port (default: 9644 if it is free; a free port with --port 0).",
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


def _of_the_cluster(options: Namespace) -> dict[str, Any]:
    """Return the given options of the cluster, as arguments of FakeCluster."""
    given = {}
    for name, option in options_of_a_cluster():
        if option.help:
            value = getattr(options, flag_of(name)[2:].replace("-", "_"))
            if value not in (None, []):
                given[name] = _by_name(name, value) if option.is_repeated and isinstance(value[0], tuple) else value
    return given


def _by_name(option: str, pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the values by name. Raises Slip if two are for one name, except for settings: there the last one counts,
    as in Kafka's --override."""
    values = dict(pairs)
    if option != "config" and len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Slip(f"{flag_of(option)} is given twice for {twice!r}: leave out one of both")
    return values


def run(options: Namespace) -> int:
    settings, unknown = _settings(options)
    control_arguments = _control(options)
    given = _of_the_cluster(options)
    if settings:
        given["config"] = settings
    if options.scenario is None and "listeners" not in settings and "listeners" not in given:
        given.setdefault("port", PORT_OF_SERVE)
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
    control = None if control_arguments is None else ControlSpec(*control_arguments)
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
            raise Slip("--no-control excludes the options of the control: leave out one of both")
        return None
    token = token or os.environ.get(_TOKEN) or None
    host = host or _LOOPBACK
    if token is None and not _is_loopback(host):
        raise Slip(
            f"--control-host {host} is open to other machines: it needs --control-token TOKEN, or the token in the "
            f"environment variable {_TOKEN}"
        )
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise Slip("a token has printable ASCII characters and no spaces")
    return is_wanted, port, host, token


def _refuse_with_toxiproxy(options: Namespace) -> None:
    """Refuse options that conflict with toxiproxy's addresses."""
    if options.advertised_port is not None or options.advertised_host == "dialled":
        raise Slip("--toxiproxy-port sets the advertised ports: leave out --advertised-port, and 'dialled'")
    if options.listener:
        raise Slip("--toxiproxy-port has one listener, without TLS and SASL: leave out --listener, or use faults")


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
    if options.config:
        _check_settings(options.config)
    return settings | dict(options.config), unknown


def _check_settings(given: Sequence[tuple[str, str]]) -> None:
    """Raise Slip for the first --config that is unknown or has an invalid value."""
    with _lean_imports():
        from fakebroker.core.config.broker_config import entry_of, refuse_unknown
        from fakebroker.core.config.config_def import PASSWORD
        from fakebroker.core.errors import ConfigError
        from fakebroker.server.settings import on_the_command_line, texts

    for name, value in given:
        entry = entry_of(name)
        try:
            refuse_unknown(texts({name: value}))
            assert entry is not None
            entry.parse(value)
        except ConfigError as error:
            # The value of an unknown setting may be a password, too.
            shown = "" if entry is None else f"={HIDDEN if entry.type is PASSWORD else value}"
            raise Slip(f"--config {name}{shown}: {on_the_command_line(error)}") from None


@contextmanager
def _lean_imports() -> Iterator[None]:
    """Disable garbage collection during imports: modules leave no garbage, and looking for it takes a tenth of the
    start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
