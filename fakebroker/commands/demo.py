"""`fakebroker demo`: run the main job, which another package provides."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from fakebroker.commands.command_line import Parser, Slip
from fakebroker.server.made.option_texts import file_name, whole_number


def declare(parser: Parser) -> None:
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=file_name,
        default=Path("fakebroker-demo"),
        help="Folder for report.html and the results (default: %(default)s).",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number(),
        default=1,
        help="Seed of the random timeouts (default: %(default)s).",
    )


def run(options: Namespace) -> int:
    from fakebroker.commands.extra_command import NotInstalled, find_command

    try:
        run_demo = find_command("demo")
    except NotInstalled as error:
        raise Slip(str(error)) from None
    return run_demo(options.out, seed=options.seed)
