"""The page docs/facts.md, made from the table. `python -m fakebroker_load.facts.page > docs/facts.md` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fakebroker_load.facts.table import ALWAYS, NEEDS, WITNESSES, Fact, facts

TITLES = {
    "wire": "Messages",
    "batch": "Batches and records that are read back",
    "client": "Rows of `requests.parquet`",
    "log": "Rows of `log.parquet` and `partitions.parquet`",
    "journal": "Rows of `journal.parquet`",
    "event": "Events of the broker's journal",
    "order": "Order, and whole rows",
}
EACH = "*"
HEAD = """\
# What the verdict judges

Every field that client, log and journal tell of a run of the load, with the rule that judges it, or why none does.
A field is judged if another value of it makes the verdict red. A rule is named as in `verdict.json`, and described in
[load/README.md](../load/README.md); `exit status 3` means that the load ends without a verdict. This page is made of
`load/fakebroker_load/facts` by `python -m fakebroker_load.facts.page`; a test holds the table against the definitions
of messages, events and columns.

`Unseen` has the kinds of change to a row that its rule does not see, and of which rows; any other change makes the
verdict red. `*` stands for any text: `one *` is one more or one less, `in all rows *` a column that is shifted. `make
witness-mutants` ([testing kit](testing-kit.md#when-you-change-the-broker)) changes honest runs and shows it.
"""


def as_markdown() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_counts(), *(line for witness in WITNESSES for line in _section(witness))]) + "\n"


def _counts() -> Iterator[str]:
    yield "| | facts | judged | of these with a limit | not judged | by answers | with the log | with the journal |"
    yield "|:--|--:|--:|--:|--:|--:|--:|--:|"
    for title, some in [*((TITLES[witness], _of(witness)) for witness in WITNESSES), ("all", facts())]:
        judged = [fact for fact in some if fact.rule is not None]
        limited = sum(bool(fact.reason) for fact in judged)
        needs = [sum(fact.needs == need for fact in judged) for need in NEEDS]
        counts = (len(some), len(judged), limited, len(some) - len(judged), *needs)
        yield f"| {title} | {' | '.join(map(str, counts))} |"


def _section(witness: str) -> Iterator[str]:
    yield from (
        "",
        f"## {TITLES[witness]}",
        "",
        "| of | fields | rule | needs | but, or why not |",
        "|:--|:--|:--|:--|:--|",
    )
    alike: dict[tuple[str, str | None, str, str], list[str]] = {}
    for fact in _of(witness):
        limits = " ".join(filter(None, (fact.reason, _unseen(fact))))
        alike.setdefault((fact.thing, fact.rule, fact.needs, limits), []).append(fact.field)
    for (thing, rule, needs, reason), fields in sorted(alike.items(), key=lambda entry: entry[0][0]):
        names = ", ".join(fields if witness == "order" else (f"`{field}`" for field in fields))
        yield f"| {thing} | {names} | {f'`{rule}` | {needs}' if rule else 'not judged |'} | {reason} |"


def _unseen(fact: Fact) -> str:
    """Return the kinds of change that may stay unseen, as a sentence."""
    said = [
        ("any change" if EACH in changes else ", ".join(f"`{change}`" for change in changes))
        + ("" if condition == ALWAYS else f" {condition}")
        for condition, changes in fact.unseen.items()
    ]
    return f"Unseen: {'; '.join(said)}." if said else ""


def _of(witness: str) -> Sequence[Fact]:
    return [fact for fact in facts() if fact.witness == witness]


if __name__ == "__main__":
    print(as_markdown(), end="")
