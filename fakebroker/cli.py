"""The command `fakebroker`. A command imports what it needs when it is run, so that none waits for what another needs.
What each thing that `serve` does without would add to its start is in docs/decisions.md, 28.

A command is two functions, one that declares its options and one that runs it and returns the exit status, and a line
in COMMANDS.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import fakebroker
from fakebroker.command_line import Parser, Slip, whole_number

_USAGE_ERROR = 2
_VIOLATION = 1
_BROKEN_PIPE = 1
_INTERRUPTED = 130
_TOPIC_FORM = "NAME[:PARTITIONS[:REPLICATION]][,config=value...]"


def main() -> None:
    """Entry point of the console script. A slip on the command line is one sentence and exit status 2."""
    try:
        try:
            status = _run(sys.argv[1:] or ["--help"])
        finally:
            sys.stdout.flush()
    except Slip as slip:
        print("fakebroker:", *str(slip).splitlines(), file=sys.stderr)
        status = _USAGE_ERROR
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except BrokenPipeError:  # somebody read the first lines and went, like `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it flushes at the end
        status = _BROKEN_PIPE
    sys.exit(status)


def _run(words: Sequence[str]) -> int:
    name = words[0]
    if name in COMMANDS:
        return COMMANDS[name].run(_parser(name).read(words[1:]))
    if not name.startswith("-"):
        raise Slip(_no_such_command(name))
    parser = _parser_without_command()
    option = name.partition("=")[0]
    owners = [f"fakebroker {command} {option}" for command in COMMANDS if option in _parser(command).option_names]
    if owners and option not in parser.option_names:
        raise Slip(f"{option} stands after its command: {' or '.join(owners)}")
    if parser.read(words[:1]).version:
        print(_version())
    return 0


def _parser_without_command() -> Parser:
    parser = Parser(
        "fakebroker",
        "A stand-in Kafka cluster that tells the truth about acks=all.",
        "COMMAND [OPTIONS]",
        "fakebroker COMMAND --help shows the options of a command.",
    )
    parser.add_argument("--version", action="store_true", help="Tell the version and end.")
    commands = parser.add_argument_group("commands")
    for name, command in COMMANDS.items():
        commands.add_argument(name, nargs="?", help=command.summary)  # for the help alone
    return parser


def _parser(command: str) -> Parser:
    summary, declare, _ = COMMANDS[command]
    parser = Parser(f"fakebroker {command}", summary)
    declare(parser)
    return parser


def _no_such_command(name: str) -> str:
    from difflib import get_close_matches

    meant = get_close_matches(name, COMMANDS, 1)
    there_are = f"there are {', '.join(COMMANDS)}"
    return f"there is no command {name!r}; " + (f"did you mean {meant[0]}? ({there_are})" if meant else there_are)


def _version() -> str:
    from fakebroker.server.loops import NAME as LOOP_NAME

    how = "compiled" if fakebroker.COMPILED else "interpreted"
    return f"fakebroker {fakebroker.__version__} (Python {sys.version.split()[0]}, {LOOP_NAME}, {how})"


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


def declare_serve(parser: Parser) -> None:
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
        "--journal", metavar="FILE", type=Path, help="Write what happens to a file, a line of JSON for each event."
    )
    parser.add_argument(
        "--ready-file", metavar="FILE", type=Path, help="JSON with the addresses, put there when every broker accepts."
    )


def serve(options: Namespace) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if options.clock == "manual":
        raise Slip(
            "--clock manual needs somebody who moves it: take FakeCluster(clock='manual') in Python, or --clock auto"
        )
    topics = [parse_topic(text) for text in options.topic]
    settings = parse_settings("--config", options.config)
    settings.setdefault("auto.create.topics.enable", str(options.auto_create_topics).lower())
    with _lean_imports():
        from fakebroker.serving import serve_until_signal
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


def declare_apis(parser: Parser) -> None:
    """It has no options."""


def apis(options: Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from fakebroker.apis.registry import load

    table = Table(title="APIs served")
    table.add_column("key", justify="right")
    table.add_column("API")
    table.add_column("versions")
    for api in load().values():
        table.add_row(str(api.key), api.name, f"{api.min_version}-{api.max_version}")
    Console().print(table)
    return 0


def declare_demo(parser: Parser) -> None:
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        default=Path("fakebroker-demo"),
        help="Folder for report.html and the results (default: %(default)s).",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number(),
        default=1,
        help="Of the timeouts that are drawn (default: %(default)s).",
    )


def demo(options: Namespace) -> int:
    from fakebroker.extra_command import NotInstalled, find_command

    try:
        run_demo = find_command("demo")
    except NotInstalled as error:
        raise Slip(str(error)) from None
    return run_demo(options.out, seed=options.seed)


def declare_replay(parser: Parser) -> None:
    parser.usage = f"{parser.prog} SEED [OPTIONS]"
    parser.add_argument("seed", metavar="SEED", type=whole_number(), help="Of what is drawn.")
    parser.add_argument(
        "--steps",
        metavar="N",
        type=whole_number(1, 1_000_000),
        default=200,
        help="How many steps are drawn, 1 to 1000000 (default: %(default)s).",
    )
    parser.add_argument("--plan", metavar="STEPS", help="Run these steps instead of drawn ones.")
    parser.add_argument(
        "--journal",
        metavar="FILE",
        type=Path,
        help="Write what the broker decided, one line of JSON per event; - for stdout.",
    )
    parser.add_argument("--shrink", action="store_true", help="Look for a shorter plan that fails as well.")


def replay(options: Namespace) -> int:
    from fakebroker.core.journal.journal import Journal, to_lines
    from fakebroker.testing import replay as replaying
    from fakebroker.testing.plan import from_text, random_plan
    from fakebroker.testing.run import EVERY_STEP, OFTEN

    drawn = options.plan is None
    events = Journal() if options.journal is not None else None
    try:
        actions = random_plan(options.seed, options.steps) if drawn else from_text(options.plan)
        result = replaying.Replay(actions, options.seed, look_every=OFTEN if drawn else EVERY_STEP, journal=events)
    except ValueError as error:
        raise Slip(str(error)) from None
    if events is not None:
        _write("--journal", options.journal, "".join(to_lines(events)))
    if result.violation is None:
        print(f"every rule held: {result.run.steps} steps, {result.run.requests} requests", file=sys.stderr)
        return 0
    print(f"broken: {result.violation}", file=sys.stderr)
    if options.shrink:
        shorter = replaying.shrink(result.run.performed, options.seed)
        print(f"shorter: {replaying.command(options.seed, plan=shorter)}", file=sys.stderr)
    return _VIOLATION


def _write(option: str, path: Path, text: str) -> None:
    """Into the file that an option names; - is stdout."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        path.write_text(text)
    except OSError as error:
        raise Slip(f"{option} {path}: {error.strerror}") from None


class Command(NamedTuple):
    summary: str
    declare: Callable[[Parser], None]
    run: Callable[[Namespace], int]


COMMANDS = {
    "serve": Command("Run a cluster until SIGINT or SIGTERM.", declare_serve, serve),
    "apis": Command("Show which APIs and versions are served.", declare_apis, apis),
    "demo": Command("The main job: acks=all against frozen followers, and a verdict.", declare_demo, demo),
    "replay": Command("Run one simulation again; exit status 1 if it breaks a rule.", declare_replay, replay),
}
