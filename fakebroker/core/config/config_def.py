"""Typed settings: the reading of texts, the checks, and the messages of errors.

Theory   A text is read as Java reads it, not as Python does: no underscores between digits, 32 or 64 bits and no more,
         "1e3" and "0x1p3" for doubles. Blanks around a value do not count (String.trim: all up to U+0020). Duplicates
         in a list are dropped.
Source   clients/.../common/config/ConfigDef.java parseType, Range, ValidString, ValidList; ConfigException.java @ 4.0,
         ValidList as it is in 4.4.
Differs  A CLASS is the name of one: it is not loaded, and so never missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from enum import Enum

from fakebroker.core.errors import ConfigError

Value = bool | int | float | str | tuple[str, ...] | None
Validator = Callable[[str, Value], None]

_TRIMMED = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:Infinity|NaN|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_COMMA_WITH_WHITESPACE = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")


class Type(Enum):
    """The types of settings. A LIST is separated by commas, a PASSWORD is never shown."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


BOOLEAN = Type.BOOLEAN
STRING = Type.STRING
INT = Type.INT
SHORT = Type.SHORT
LONG = Type.LONG
DOUBLE = Type.DOUBLE
LIST = Type.LIST
CLASS = Type.CLASS
PASSWORD = Type.PASSWORD

_BITS = {Type.SHORT: 15, Type.INT: 31, Type.LONG: 63}


def invalid(name: str, value: object, message: str) -> ConfigError:
    """Return Kafka's ConfigException for a value."""
    return ConfigError(f"Invalid value {value} for configuration {name}: {message}")


def parse_type(name: str, text: str, config_type: Type) -> Value:
    """Read a text as Java does. Raise ConfigError."""
    trimmed = text.strip(_TRIMMED)
    match config_type:
        case Type.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise invalid(name, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        case Type.STRING | Type.CLASS | Type.PASSWORD:
            return trimmed
        case Type.LIST:
            return tuple(dict.fromkeys(_COMMA_WITH_WHITESPACE.split(trimmed))) if trimmed else ()
    number = _parse_double(trimmed) if config_type is Type.DOUBLE else _parse_integer(trimmed, _BITS[config_type])
    if number is None:
        raise invalid(name, text, f"Not a number of type {config_type.value}")
    return number


def _parse_integer(text: str, bits: int) -> int | None:
    # Python refuses to read more than 4300 digits. A number of so many digits is valid only with leading zeros.
    if not _INTEGER.fullmatch(text) or len(text) > 4000:
        return None
    value = int(text)
    return value if -(1 << bits) <= value < 1 << bits else None


def _parse_double(text: str) -> float | None:
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.rstrip("fFdD"))
        except OverflowError:
            return float("-inf" if text.startswith("-") else "inf")
    return None


def to_text(value: Value) -> str:
    """Return a value as Kafka shows it (ConfigDef.convertToString); None is the empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return _double_to_text(value) if isinstance(value, float) else str(value)


def _double_to_text(value: float) -> str:
    """Return the result of Java's Double.toString."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, exponent = f"{Decimal(repr(value)).normalize():E}".split("E")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{int(exponent)}"


def at_least(minimum: float) -> Validator:
    return _in_range(minimum, None)


def between(minimum: float, maximum: float) -> Validator:
    return _in_range(minimum, maximum)


def _in_range(minimum: float, maximum: float | None) -> Validator:
    def ensure_valid(name: str, value: Value) -> None:
        assert isinstance(value, int | float)
        if value < minimum:
            raise invalid(name, to_text(value), f"Value must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise invalid(name, to_text(value), f"Value must be no more than {maximum}")

    return ensure_valid


def one_of(*choices: str) -> Validator:
    """Return the validator ValidString.in."""

    def ensure_valid(name: str, value: Value) -> None:
        if value not in choices:
            raise invalid(name, value, f"String must be one of: {', '.join(choices)}")

    return ensure_valid


def one_of_ignoring_case(*choices: str) -> Validator:
    """Return the validator CaseInsensitiveValidString."""

    def ensure_valid(name: str, value: Value) -> None:
        if str(value).upper() not in choices:
            raise invalid(name, value, f"String must be one of (case insensitive): {', '.join(choices)}")

    return ensure_valid


def some_of(*choices: str, may_be_empty: bool = False) -> Validator:
    """Return the validator ValidList: each element is one of the choices, or not empty if there are no choices."""
    ensure_choice = one_of(*choices)

    def ensure_valid(name: str, value: Value) -> None:
        assert isinstance(value, tuple)
        if not value and not may_be_empty:
            expected = f"[{', '.join(choices)}]" if choices else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {expected}")
        for item in value:
            if not item:
                raise ConfigError(f"Configuration '{name}' values must not be empty.")
            if choices:
                ensure_choice(name, item)

    return ensure_valid


def not_empty(name: str, value: Value) -> None:
    """Check the value as NonEmptyString does."""
    if not value:
        raise invalid(name, value, "String must be non-empty")
