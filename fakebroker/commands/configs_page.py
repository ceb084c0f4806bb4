"""The output of `fakebroker configs`: every known setting, and its effect here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import NamedTuple

from fakebroker.commands.table import table
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.client_metrics_config import ClientMetricsConfig
from fakebroker.core.config.config_def import to_text
from fakebroker.core.config.group_config import GroupConfig
from fakebroker.core.config.setting import Config
from fakebroker.core.config.topic_config import TopicConfig

KINDS: dict[str, type[Config]] = {
    "broker": BrokerConfig,
    "topic": TopicConfig,
    "group": GroupConfig,
    "client-metrics": ClientMetricsConfig,
}
KEPT = "nothing (kept and shown only)"

_COLUMNS = ("kind", "name", "type", "default", "dynamic", "honoured by", "what it is")
_PIPED_COLUMNS = 400


class Row(NamedTuple):
    """One setting.

    default       as text; None if Kafka has none
    dynamic       when it may be altered: read-only, per-broker, cluster-wide; settings of other kinds always: dynamic
    honoured_by   the module that uses it; None: it is checked, kept and shown, without effect
    is_kafkas     True if Kafka's table of settings has it
    """

    kind: str
    name: str
    type: str
    default: str | None
    dynamic: str
    honoured_by: str | None
    doc: str
    is_kafkas: bool


def rows(kind: str | None = None, honoured: bool = False) -> Iterator[Row]:
    """Yield the settings in the order of the tables, by subject; of one kind, or of all; `honoured`: only those with an
    effect."""
    for its_kind, its_table in KINDS.items():
        if kind in (None, its_kind):
            for name, key in its_table.SETTINGS.items():
                if key.applied_by is not None or not honoured:
                    default = None if key.default is None else to_text(key.default)
                    yield Row(
                        its_kind, name, key.type.value, default, key.mode.value, key.applied_by, key.doc, key.is_kafkas
                    )


def to_json(kind: str | None = None, honoured: bool = False) -> str:
    """Return a list with one object for each setting, a line each."""
    lines = ",\n".join(json.dumps(row._asdict()) for row in rows(kind, honoured))
    return f"[\n{lines}\n]"


def print_table(kind: str | None = None, honoured: bool = False) -> None:
    """Print the table. In a pipe each setting is one line; on a narrow terminal each is a block."""
    width = get_terminal_size().columns if sys.stdout.isatty() else _PIPED_COLUMNS
    lines = []
    for row in rows(kind, honoured):
        doc = row.doc if row.is_kafkas else f"{row.doc} (not in Kafka's own table)"
        lines.append((row.kind, row.name, row.type, row.default or "", row.dynamic, row.honoured_by or KEPT, doc))
    print(table(_COLUMNS, lines, width, whole=["name"]), end="")
