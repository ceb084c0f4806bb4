"""`fakebroker configs`: list the settings, their defaults, and the modules that use them."""

from __future__ import annotations

from argparse import Namespace

from fakebroker.commands.command_line import Parser, Slip


def declare(parser: Parser) -> None:
    parser.add_argument("--kind", metavar="KIND", help="Show only one kind: broker, topic, group or client-metrics.")
    parser.add_argument("--honoured", action="store_true", help="Show only settings that have an effect here.")
    parser.add_argument("--json", action="store_true", help="Print one JSON object on each line.")


def run(options: Namespace) -> int:
    from fakebroker.commands import configs_page

    if options.kind is not None and options.kind not in configs_page.KINDS:
        raise Slip(f"--kind is {', '.join(configs_page.KINDS)}, not {options.kind!r}")
    if options.json:
        print(configs_page.to_json(options.kind, options.honoured))
    else:
        configs_page.print_table(options.kind, options.honoured)
    return 0
