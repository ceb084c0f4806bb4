"""A parser of command lines: argparse, with messages of one sentence that say what is wrong and what would be right.

The value of an option may begin with a dash, as in `--seed -1`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from fakebroker.spelling import closest

_NEGATIVE_NUMBER = re.compile(r"-\d+")
_WIDEST = 100  # columns of help: longer lines are hard to read


class Slip(Exception):
    """A mistake on the command line, in one sentence. `main()` shows it and ends with status 2."""


class Parser(argparse.ArgumentParser):
    """The options of one command; each takes one value or none. `usage` follows the command's name, `epilog` ends its
    help."""

    def __init__(self, prog: str, description: str, usage: str = "[OPTIONS]", epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=f"{prog} {usage}",
            description=description,
            epilog=epilog,
            formatter_class=_formatter_while_declaring,
            allow_abbrev=False,
            exit_on_error=False,
            add_help=False,
        )
        self._positionals.title = "arguments"
        self._help = self.add_argument("-h", "--help", action="help", help="Show this help and exit.")

    @property
    def option_names(self) -> list[str]:
        return list(self._option_string_actions)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words. Raises Slip; --help ends the process."""
        try:
            options, left = self.parse_known_args(self._with_values(words))
        except argparse.ArgumentError as error:
            if error.argument_name is None:
                self.error(error.message)
            raise Slip(f"{error.argument_name} {error.message}") from None
        for word in left:
            if word != "--":
                raise Slip(f"unexpected argument {word!r}; {self._more()}")
        return options

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read a value. A ValueError of its parser is the message; argparse's own method would drop it."""
        try:
            return self._registry_get("type", action.type, action.type)(arg_string)
        except ValueError as error:
            raise argparse.ArgumentError(action, str(error)) from None

    def error(self, message: str) -> NoReturn:
        """Raise Slip if an argument is missing. Argparse's own method would show the usage and end the process."""
        raise Slip(f"{message}; {self._more()}")

    def format_help(self) -> str:
        from shutil import get_terminal_size

        width = min(get_terminal_size().columns, _WIDEST)
        self.formatter_class = lambda prog: _Formatter(prog, width=width)
        return super().format_help()

    def _with_values(self, words: Iterable[str]) -> list[str]:
        """Return the words, with each option and its value joined. Argparse takes every word that begins with a dash
        for an option, and does not suggest names for unknown ones. Raises Slip."""
        joined: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                return [*joined, word, *rest]
            if word == "-" or not word.startswith("-") or _NEGATIVE_NUMBER.fullmatch(word):
                joined.append(word)
                continue
            name, equals, value = word.partition("=")
            action = self._option_string_actions.get(name)
            if action is None:
                raise Slip(self._unknown(name))
            if action.nargs == 0:
                if equals:
                    raise Slip(f"{name} takes no value, not {value!r}")
                if action is self._help:  # it helps with mistakes in the other words
                    return [word]
                joined.append(word)
                continue
            if not equals:
                following = next(rest, None)
                if following is None or following in self._option_string_actions:
                    raise Slip(f"{name} needs a value: {name} {action.metavar or action.dest.upper()}")
                value = following
            joined.append(f"{name}={value}")
        return joined

    def _unknown(self, name: str) -> str:
        names = self.option_names
        begun = [known for known in names if known.startswith(name) and name != "--"]
        # Without their dashes: the common prefix would make all short names look alike.
        spelled = {known.lstrip("-"): known for known in names}
        meant = begun or [spelled[bare_name] for bare_name in closest(name.lstrip("-"), spelled)]
        hint = f"did you mean {' or '.join(meant)}?" if meant else self._more()
        return f"there is no option {name}; {hint}"

    def _more(self) -> str:
        return f"{self.prog} --help shows what there is"


class _Formatter(argparse.HelpFormatter):
    """Help with headings that begin with a capital letter."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        super().start_section(None if heading is None else heading.capitalize())


def _formatter_while_declaring(prog: str) -> argparse.HelpFormatter:
    """Return a formatter of fixed width. Argparse makes one for each declared option, and looking up the terminal's
    width imports shutil with all of its compressions."""
    return argparse.HelpFormatter(prog, width=_WIDEST)
