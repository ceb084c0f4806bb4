"""The command `fakebroker`. Each command imports what it needs when it runs, so that none waits for the imports of
another. Decision 28 in docs/decisions.md lists the cost of the imports that `serve` avoids.

A command is a file in `commands/` with two functions, `declare`, which adds its options to a parser, and `run`, which
returns the exit status; and a line in COMMANDS.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import fakebroker
from fakebroker.commands.command_line import Parser, Slip
from fakebroker.spelling import closest
from fakebroker.streams import Output, Status, fill_closed_streams, let_go, run_with_output

_USAGE_ERROR = 2
_NOT_WRITTEN = 1
_INTERRUPTED = 130

# The summary of each command by its name, which is that of its file in `commands/` with dashes.
COMMANDS = {
    "serve": "Run a cluster until SIGINT or SIGTERM.",
    "apis": "Show which APIs and versions are served.",
    "configs": "Show the settings, and what applies them.",
    "demo": "The main job: acks=all, frozen followers, and a verdict.",
    "replay": "Run one simulation again; status 1 if it breaks a rule.",
    "timeline": "Show what became of one record, at both ends.",
    "client-settings": "Print the settings of a client of a running cluster.",
}


def main() -> None:
    """Run the console script. A mistake on the command line is one sentence and exit status 2; a stdout that cannot be
    written to is one sentence and exit status 1."""
    fill_closed_streams()
    words = sys.argv[1:] or ["--help"]
    sys.exit(run_with_output(lambda output: _status_of(words, output), _complain, _NOT_WRITTEN))


def _status_of(words: Sequence[str], output: Output) -> Status:
    try:
        try:
            return _run(words)
        finally:
            output.flush()
    except Slip as slip:
        _complain(" ".join(str(slip).splitlines()))
        return _USAGE_ERROR
    except KeyboardInterrupt:
        return _INTERRUPTED
    except SystemExit as ended:  # after --help
        return ended.code


def _complain(sentence: str) -> None:
    if sys.stderr is not None:
        try:
            print("fakebroker:", sentence, file=sys.stderr, flush=True)
        except OSError:  # there is no place for a message; the exit status says it
            let_go(sys.stderr)


def _run(words: Sequence[str]) -> int:
    name = words[0]
    if name in COMMANDS:
        status: int = _command(name).run(_parser(name).read(words[1:]))
        return status
    if not name.startswith("-"):
        raise Slip(_no_such_command(name))
    parser = _parser_without_command()
    option = name.partition("=")[0]
    owners = [f"fakebroker {command} {option}" for command in COMMANDS if option in _parser(command).option_names]
    if owners and option not in parser.option_names:
        raise Slip(f"{option} belongs after its command: {' or '.join(owners)}")
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
    parser.add_argument("--version", action="store_true", help="Show the version and exit.")
    commands = parser.add_argument_group("commands")
    for name, summary in COMMANDS.items():
        commands.add_argument(name, nargs="?", help=summary)  # only for the help
    return parser


def _parser(command: str) -> Parser:
    parser = Parser(f"fakebroker {command}", COMMANDS[command])
    _command(command).declare(parser)
    return parser


def _command(name: str) -> ModuleType:
    return import_module(f"fakebroker.commands.{name.replace('-', '_')}")


def _no_such_command(name: str) -> str:
    meant = closest(name, COMMANDS)
    there_are = f"there are {', '.join(COMMANDS)}"
    return f"there is no command {name!r}; " + (f"did you mean {meant[0]}? ({there_are})" if meant else there_are)


def _version() -> str:
    from fakebroker.server.loops import NAME as LOOP_NAME

    how = "compiled" if fakebroker.COMPILED else "interpreted"
    return f"fakebroker {fakebroker.__version__} (Python {sys.version.split()[0]}, {LOOP_NAME}, {how})"
