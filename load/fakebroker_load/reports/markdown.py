"""The verdict as Markdown: for the comment on a pull request, or a step's summary in CI.

Source   GitHub Flavored Markdown: a table's cells may not hold a bar or an end of line.
"""

from __future__ import annotations

from fakebroker_load.console import answers, as_ms, complaints, log_sentence, percentile_sentence, reason_text
from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.verdict import Verdict

MARKDOWN_FILE = "verdict.md"
_HEADERS = ("group", "expected", "requests", "confirmed", "answered", "late ms p50", "p99", "max", "sent late ms p99")


def as_markdown(verdict: Verdict) -> str:
    """Return a heading with the verdict, a row for each group, the problems, and the sources of the verdict."""
    finding = verdict.finding
    lines = [
        f"## {verdict.word}: {verdict.confirmed:,} of {verdict.requests:,} requests got what they should",
        "",
        *((f"**{finding.headline}.**", "") if not verdict.ok else ()),
        *(line for sentence in finding.sentences for line in (_plain(sentence), "")),
        f"{sum(group.early for group in verdict.groups):,} answered early; "
        f"lateness limit {verdict.lateness_limit_ms:,} ms.",
        "",
        table(_HEADERS, [_row(group) for group in verdict.groups], right_from=2),
    ]
    limits = [(f"{group.run}: {group.group}", held) for group in verdict.groups for held in group.limits]
    if limits:
        lines += ["", "### Limits", ""]
        lines += [f"- {'' if held.ok else '✗ '}{_plain(f'{name}: {held.sentence()}')}" for name, held in limits]
    wrong = [text for group in verdict.groups for text in complaints(group)]
    if verdict.unexplained:
        wrong.append(f"{verdict.unexplained:,} records in the log that no request has sent")
    if verdict.beside:
        wrong.append(f"{verdict.beside:,} findings in the broker's journal that no row of a request has")
    if verdict.logs_amiss:
        wrong.append(f"{verdict.logs_amiss:,} findings in the logs that no row of a request has")
    wrong += [reason_text(reason).strip() for reason in verdict.reasons]
    if wrong:
        lines += ["", "### What is wrong", "", *(f"- {_plain(text)}" for text in wrong)]
    lines += [
        "",
        _plain(percentile_sentence(verdict)),
        "",
        log_sentence(verdict),
        *(f"\n{_plain(way.sentence())}" for way in verdict.ways),
        "",
    ]
    if verdict.unjudged:
        lines += ["### What was not judged", "", *(f"- {_plain(rule.sentence())}" for rule in verdict.unjudged), ""]
    return "\n".join(lines)


def table(headers: tuple[str, ...], rows: list[tuple[str, ...]], right_from: int) -> str:
    """Return a table. Columns from `right_from` on are numbers, aligned right."""
    rule = [":--" if at < right_from else "--:" for at in range(len(headers))]
    lines = [headers, tuple(rule), *(tuple(_plain(cell) for cell in row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _row(group: GroupVerdict) -> tuple[str, ...]:
    mark = "✓" if group.ok else "✗"
    return (
        f"{mark} {group.run}: {group.group}",
        group.expected,
        f"{group.requests:,}",
        f"{group.confirmed:,}",
        answers(group) or "nothing",
        *map(as_ms, (group.lateness_p50_us, group.lateness_p99_us, group.lateness_max_us)),
        as_ms(group.send_delay_us[1]),
    )


def _plain(text: str) -> str:
    """Escape markup, and keep the text in its cell."""
    return " ".join(text.translate({ord(mark): f"\\{mark}" for mark in "\\|`*_<>[]#"}).split())
