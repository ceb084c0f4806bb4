"""The options of a command, read without typer: it checks values by pydantic, whose import is a third of a start.

What is read here is what is plain: known options, none twice unless it may be, small numbers within their limits.
Everything else, mistakes and --help above all, is left to typer; tests/test_plain_options.py ties the two together.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

_NUMBER = re.compile("[0-9]{1,9}")
_TEXTS: tuple[Any, ...] = (str, str | None)
_PATHS: tuple[Any, ...] = (Path, Path | None)
_LISTS: tuple[Any, ...] = (list[str], list[str] | None)


class _NotPlain(Exception):
    """For typer."""


class _Option(NamedTuple):
    parameter: str
    kind: Any  # its type
    limits: tuple[float | None, float | None]
    flag: bool | None = None  # what it means, of one without a value


def plain_arguments(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """What typer would call `command` with after these words; None if it is to be asked. Each parameter of the command
    is an option of typer's, under the name that typer gives it, with a default."""
    arguments = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    try:
        return arguments | _given(_options(command), words)
    except _NotPlain:
        return None


def _options(command: Callable[..., None]) -> dict[str, _Option]:
    options = {}
    for parameter, hint in get_type_hints(command, include_extras=True).items():
        if parameter == "return":
            continue
        kind, (info,) = hint.__origin__, hint.__metadata__
        name = parameter.replace("_", "-")
        option = _Option(parameter, kind, (info.min, info.max))
        if kind is bool:
            options[f"--{name}"], options[f"--no-{name}"] = option._replace(flag=True), option._replace(flag=False)
        else:
            options[f"--{name}"] = option
    return options


def _given(options: Mapping[str, _Option], words: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        option = options.get(name)
        if option is None or (option.parameter in given and option.kind not in _LISTS):
            raise _NotPlain
        if option.flag is not None:
            if equals:
                raise _NotPlain
            given[option.parameter] = option.flag
            continue
        value = value if equals else next(rest, "")
        if not value or value.startswith("-"):
            raise _NotPlain
        if option.kind in _LISTS:
            given.setdefault(option.parameter, []).append(value)
        else:
            given[option.parameter] = _read(option, value)
    return given


def _read(option: _Option, value: str) -> Any:
    if option.kind in _TEXTS:
        return value
    if option.kind in _PATHS:
        return Path(value)
    least, most = option.limits
    if option.kind is not int or not _NUMBER.fullmatch(value):
        raise _NotPlain
    number = int(value)
    if (least is not None and number < least) or (most is not None and number > most):
        raise _NotPlain
    return number
