"""Find docstrings, comments and Markdown that break the rules of plain technical English.

A docstring starts with a verb or with a noun that names the object. Software is "it", never a person. A sentence has
at most 25 words. CLEAN lists the paths that have no problem left; `make check` keeps them so, and
`python -m tests.prose PATH...` prints the problems of any path.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]

# Folders and files without a problem. The list grows until it is the whole package.
CLEAN: Final[tuple[str, ...]] = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "benchmarks",
    "build_backend.py",
    "conformance",
    "conformance/clients/README.md",
    "docs/README.md",
    "docs/adding-an-api.md",
    "docs/addresses.md",
    "docs/apis.md",
    "docs/architecture.md",
    "docs/benchmarks.md",
    "docs/conformance.md",
    "docs/connections-and-quotas.md",
    "docs/cookbook-languages.md",
    "docs/cookbook.md",
    "docs/decisions.md",
    "docs/errors.md",
    "docs/every-failure.md",
    "docs/exactly-once.md",
    "docs/facts.md",
    "docs/faults.md",
    "docs/http.md",
    "docs/kafka-map.md",
    "docs/load-results.md",
    "docs/load.md",
    "docs/longest-turns.md",
    "docs/memory.md",
    "docs/operating.md",
    "docs/pytest.md",
    "docs/python.md",
    "docs/replication.md",
    "docs/scenarios.md",
    "docs/serve.md",
    "docs/settings.md",
    "docs/speed.md",
    "docs/stories/README.md",
    "docs/stories/acks.md",
    "docs/stories/buffer-memory.md",
    "docs/stories/callbacks-reorder.md",
    "docs/stories/delivery-timeout.md",
    "docs/stories/duplicate.md",
    "docs/stories/expiry-reasons.md",
    "docs/stories/max-in-flight.md",
    "docs/stories/no-metadata.md",
    "docs/stories/parked-in-turn.md",
    "docs/stories/quota.md",
    "docs/stories/sequence-again.md",
    "docs/stories/silent-broker.md",
    "docs/stories/stale-leader.md",
    "docs/stories/torn-transaction.md",
    "docs/stories/truncation.md",
    "docs/suites.md",
    "docs/testing-kit.md",
    "docs/tools.md",
    "examples",
    "fakebroker/__init__.py",
    "fakebroker/__main__.py",
    "fakebroker/apis",
    "fakebroker/cli.py",
    "fakebroker/cluster",
    "fakebroker/commands",
    "fakebroker/control",
    "fakebroker/core/__init__.py",
    "fakebroker/core/arguments.py",
    "fakebroker/core/broker",
    "fakebroker/core/broker_registry.py",
    "fakebroker/core/clock.py",
    "fakebroker/core/config",
    "fakebroker/core/controller",
    "fakebroker/core/coordinator",
    "fakebroker/core/crash_loss.py",
    "fakebroker/core/errors.py",
    "fakebroker/core/faults",
    "fakebroker/core/fetch_sessions",
    "fakebroker/core/groups",
    "fakebroker/core/hash_order.py",
    "fakebroker/core/in_turns.py",
    "fakebroker/core/java_numbers.py",
    "fakebroker/core/journal",
    "fakebroker/core/life.py",
    "fakebroker/core/log",
    "fakebroker/core/probe.py",
    "fakebroker/core/purgatory",
    "fakebroker/core/quota",
    "fakebroker/core/re2j.py",
    "fakebroker/core/replication",
    "fakebroker/core/schedule.py",
    "fakebroker/core/security",
    "fakebroker/core/transactions",
    "fakebroker/extras.py",
    "fakebroker/faults.py",
    "fakebroker/network",
    "fakebroker/old_python.py",
    "fakebroker/producer",
    "fakebroker/producing",
    "fakebroker/protocol",
    "fakebroker/server",
    "fakebroker/serving.py",
    "fakebroker/streams.py",
    "fakebroker/testing",
    "fakebroker/yaml_places.py",
    "load",
    "load/README.md",
    "release",
    "setup.py",
    "tests",
    "tests/golden/README.md",
    "timingwheel",
    "timingwheel/README.md",
)

WORDS_IN_A_SENTENCE: Final = 25

# A docstring that starts with one of these is a fragment: it does not name its object.
_NO_OBJECT: Final = """
    and as at because both but by for from he her here his how if in it its nobody nor nothing of on or otherwise
    she since so somebody such than that their them then there these they this those though to until what whatever when
    where whether which while who whoever whom whose why with without
