"""Compare the results of a command on Kafka and here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.tools.command import Chapter, Command
from conformance.tools.normal import normal
from conformance.tools.reasons import REASONS, Reason
from conformance.tools.run import Ran


@dataclass(frozen=True)
class Row:
    """A command of the table with its verdict: "same", "explained" or "different"."""

    kafka: Ran
    ours: Ran
    differing: tuple[str, ...]  # lines of either side, as in a diff
    reason: Reason | None

    @property
    def verdict(self) -> str:
        if not self.differing:
            return "same"
        return "explained" if self.reason is not None else "different"


def compare(
    chapters: Sequence[Chapter], kafka: Sequence[Ran], ours: Sequence[Ran], reasons: Sequence[Reason] = REASONS
) -> list[Row]:
    """The commands of two runs of these chapters."""
    rows = []
    commands = [command for chapter in chapters for command in chapter.commands()]
    for command, theirs, mine in zip(commands, kafka, ours, strict=True):
        assert command.line == theirs.line == mine.line, "the two sides ran other commands"
        differing = _differing(command, theirs, mine)
        rows.append(Row(theirs, mine, differing, _reason(theirs, differing, reasons)))
    return rows


def unneeded(rows: Sequence[Row], reasons: Sequence[Reason] = REASONS) -> list[Reason]:
    """Reasons that explain nothing."""
    return [reason for reason in reasons if all(row.reason is not reason for row in rows)]


def _differing(command: Command, kafka: Ran, ours: Ran) -> tuple[str, ...]:
    diff = [] if kafka.status == ours.status else [f"-status {kafka.status}", f"+status {ours.status}"]
    for both in ((kafka.out, ours.out), (kafka.err, ours.err)):
        theirs, mine = (normal(text, command.mask, unordered=command.unordered) for text in both)
        lines = difflib.unified_diff(theirs, mine, lineterm="", n=0)
        diff += [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return tuple(diff)


def _reason(kafka: Ran, differing: Sequence[str], reasons: Sequence[Reason]) -> Reason | None:
    """The first that is meant for the command and speaks of every line that differs."""
    if not differing:
        return None
    for reason in reasons:
        if re.search(reason.command, kafka.line) and all(re.search(reason.lines, line) for line in differing):
            return reason
    return None
