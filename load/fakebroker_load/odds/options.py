"""The options of the command line as values, and a model as a command line.

Units    a TIME is a number with its unit: ms, s, m, h or d.
Errors   typer.BadParameter, in one sentence.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import fields
from typing import Final

import typer

from fakebroker.testing.odds import OddsModel

_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_TIMES: Final = {"duration_ms", "mtbf_ms", "mttr_ms", "lag_ms", "flush_ms"}
_OPTIONS: Final = {"lag_ms": "--lag", "min_isr": "--min-isr", "brokers_config": "--config", "producer": "--producer"}


def parse_time(option: str, text: str) -> int:
    """Return a TIME in milliseconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text.strip(), re.ASCII)
    if match is None:
        raise typer.BadParameter(
            f"{option} {text!r} is no time: a number with its unit, as in 20ms, 30s, 5m, 6h or 30d."
        )
    return round(float(match[1]) * _UNITS_MS[match[2]])


def as_time(ms: int) -> str:
    """Return a TIME in the largest unit of which it is a whole number."""
    unit = next(unit for unit, of_ms in _UNITS_MS.items() if ms % of_ms == 0) if ms else "ms"
    return f"{ms // _UNITS_MS[unit]}{unit}"


def parse_settings(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Parse each NAME=VALUE."""
    settings = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{option} {text!r} is not NAME=VALUE.")
        settings[name] = value
    return settings


def command(model: OddsModel, seed: int) -> str:
    """Return the command that repeats one trial with its story."""
    words = ["fakebroker-load", "odds"]
    for field in fields(OddsModel):
        value = getattr(model, field.name)
        default = {} if field.name in ("producer", "brokers_config") else field.default
        if value == default:
            continue
        option = _OPTIONS.get(field.name, "--" + field.name.removesuffix("_ms").replace("_", "-"))
        if isinstance(value, dict):
            for name, text in value.items():
                words += [option, f"{name}={text}"]
        elif isinstance(value, bool):
            words += [option, str(value).lower()]
        else:
            text = f"{value:g}" if isinstance(value, float) else str(value)
            words += [option, as_time(value) if field.name in _TIMES else text]
    return shlex.join([*words, "--seed", str(seed), "--trials", "1"])