"""
FIRST_WORDS: Final = frozenset(_NO_OBJECT.split())

# Words that make software a person, and how to say it.
PERSONS: Final = {
    "who": "name the client, broker or request",
    "whoever": "name the client, broker or request",
    "whom": "name the client, broker or request",
    "whose": '"of which", or name the thing',
    "somebody": "name the client, broker or request",
    "someone": "name the client, broker or request",
    "nobody": '"no client", "no broker", "no request"',
    "everybody": '"all clients", "each broker"',
    "everyone": '"all clients", "each broker"',
    "anybody": '"any client", "any broker"',
    "he": "it",
    "him": "it",
    "his": "its",
    "himself": "itself",
    "she": "it",
}
PHRASES: Final = {
    r"\bas such\b": "leave it out",
    r"\bstands? still\b": "is paused, is frozen",
    r"\bis told of\b": "receives",
    r"\bwhat is not said\b": "an omitted option",
    r"\bnot taken any more\b": "fenced",
    r"\bin order to\b": "to",
    r"\bthe issue\b": "the reader does not have it: state the fact",
}

_CODE: Final = re.compile(r"``.*?``|`[^`]*`|\"[^\"\n]*\"|https?://\S+")
_SECTION: Final = re.compile(r"^(\w[\w ]{0,18}?)\s{2,}(?=\S)")
_LIST_ITEM: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s")
_WORD: Final = re.compile(r"[\w'/-]+")
_END: Final = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`\"(\d])|(?<=[:;])\s+")
_LINK: Final = re.compile(r"\]\([^)]*\)")
_EXAMPLES: Final = ("|", ">>>", "$", "python -m ")
_DIRECTIVE: Final = re.compile(r"^#\s*(?:type:|noqa|pragma|fmt:|mypy:|!|-\*-)")


class Problem(NamedTuple):
    """A place that breaks a rule. `line` counts from 1."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


class Prose(NamedTuple):
    """A docstring, a block of comment lines, or the prose of a Markdown page. `line` is that of its start."""

    line: int
    text: str
    is_docstring: bool


def problems(paths: Iterable[str]) -> Iterator[Problem]:
    """Return the problems of these folders and files, relative to the root of the project."""
    for path in paths:
        place = ROOT / path
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield from problems_of(file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix())


def problems_of(source: str, path: str) -> Iterator[Problem]:
    """Return the problems of this Python source, or of this Markdown if the path says so."""
    for prose in [markdown(source)] if path.endswith(".md") else (*docstrings(source), *comments(source)):
        for line, rule, text in judge(prose):
            yield Problem(path, line, rule, text)


def docstrings(source: str) -> Iterator[Prose]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                yield Prose(first.lineno, first.value.value, True)


def comments(source: str) -> Iterator[Prose]:
    """Return the comments; lines that follow each other are one, except behind code and below it."""
    block: list[str] = []
    start = last = column = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or _DIRECTIVE.match(token.string):
            continue
        line = token.start[0]
        is_behind_code = bool(token.line[: token.start[1]].strip())
        if block and (line != last + 1 or token.start[1] != column or is_behind_code):
            yield Prose(start, "\n".join(block), False)
            block = []
        if not block:
            start = line
        block.append(token.string.lstrip("# "))
        last, column = token.start
    if block:
        yield Prose(start, "\n".join(block), False)


def markdown(page: str) -> Prose:
    """Return the prose of a page: without code blocks and the targets of links. A heading becomes a list item."""
    lines: list[str] = []
    fence = ""
    for line in _LINK.sub(lambda target: "]" + "\n" * target[0].count("\n"), page).split("\n"):
        mark = line.strip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
            line = ""
        lines.append("" if fence else re.sub("^#+ ", "- ", line.replace(" ·", ";").replace("**", "")))
    return Prose(1, "\n".join(lines), False)


def judge(prose: Prose) -> Iterator[tuple[int, str, str]]:
    text = prose.text
    plain = _CODE.sub(lambda code: "X" + "\n" * code[0].count("\n"), text)
    if prose.is_docstring and (first := fragment(text)):
        yield prose.line, "fragment", f"starts with {first!r}"
    for number, line in enumerate(plain.split("\n")):
        for word in _WORD.findall(line):
            if advice := PERSONS.get(word.lower()):
                yield prose.line + number, "person", f"{word!r}: {advice}"
        for phrase, advice in PHRASES.items():
            if match := re.search(phrase, line, re.IGNORECASE):
                yield prose.line + number, "phrase", f"{match[0]!r}: {advice}"
    for line_number, sentence in sentences(plain):
        if (count := len(_WORD.findall(sentence))) > WORDS_IN_A_SENTENCE:
            yield prose.line + line_number, "long", f"{count} words: {sentence[:60]}..."


def fragment(text: str) -> str | None:
    """Return the first word of a docstring if it does not name the object."""
    words = _WORD.findall(text.lstrip()[:80])
    if len(words) > 1 and words[0].lower() == "the" and words[1].lower() == "same":
        return "The same"
    return words[0] if words and words[0].lower() in FIRST_WORDS and not text.lstrip().startswith("`") else None


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Return each sentence with the number of its paragraph's first line, from 0. A list item, a line of a table and an
    indented example end a sentence."""
    paragraph: list[str] = []
    start = 0
    for number, line in enumerate([*text.split("\n"), ""]):
        section = _SECTION.match(line.strip())
        if not line.strip() or _LIST_ITEM.match(line) or section or line.lstrip().startswith(_EXAMPLES):
            for sentence in _END.split(" ".join(paragraph)):
                if sentence.strip():
                    yield start, sentence.strip()
            paragraph = []
        if section:
            line = line.strip()[section.end() :]
        if line.strip() and not line.lstrip().startswith(_EXAMPLES):
            start = start if paragraph else number
            paragraph.append(line.strip())
