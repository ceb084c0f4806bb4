"""Write docs/serve.md, the page of the options of `fakebroker serve`, from the options themselves.

    python -m release.serve_page

The table is made from the help texts; LINKS adds the page that tells more. A test compares the page with `page()`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from fakebroker.commands import serve
from fakebroker.commands.command_line import Parser

PAGE = Path(__file__).resolve().parent.parent / "docs" / "serve.md"

HEAD = """\
# `fakebroker serve`

Run a cluster until SIGINT or SIGTERM. `fakebroker serve --help` prints the same options.
This page is written by `python -m release.serve_page`.

```console
$ fakebroker serve --brokers 3 --topic t:3:3 --followers frozen
fakebroker ready: bootstrap_servers=127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094 pid=4711
```

| option | |
|---|---|
"""
FOOT = """
SIGINT and SIGTERM end `serve` within two seconds with exit status 0. A mistake on the command line is one sentence
and exit status 2. [Operating it](operating.md) describes signals, exit statuses, the log and the files.
"""
LINKS = {
    "--advertised-host": "addresses.md",
    "--listener": "security.md#listeners",
    "--certificates": "security.md#tls",
    "--user": "security.md#sasl",
    "--acl": "security.md#acls",
    "--life": "addresses.md#when-another-cluster-takes-the-address",
    "--followers": "replication.md",
    "--properties": "settings.md",
    "--config": "settings.md",
    "--defaults": "settings.md#defaults-for-tests",
    "--quota": "connections-and-quotas.md",
    "--scenario": "scenarios.md",
    "--fault": "faults.md",
    "--control-port": "http.md",
    "--toxiproxy-port": "http.md#toxiproxy",
    "--ready-file": "operating.md#ready-line-and-ready-file",
}


def page() -> str:
    """Return the page as Markdown."""
    parser = Parser("fakebroker serve", "")
    serve.declare(parser)
    rows = [row(action) for action in parser._actions if action.help and "--help" not in action.option_strings]
    return HEAD + "".join(rows) + FOOT


def row(action: argparse.Action) -> str:
    options = ", ".join(f"`{name}`" for name in names(action)).replace("|", r"\|")
    text = " ".join(str(action.help).split()).replace("|", r"\|")
    link = LINKS.get(action.option_strings[0])
    return f"| {options} | {text}{f' [More]({link})' if link else ''} |\n"


def names(action: argparse.Action) -> Iterator[str]:
    for option in action.option_strings:
        yield option if action.nargs == 0 else f"{option} {action.metavar}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
