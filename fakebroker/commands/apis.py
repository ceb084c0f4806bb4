"""`fakebroker apis`: which APIs and versions are served."""

from __future__ import annotations

from argparse import Namespace

from fakebroker.commands.command_line import Parser


def declare(parser: Parser) -> None:
    parser.add_argument("--markdown", action="store_true", help="The page docs/apis.md: known differences as well.")


def run(options: Namespace) -> int:
    from fakebroker.apis.registry import load
    from fakebroker.commands import apis_page

    if options.markdown:
        print(apis_page.to_markdown(), end="")
        return 0

    from rich.console import Console
    from rich.table import Table

    table = Table(title="APIs served")
    table.add_column("key", justify="right")
    table.add_column("API")
    table.add_column("versions")
    for api in load().values():
        table.add_row(str(api.key), api.name, f"{api.min_version}-{api.max_version}")
    Console().print(table)
    return 0
