"""The principal of a client's certificate: its distinguished name, changed by `ssl.principal.mapping.rules`.

Theory   The first rule with a pattern that matches the whole name gives the principal. RULE:pattern/replacement/ may
         end with L or U, for lower or upper case; $1 in a replacement is the first group. DEFAULT is the name as it is.
Source   clients/.../common/security/ssl/SslPrincipalMapper.java; .../authenticator/DefaultKafkaPrincipalBuilder.java
         @ 4.0; java.util.regex.Matcher.appendReplacement. The name: distinguished_name.py.
Differs  Patterns are those of Python's `re`. A rule that names a group in a pattern without groups does not apply.
         A reference with a number above 2147483647 is read like others. In both cases Kafka closes the connection.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from fakebroker.core.errors import ConfigError

DEFAULT: Final = "DEFAULT"

_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,\s*|$)")
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)", re.DOTALL)


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None  # None for DEFAULT
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        """Return the principal's name, or None if the rule does not apply."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        principal = self.pattern.sub(self._expand, name)
        return {"L": principal.lower(), "U": principal.upper()}.get(self.case, principal)

    def _expand(self, match: re.Match[str]) -> str:
        groups = match.re.groups

        def one(reference: re.Match[str]) -> str:
            escaped, digits = reference.groups()
            if escaped is not None:
                return str(escaped)
            group = size = 0
            for digit in digits:  # not all at once: there is no limit to their number
                if (longer := 10 * group + int(digit)) > groups:
                    break
                group, size = longer, size + 1
            if not size:
                return reference.group()  # no such group: the text as it is
            return (match.group(group) or "") + digits[size:]

        return _REFERENCE.sub(one, self.replacement)


@cache
def parse_rules(text: str) -> tuple[_Rule, ...]:
    """Read the rules. Raises ConfigError."""
    rules = []
    position, text = 0, text.strip()
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None:
            raise ConfigError(f"Invalid rule: `{text[position:]}`")
        default, pattern, replacement, case = match.groups()
        try:
            rules.append(_Rule(None if default else re.compile(pattern), replacement or "", case or ""))
        except (re.error, OverflowError, RecursionError) as error:
            raise ConfigError(f"Invalid rule: `{match.group().strip()}`: {error}") from None
        position = match.end()
    return tuple(rules)


def mapped_name(rules: str, distinguished_name: str) -> str | None:
    """Return the name of the principal, or None if no rule applies."""
    names = (rule.apply(distinguished_name) for rule in parse_rules(rules))
    return next((name for name in names if name is not None), None)
