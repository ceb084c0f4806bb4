"""The text of a `sasl.jaas.config`: one login module, a control flag and options.

Theory   The text is cut up as Java's StreamTokenizer does it. A word begins with a letter; a value that begins with a
         digit or a minus is a number, which is no value: it needs quotes. `//`, `/* */` and a single slash begin a
         comment. A quoted text ends at its quote or at the end of the line.
Source   clients/.../common/security/JaasConfig.java, JaasContext.java @ 4.4; java.io.StreamTokenizer.
Errors   ConfigError with Kafka's message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from fakebroker.core.errors import ConfigError

_TOKEN: Final = re.compile(
    r"""(?P<skipped>[\x00-\x20]+|//[^\r\n]*|/\*.*?(?:\*/|\Z)|/[^\r\n]*)
    |(?P<quoted>"(?:\\.|[^"\\\r\n])*"?|'(?:\\.|[^'\\\r\n])*'?)
    |(?P<number>-?(?:[0-9]+\.?[0-9]*|\.[0-9]*))
    |(?P<word>[A-Za-z_$\xa0-\U0010ffff][A-Za-z0-9_$.\-\xa0-\U0010ffff]*)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_REFUSED: Final = ("com.sun.security.auth.module.JndiLoginModule", "com.sun.security.auth.module.LdapLoginModule")
_REMEMBERED: Final = 64


class LoginModule(NamedTuple):
    """A login module: the name of its class, and its options."""

    name: str
    options: Mapping[str, str]


class _Token(NamedTuple):
    """A word or quoted text as `text`, or another character as `sign`; both are empty for a number."""

    text: str | None
    sign: str = ""


@lru_cache(maxsize=_REMEMBERED)
def parse_login_module(text: str) -> LoginModule:
    """Read a text with exactly one login module. Raise ConfigError."""
    tokens = _tokens(text)
    modules = []
    for first in tokens:
        modules.append(_parse_module(first, tokens))
    if not modules:
        raise ConfigError("Login module not specified in JAAS config")
    if len(modules) != 1:
        raise ConfigError(f"JAAS config property contains {len(modules)} login modules, should be 1 module")
    if modules[0].name.strip() in _REFUSED:
        raise ConfigError(f"{modules[0].name} is not allowed.")
    return modules[0]


def _parse_module(first: _Token, tokens: Iterator[_Token]) -> LoginModule:
    flag = next(tokens, None)
    if flag is None:
        raise ConfigError("Login module control flag not specified in JAAS config")
    if flag.text is None:
        raise ConfigError("Login module control flag is not available in the JAAS config")
    if flag.text.upper() not in _FLAGS:
        raise ConfigError(f"Invalid login module control flag '{flag.text}' in JAAS config")
    options: dict[str, str] = {}
    for key in tokens:
        if key.sign == ";":
            if not first.text:
                raise ConfigError("Login module not specified in JAAS config")
            return LoginModule(first.text, options)
        equals, value = next(tokens, None), next(tokens, None)
        if equals is None or equals.sign != "=" or value is None or value.text is None:
            raise ConfigError(f"Value not specified for key '{key.text or 'null'}' in JAAS config")
        options[key.text or ""] = value.text
    raise ConfigError("JAAS config entry not terminated by semi-colon")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "quoted":
            inner = token[1:-1] if len(token) > 1 and _is_closed(token) else token[1:]
            yield _Token(_ESCAPE.sub(lambda escape: _unescaped(escape[1]), inner))
        elif kind != "skipped":
            yield _Token(token if kind == "word" else None, token if kind == "sign" else "")


def _is_closed(quoted: str) -> bool:
    """Return True if the last character is the closing quote, and not an escaped one."""
    backslashes = len(quoted) - 1 - len(quoted[:-1].rstrip("\\"))
    return quoted[-1] == quoted[0] and backslashes % 2 == 0


def _unescaped(escaped: str) -> str:
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)
