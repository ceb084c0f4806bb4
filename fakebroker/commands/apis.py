"""`fakebroker apis`: list the APIs and versions that are served."""

from __future__ import annotations

from argparse import Namespace

from fakebroker.commands.command_line import Parser


def declare(parser: Parser) -> None:
    parser.add_argument(
        "--markdown", action="store_true", help="Print the page docs/apis.md, with the known differences."
    )


def run(options: Namespace) -> int:
    from shutil import get_terminal_size

    from fakebroker.apis.registry import load
    from fakebroker.commands import apis_page
    from fakebroker.commands.table import table

    if options.markdown:
        print(apis_page.to_markdown(), end="")
        return 0

    rows = [(f"{api.key:>3}", api.name, f"{api.min_version}-{api.max_version}") for api in load().values()]
    print(
        table(("key", "API", "versions"), rows, get_terminal_size().columns, whole=["key", "API", "versions"]), end=""
    )
    return 0
