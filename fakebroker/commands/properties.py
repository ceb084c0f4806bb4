"""A file of Java properties, and a `server.properties` of Kafka in particular.

Theory   A line is a name, "=" or ":" or blanks, and a value. Comments begin with "#" or "!". A backslash at the end
         continues the line; leading blanks of the next line do not count. Elsewhere a backslash escapes the next
         character, or begins one of \\t \\n \\r \\f \\uXXXX. Of two lines with one name the last one counts.
         Settings that Kafka 4.4 does not know are accepted and reported. Kafka keeps them for plugins: those of
         listeners, those of the ZooKeeper era.
Source   java.util.Properties.load, as its documentation says; clients/.../common/utils/Utils.java loadProps @ 4.0.
Differs  UTF-8 is read where a file is UTF-8; Java reads Latin-1, which is taken for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fakebroker.commands.command_line import Slip
from fakebroker.core.config.broker_config import entry_of
from fakebroker.core.errors import ConfigError
from fakebroker.server.settings import on_the_command_line

_BLANKS = " \t\f"
_SEPARATORS = "=:"
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_DIGITS = 4  # digits of \uXXXX


class Property(NamedTuple):
    """A name and a value, and the number of the line on which they begin, from 1."""

    name: str
    value: str
    line: int


class PropertiesError(Exception):
    """A mistake on a line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def server_settings(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return the settings of a `server.properties`, and the names in it that no setting has. Raises Slip, with the
    line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Slip(f"--properties {path}: {error.strerror}") from None
    properties: dict[str, Property] = {}
    try:
        for prop in parse_properties(_decoded(data)):
            properties[prop.name] = prop
    except PropertiesError as error:
        raise Slip(f"--properties {path}, line {error.line}: {error}") from None
    settings, unknown = {}, []
    for name, prop in properties.items():
        entry = entry_of(name)
        if entry is None:
            unknown.append(name)
            continue
        try:
            entry.parse(prop.value)
        except ConfigError as error:
            raise Slip(f"--properties {path}, line {prop.line}: {on_the_command_line(error)}") from None
        settings[name] = prop.value
    return settings, unknown


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_properties(text: str) -> Iterator[Property]:
    """Yield all properties, in order. Raises PropertiesError."""
    for number, line in _logical_lines(text):
        end = _end_of_name(line)
        rest = line[end:].lstrip(_BLANKS)
        if rest[:1] and rest[0] in _SEPARATORS:
            rest = rest[1:].lstrip(_BLANKS)
        yield Property(_unescaped(line[:end], number), _unescaped(rest, number), number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with content, continued lines joined, with the number of the first."""
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)
    for number, line in lines:
        whole = line.lstrip(_BLANKS)
        if not whole or whole[0] in "#!":
            continue
        while _is_continued(whole):
            _, following = next(lines, (0, ""))
            whole = whole[:-1] + following.lstrip(_BLANKS)
        yield number, whole


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _end_of_name(line: str) -> int:
    escaped = False
    for index, character in enumerate(line):
        if not escaped and (character in _BLANKS or character in _SEPARATORS):
            return index
        escaped = character == "\\" and not escaped
    return len(line)


def _unescaped(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    characters = iter(text)
    pieces = []
    for character in characters:
        if character != "\\":
            pieces.append(character)
            continue
        escaped = next(characters, "")
        if escaped == "u":
            digits = "".join(next(characters, "") for _ in range(_DIGITS))
            try:
                pieces.append(chr(int(digits, 16)) if len(digits) == _DIGITS and digits.isalnum() else _no_such(digits))
            except ValueError:
                raise PropertiesError(line, f"Malformed \\uxxxx encoding: \\u{digits}") from None
        else:
            pieces.append(_ESCAPED.get(escaped, escaped))
    # Java writes characters beyond the first 65,536 as two.
    return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _no_such(digits: str) -> str:
    raise ValueError(digits)
