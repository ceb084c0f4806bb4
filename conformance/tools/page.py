"""`docs/tools.md`: every command, what Kafka and we did, and why not the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from conformance.tools.command import Chapter
from conformance.tools.compare import Row
from conformance.tools.run import Ran

PAGE = Path(__file__).parent.parent.parent / "docs" / "tools.md"

_HEAD = """\
# Kafka's own command line tools, and kcat

Written by `python -m conformance tools`; do not edit. Each command ran once against Apache Kafka {kafka} and once
against `fakebroker serve`, in this order, on three brokers with the same settings. The tools are those of Apache Kafka
{tools}: 4.4.0's are not on Maven Central. Compared are the exit status and everything printed to stdout and stderr, but
for ids, addresses, times, folders and the widths of columns. The chapter over SASL_SSL has one broker with
StandardAuthorizer on either side, and each command logs in as the user of its --command-config. Files are in the folder
where the commands run, the brokers are at localhost:9092, and HMAC is that of the delegation token.

| | |
|---|---|
| commands | {all} |
| the same | {same} |
| different for a reason given below | {explained} |
| different without one | {different} |
| end well on Kafka (status 0) | {well} |
| of those end well here with the same output | {well_here} |
{skipped}"""

_TABLE = "\n| command | Kafka | fakebroker | same | why not |\n|---|---|---|---|---|\n"
_SHOWN = 3  # lines of a difference


def page(
    rows: Sequence[Row],
    chapters: Sequence[Chapter],
    kafka_version: str,
    tools_version: str,
    skipped: Sequence[str] = (),
) -> str:
    """The text of the page."""
    verdicts = Counter(row.verdict for row in rows)
    well = [row for row in rows if row.kafka.status == 0]
    titles = {chapter.name: chapter.title for chapter in chapters}
    parts = [
        _HEAD.format(
            kafka=kafka_version,
            tools=tools_version,
            all=len(rows),
            **{verdict: verdicts[verdict] for verdict in ("same", "explained", "different")},
            well=len(well),
            well_here=sum(row.verdict == "same" for row in well),
            skipped="".join(f"| not run | {reason} |\n" for reason in skipped),
        )
    ]
    for chapter, members in groupby(rows, lambda row: row.kafka.chapter):
        parts.append(f"\n## {titles[chapter]}\n{_TABLE}" + "".join(map(_row, members)))
    return "".join(parts)


def _row(row: Row) -> str:
    why = ""
    if row.reason is not None:
        why = row.reason.why
    elif row.differing:
        shown = [f"`{line[:120]}`" for line in (line.replace("`", "'") for line in row.differing[:_SHOWN])]
        why = "**not explained:** " + "<br>".join(shown)
    same = {"same": "yes", "explained": "no", "different": "**no**"}[row.verdict]
    return f"| `{_cell(typed(row.kafka.line))}` | {_did(row.kafka)} | {_did(row.ours)} | {same} | {_cell(why)} |\n"


def typed(line: str) -> str:
    """Return a command as a user types it, in the folder of its files."""
    return (
        line.replace("{folder}/", "")
        .replace("{folder}", ".")
        .replace("{bootstrap}", "localhost:9092")
        .replace("{hmac}", "HMAC")
    )


def _did(ran: Ran) -> str:
    if ran.status == -1:
        return "did not end"
    status = "ok" if ran.status == 0 else f"status {ran.status}"
    lines = len(ran.out.splitlines())
    return f"{status}, {lines} line{'' if lines == 1 else 's'}" if lines else status


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
